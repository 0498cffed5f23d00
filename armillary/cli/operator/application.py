"""A cliff application over a service's configuration files, with one line for each mistake."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from cliff.app import App
from cliff.commandmanager import CommandManager
from oslo_config import cfg

import objects
from armillary import exception, version
from armillary.conf import loader

EXIT_BAD_INPUT = 127


class OperatorApp(App):
    """``commands`` is the table of contents: words of a command -> its class."""

    def __init__(self, program: str, description: str, commands: Mapping[str, type]) -> None:
        manager = CommandManager(f"{program}.none")
        for words, command in commands.items():
            manager.add_command(words, command)
        self._program = program
        super().__init__(
            description=description,
            version=version.version_string(),
            command_manager=manager,
            deferred_help=True,
        )

    @property
    def conf(self) -> cfg.ConfigOpts:
        """The configuration, loaded before a command runs."""
        return cfg.CONF

    def build_option_parser(
        self, description: str | None, version: str | None, argparse_kwargs: Any = None
    ) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().build_option_parser(
            description, version, {**(argparse_kwargs or {}), "prog": self._program}
        )
        parser.add_argument(
            "--config-file",
            action="append",
            default=[],
            metavar="FILE",
            help="configuration of the service whose database is meant; may be repeated",
        )
        parser.add_argument(
            "--config-dir", action="append", default=[], metavar="DIR",
            help="folder of configuration files; may be repeated",
        )  # fmt: skip
        return parser

    def configure_logging(self) -> None:
        """Leave logging to the configuration."""

    def initialize_app(self, argv: Sequence[str]) -> None:
        objects.register_all()
        arguments = [f"--config-file={path}" for path in self.options.config_file]
        arguments += [f"--config-dir={path}" for path in self.options.config_dir]
        loader.load(cfg.CONF, arguments, self._program)
        logging.getLogger().setLevel(logging.WARNING)

    def run(self, argv: Sequence[str]) -> int:
        try:
            result: int = super().run(list(argv))
        except exception.ConfigurationError as error:
            return self._say(error, EXIT_BAD_INPUT)
        return result

    def run_subcommand(self, argv: Sequence[str]) -> int:
        try:
            result: int = super().run_subcommand(list(argv))
        except exception.ArmillaryError as error:
            return self._say(error, getattr(error, "exit_code", 1))
        return result

    def _say(self, error: exception.ArmillaryError, code: int) -> int:
        print(f"{self._program}: {error}", file=sys.stderr)  # noqa: T201 - one line for a person
        return code
