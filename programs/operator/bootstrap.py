"""Start of operators' programs, before they import what their commands need."""

from collections.abc import Sequence

from armillary import concurrency


def bootstrap(argv: Sequence[str], program: str, *, runs_services: bool = True) -> None:
    """Select the concurrency backend of an operator's program, unless it only shows help."""
    if _asks_for_help(argv):
        concurrency.silence_eventlet_deprecations()
    else:
        concurrency.bootstrap(argv, program, runs_services=runs_services)


def _asks_for_help(argv: Sequence[str]) -> bool:
    """Return whether a command line only shows help or the version: no command will run."""
    return argv[:1] == ["help"] or not {"-h", "--help", "--version"}.isdisjoint(argv)
