"""The program ``armillary``: asks an Armillary API, or runs one (``up``, ``demo``)."""

from __future__ import annotations

import sys
from collections.abc import Sequence

PROGRAM = "armillary"
UP = "up"
DEMO = "demo"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: see ``armillary help`` for what each means.

    Nothing is imported before it is known that no service will run in this process: ``up`` has to
    choose its concurrency backend first.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == [UP]:
        return _up(arguments[1:])
    if arguments[:1] == [DEMO]:
        return _demo(arguments[1:])
    from armillary.cli.commands.app import ClientApp

    return ClientApp().run(arguments or ["help"])


def _up(argv: Sequence[str]) -> int:
    from armillary import concurrency

    concurrency.bootstrap(argv, PROGRAM)
    from armillary.cli import up

    return up.main(argv)


def _demo(argv: Sequence[str]) -> int:
    from armillary.cli.demo import program

    return program.main(argv)


if __name__ == "__main__":
    sys.exit(main())
