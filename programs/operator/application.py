"""A program with commands that loads a service's configuration, with one line per mistake."""

import argparse
import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TextIO

from oslo_config import cfg

from armillary import exception
from armillary.logs import outage_log
from programs import EXIT_CONFIGURATION
from programs.application import EXIT_FAILED, Application
from programs.operator.nova import words as nova_words
from programs.operator.nova.words import Words

# index: number of -v options plus one; -q is 0
LEVELS = {0: logging.ERROR, 1: logging.WARNING, 2: logging.INFO}
_PEERS_LOGGED_BY = "conductor."
"""Prefix of the loggers of connections to cells and zones."""


class OperatorApp(Application):
    """A command that raises ends with ``error_code``.

    Without one, the code is 78 for a configuration error and 1 for any other error. ``words`` are
    Nova's for some of the commands.
    """

    LOG = logging.getLogger("programs.operator")

    def __init__(
        self,
        program: str,
        description: str,
        commands: Mapping[str, str],
        *,
        words: Mapping[str, Words] = MappingProxyType({}),
        error_code: int | None = None,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
    ) -> None:
        self._error_code = error_code
        self._words = words
        aliases = {name: meant.command for name, meant in words.items()}
        super().__init__(
            program, description, commands, aliases=aliases, stdout=stdout, stderr=stderr
        )

    @property
    def conf(self) -> cfg.ConfigOpts:
        return cfg.CONF

    def exit_code_of(self, error: BaseException) -> int:
        if self._error_code is not None:
            return self._error_code
        is_mistake = isinstance(error, exception.ConfigurationError)
        return EXIT_CONFIGURATION if is_mistake else EXIT_FAILED

    def build_option_parser(
        self, description: str | None, version: str | None, argparse_kwargs: Any = None
    ) -> argparse.ArgumentParser:
        parser = super().build_option_parser(description, version, argparse_kwargs)
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

    def initialize_app(self, argv: list[str]) -> None:
        if argv[:1] == ["help"] or self.options.deferred_help:
            return  # help needs no configuration
        from armillary.conf import loader

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
        for handler in logging.getLogger().handlers:
            if not isinstance(handler, logging.FileHandler):
                handler.addFilter(self._is_shown)

    def _is_shown(self, record: logging.LogRecord) -> bool:
        """Return whether a log line goes to the terminal.

        That a cell does not answer is said by the command itself; with ``-v`` the log says it, too.
        """
        is_outage = record.module == outage_log.__name__.rpartition(".")[2]
        return bool(self.options.verbose_level > 1) or not (
            is_outage and record.name.startswith(_PEERS_LOGGED_BY)
        )

    def run_subcommand(self, argv: list[str]) -> int:
        options = self.options
        options.verbose_level = nova_words.level_of(argv, options.verbose_level)
        return super().run_subcommand(nova_words.translated(argv, self._words))

    def run(self, argv: list[str]) -> int:
        try:
            result: int = super().run(argv)
        finally:
            if hasattr(self, "_console"):
                self.LOG.removeHandler(self._console)
        return result if self._error is None else self.exit_code_of(self._error)


class _OneLine(logging.Formatter):
    """Joins the lines of a message; a traceback, shown only with ``--debug``, stays as it is."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return text if record.exc_info else " ".join(text.split())
