"""The program ``armillary``: a client of the API, and the commands ``up`` and ``demo``."""

import sys
from collections.abc import Sequence

PROGRAM = "armillary"
UP = "up"
DEMO = "demo"
COMPLETE = "__complete"
"""What completion scripts of shells ask for."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; ``armillary help`` documents the codes.

    Imports nothing until it is known that no service will run in this process: ``up`` has to choose
    its concurrency backend first.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == [UP]:
        return _up(arguments[1:])
    if arguments[:1] == [DEMO]:
        return _demo(arguments[1:])
    if arguments[:1] == [COMPLETE]:
        from programs.commands import completion

        return completion.main(arguments[1:])
    from programs.commands.app import ClientApp

    return ClientApp().run(arguments or ["help"])


def _up(argv: Sequence[str]) -> int:
    from armillary import concurrency

    concurrency.bootstrap(argv, PROGRAM)
    from programs import up

    return up.main(argv)


def _demo(argv: Sequence[str]) -> int:
    from programs.demo import program

    return program.main(argv)


if __name__ == "__main__":
    sys.exit(main())
