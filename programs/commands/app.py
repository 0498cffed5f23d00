"""The ``armillary`` application: general options, one-line errors, exit codes."""

import argparse
import logging
import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any, TextIO

from cliff.command import Command

from armillary import exception
from programs.access import own_token
from programs.application import EXIT_FAILED, EXIT_USAGE, Application
from programs.commands import COMMANDS, arguments
from programs.commands.openstack_words import ALIASES
from programs.commands.wait import WaitTimeout
from programs.http_client import COMPUTE, DEFAULT_TIMEOUT_SECONDS, DEFAULT_URL, ApiClient, Target

URL_VARIABLE = "ARMILLARY_API_URL"
CACERT_VARIABLE = "ARMILLARY_CACERT"
PLACEMENT_VARIABLE = "ARMILLARY_PLACEMENT_URL"
TOKEN_VARIABLE = "ARMILLARY_TOKEN"  # noqa: S105 - the name of the variable

NOT_FOUND = 3
UNAVAILABLE = 4
STILL_WAITING = 5

LEVELS = {0: logging.WARNING, 1: logging.INFO}  # index: number of -v options plus one; -q is 0

EXIT_CODES: tuple[tuple[type[Exception], int], ...] = (
    # The first match applies.
    (WaitTimeout, STILL_WAITING),
    (exception.NotFound, NOT_FOUND),
    (exception.Unavailable, UNAVAILABLE),
    (exception.Invalid, EXIT_USAGE),
)

DESCRIPTION = """
Place workloads on a fleet of hosts, and see where they went and why.

Exit codes: 0 success; 1 refused or failed, a server ended in ERROR, no host for a dry run; 2
usage error; 3 not found; 4 the API, or a part behind it, is unavailable; 5 --wait timed out; 130
interrupted.
"""


class ClientApp(Application):
    """``armillary`` except ``up`` and ``demo``."""

    LOG = logging.getLogger("programs")

    def __init__(
        self,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._environment = environment
        self._handlers: list[logging.Handler] = []
        super().__init__(
            "armillary", DESCRIPTION, COMMANDS, aliases=ALIASES, stdout=stdout, stderr=stderr
        )

    @cached_property
    def api(self) -> ApiClient:
        """Client of the API that the options select."""
        return self.client(COMPUTE)

    def client(self, target: Target, url: str | None = None) -> ApiClient:
        """Return a client of an API at the address of the Compute API, or another."""
        options = self.options
        token = options.token or own_token.find(options.api_url, self._environment)
        return ApiClient(
            url or options.api_url,
            token,
            options.http_timeout,
            cacert=options.cacert,
            target=target,
        )

    def exit_code_of(self, error: BaseException) -> int:
        return exit_code_of(error)

    def build_option_parser(
        self, description: str | None, version: str | None, argparse_kwargs: Any = None
    ) -> argparse.ArgumentParser:
        parser = super().build_option_parser(description, version, argparse_kwargs)
        parser.add_argument(
            "--api-url",
            metavar="URL",
            default=self._environment.get(URL_VARIABLE) or DEFAULT_URL,
            help=f"address of the API; default: {URL_VARIABLE}, else {DEFAULT_URL}",
        )
        parser.add_argument(
            "--placement-url",
            metavar="URL",
            default=self._environment.get(PLACEMENT_VARIABLE),
            help=f"address of placement; default: {PLACEMENT_VARIABLE}, else as the API says",
        )
        parser.add_argument(
            "--token",
            default=self._environment.get(TOKEN_VARIABLE),
            help=f"token, or USER:PROJECT if tokens are not verified; default: {TOKEN_VARIABLE}, "
            "else that of an API which this user has started with armillary up",
        )
        parser.add_argument(
            "--cacert",
            metavar="FILE",
            default=self._environment.get(CACERT_VARIABLE),
            help="PEM file with the certificate authorities for the API; default: "
            f"{CACERT_VARIABLE}, else those of this machine",
        )
        parser.add_argument(
            "--http-timeout",
            metavar="SECONDS",
            type=arguments.seconds,
            default=DEFAULT_TIMEOUT_SECONDS,
            help="timeout of a request in seconds (default: %(default)g)",
        )
        return parser

    def configure_logging(self) -> None:
        """Log through this program's own logger only: a Python caller configures its own."""
        console = logging.StreamHandler(self.stderr)
        console.setFormatter(logging.Formatter(f"{self.NAME}: %(message)s"))
        console.setLevel(LEVELS.get(self.options.verbose_level, logging.DEBUG))
        self._add_handler(console)
        if self.options.log_file:
            to_file = logging.FileHandler(self.options.log_file)
            to_file.setFormatter(logging.Formatter(self.LOG_FILE_MESSAGE_FORMAT))
            self._add_handler(to_file)

    def run(self, argv: list[str]) -> int:
        level, propagate = self.LOG.level, self.LOG.propagate
        self.LOG.setLevel(logging.DEBUG)
        self.LOG.propagate = False
        try:
            return super().run(argv)
        finally:
            self.LOG.setLevel(level)
            self.LOG.propagate = propagate
            while self._handlers:
                handler = self._handlers.pop()
                self.LOG.removeHandler(handler)
                handler.close()

    def clean_up(self, cmd: Command, result: int, err: BaseException | None) -> None:
        super().clean_up(cmd, result, err)
        if isinstance(err, KeyboardInterrupt) and getattr(cmd, "waits", False):
            self.stderr.write(
                "\nInterrupted. What was requested continues; to see it: armillary server list\n"
            )
        if "api" in vars(self):
            self.api.close()

    def _add_handler(self, handler: logging.Handler) -> None:
        self.LOG.addHandler(handler)
        self._handlers.append(handler)


def exit_code_of(error: BaseException) -> int:
    for family, code in EXIT_CODES:
        if isinstance(error, family):
            return code
    return EXIT_FAILED
