"""Console scripts: wiring and start of each program."""

from collections.abc import Sequence

EXIT_CONFIGURATION = 78  # EX_CONFIG of sysexits.h: systemd and people can distinguish it


def asks_for_help(argv: Sequence[str]) -> bool:
    """Return whether a command line only shows help or the version: no command will run."""
    return argv[:1] == ["help"] or not {"-h", "--help", "--version"}.isdisjoint(argv)
