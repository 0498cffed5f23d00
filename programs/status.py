"""``armillary-status``: readiness of a deployment, and unfinished tasks."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from armillary import concurrency

if TYPE_CHECKING:
    from programs.operator.application import OperatorApp

EXIT_UNEXPECTED = 255


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    argv = sys.argv[1:] if argv is None else argv
    concurrency.bootstrap(argv, "armillary-status")
    return make_app().run(argv)


def make_app(stdout: TextIO | None = None, stderr: TextIO | None = None) -> OperatorApp:
    """Return the application; the caller has bootstrapped."""
    from programs.operator.application import OperatorApp
    from programs.operator.status_commands import Recovery, UpgradeCheck

    return OperatorApp(
        "armillary-status",
        "Show whether a deployment is ready for this release, and its unfinished tasks.",
        {"upgrade-check": UpgradeCheck, "recovery": Recovery},
        error_code=EXIT_UNEXPECTED,
        stdout=stdout,
        stderr=stderr,
    )
