"""``python -m tests.faults``: play plans of faults over operations, and say what they found."""

import argparse
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.faults.report import add_to
from tests.faults.run import Run
from tests.faults.stores import why_missing
from tests.faults.world import LARGE, SMALL, world


def main(argv: list[str]) -> int:
    arguments = _parse(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # end what was started, too
    missing = why_missing()
    if missing:
        sys.stderr.write(f"{missing}\n")
        return 2
    folder = Path(
        tempfile.mkdtemp(prefix=f"armillary-faults-{arguments.seed}-", dir=arguments.folder)
    )
    if not _play(arguments, folder):
        sys.stdout.write(f"logs, journals and configurations are in {folder}\n")
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    return 0


def _play(arguments: argparse.Namespace, folder: Path) -> bool:
    """Play plans on one deployment, until one finds something; return whether all was well."""
    began_at = time.monotonic()

    def say(text: str) -> None:
        line = f"{time.strftime('%H:%M:%S')} {time.monotonic() - began_at:6.1f} {text}\n"
        with (folder / "story").open("a") as story:
            story.write(line)
        if arguments.verbose:
            _write(line)

    size = SMALL if arguments.small else LARGE
    with world(folder, size, arguments.seed, pace=arguments.pace) as deployment:
        say("all is up")
        run = Run(deployment, say, pace=arguments.pace)
        for seed in range(arguments.seed, arguments.seed + arguments.plans):
            outcome = run.play(seed, arguments.faults, arguments.operations)
            _write(f"{outcome.screen()}\n")
            if arguments.json:
                add_to(arguments.json, outcome)
            if outcome.findings:
                return False
        left = run.clear()
        for what in left:
            _write(f"  FOUND     after the delete of all servers: {what}\n")
        return not left


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the first plan (%(default)s)")
    parser.add_argument("--plans", type=int, default=1,
                        help="how many, until one finds something")  # fmt: skip
    parser.add_argument("--faults", type=int, default=30, help="of a plan (%(default)s)")
    parser.add_argument("--operations", type=int, default=300, help="of a plan (%(default)s)")
    parser.add_argument("--small", action="store_true", help="one cell, one of each service")
    parser.add_argument("--pace", type=float, default=1.0, metavar="FACTOR",
                        help="wait so much longer for everything; for busy machines")  # fmt: skip
    parser.add_argument("--json", type=Path, help="add a line for each plan to this file")
    parser.add_argument("--folder", help="where the deployment is made, and kept if it failed")
    parser.add_argument("--verbose", action="store_true", help="say what happens")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
