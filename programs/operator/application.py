"""A cliff application that loads a service's configuration, with one line per mistake."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from cliff.app import App
from cliff.command import Command
from cliff.commandmanager import CommandManager
from oslo_config import cfg

import objects
from armillary import exception, version
from armillary.conf import loader
from programs.service_program import EXIT_CONFIGURATION

EXIT_FAILED = 1
EXIT_USAGE = 2

# index: number of -v options plus one; -q is 0
LEVELS = {0: logging.ERROR, 1: logging.WARNING, 2: logging.INFO}


class OperatorApp(App):
    """``commands`` is the table of commands: words of a command -> its class.

    A command that raises ends with ``error_code`` if that is given; else with 78 for a
    configuration error and 1 for any other error. Streams can be passed by Python callers.
    """

    LOG = logging.getLogger("programs.operator")

    def __init__(
        self,
        program: str,
        description: str,
        commands: Mapping[str, type],
        *,
        error_code: int | None = None,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
    ) -> None:
        self.NAME = program
        self._error_code = error_code
        self._error: BaseException | None = None
        manager = CommandManager(f"{program}.none")
        for words, command in commands.items():
            manager.add_command(words, command)
        super().__init__(
            description=description,
            version=version.version_string(),
            command_manager=manager,
            stdout=stdout,
            stderr=stderr,
            deferred_help=True,
        )

    @property
    def conf(self) -> cfg.ConfigOpts:
        """The configuration, loaded before a command runs."""
        return cfg.CONF

    def build_option_parser(
        self, description: str | None, version: str | None, argparse_kwargs: Any = None
    ) -> argparse.ArgumentParser:
        kwargs = {
            "prog": self.NAME,
            "conflict_handler": "resolve",  # --version, which would show the program's file name
            "formatter_class": argparse.RawDescriptionHelpFormatter,
            **(argparse_kwargs or {}),
        }
        parser: argparse.ArgumentParser = super().build_option_parser(description, version, kwargs)
        parser.add_argument("--version", action="version", version=f"{self.NAME} {version}")
        parser.add_argument(
            "--config-file",
            action="append",
            default=[],
            metavar="FILE",
            help="configuration file of the service whose database is used; may be repeated",
        )
        parser.add_argument(
            "--config-dir", action="append", default=[], metavar="DIR",
            help="directory of configuration files; may be repeated",
        )  # fmt: skip
        return parser

    def configure_logging(self) -> None:
        """Report errors in one line; the rest of logging is configured by the configuration."""
        self._console = logging.StreamHandler(self.stderr)
        self._console.setFormatter(_OneLine(f"{self.NAME}: %(message)s"))
        self.LOG.addHandler(self._console)
        self.LOG.propagate = False

    def initialize_app(self, argv: Sequence[str]) -> None:
        objects.register_all()
        options = self.options
        arguments = [f"--config-file={path}" for path in options.config_file]
        arguments += [f"--config-dir={path}" for path in options.config_dir]
        arguments += [f"--log-file={options.log_file}"] if options.log_file else []
        try:
            loader.load(cfg.CONF, arguments, self.NAME)
        except exception.ConfigurationError as error:
            self._error = error
            raise
        logging.getLogger().setLevel(LEVELS.get(options.verbose_level, logging.DEBUG))

    def interact(self) -> None:
        self.LOG.error("No command given; see: %s --help", self.NAME)
        raise SystemExit(EXIT_USAGE)

    def run(self, argv: Sequence[str]) -> int:
        try:
            result: int = super().run(list(argv))
        finally:
            if hasattr(self, "_console"):
                self.LOG.removeHandler(self._console)
        return result if self._error is None else self._exit_code(self._error)

    def clean_up(self, cmd: Command, result: int, err: BaseException | None) -> None:
        self._error = err

    def _exit_code(self, error: BaseException) -> int:
        if self._error_code is not None:
            return self._error_code
        is_mistake = isinstance(error, exception.ConfigurationError)
        return EXIT_CONFIGURATION if is_mistake else EXIT_FAILED


class _OneLine(logging.Formatter):
    """Joins the lines of a message; a traceback, shown only with ``--debug``, stays as it is."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return text if record.exc_info else " ".join(text.split())
