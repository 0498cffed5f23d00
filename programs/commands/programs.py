"""``up`` and ``demo`` in the list of commands; both start before other commands are loaded."""

from __future__ import annotations

import argparse

from cliff.command import Command

from armillary import exception


class Up(Command):
    """Run a whole control plane in one process, until Ctrl-C; see "armillary up --help"."""

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        raise _not_first("up")


class Demo(Command):
    """Watch workloads being placed, on a temporary control plane; see "armillary demo --help"."""

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        raise _not_first("demo")


def _not_first(name: str) -> exception.Invalid:
    return exception.Invalid(
        f"'{name}' does not accept general options: put it first on the command line."
    )
