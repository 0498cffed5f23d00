"""``armillary-status``: readiness of a deployment, and unfinished tasks."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from programs.operator.bootstrap import bootstrap

if TYPE_CHECKING:
    from programs.operator.application import OperatorApp

PROGRAM = "armillary-status"
EXIT_UNEXPECTED = 255
COMMANDS = {
    "upgrade-check": "programs.operator.status_commands:UpgradeCheck",
    "security check": "programs.operator.security.command:SecurityCheck",
    "recovery": "programs.operator.status_commands:Recovery",
}


def main(argv: Sequence[str] | None = None) -> int:
    argv = sys.argv[1:] if argv is None else argv
    bootstrap(argv, PROGRAM)
    return make_app().run(list(argv))


def make_app(stdout: TextIO | None = None, stderr: TextIO | None = None) -> OperatorApp:
    from programs.operator.application import OperatorApp
    from programs.operator.nova import words as nova_words

    return OperatorApp(
        PROGRAM,
        "Show whether a deployment is ready for this release, and its unfinished tasks.",
        COMMANDS,
        words=nova_words.STATUS,
        error_code=EXIT_UNEXPECTED,
        stdout=stdout,
        stderr=stderr,
    )
