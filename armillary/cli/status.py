"""``armillary-status``: tell whether a deployment is ready, and what it has in hand."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from armillary import concurrency

if TYPE_CHECKING:
    from armillary.cli.operator.application import OperatorApp

EXIT_UNEXPECTED = 255


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    argv = sys.argv[1:] if argv is None else argv
    concurrency.bootstrap(argv, "armillary-status")
    return make_app().run(argv)


def make_app(stdout: TextIO | None = None, stderr: TextIO | None = None) -> OperatorApp:
    """Return the application; the caller has bootstrapped."""
    from armillary.cli.operator.application import OperatorApp
    from armillary.cli.operator.status_commands import Recovery, UpgradeCheck

    return OperatorApp(
        "armillary-status",
        "Tell whether a deployment is ready for this release, and what it has in hand.",
        {"upgrade-check": UpgradeCheck, "recovery": Recovery},
        error_code=EXIT_UNEXPECTED,
        stdout=stdout,
        stderr=stderr,
    )
