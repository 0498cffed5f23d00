"""``python -m tests.simulation``: run seeds, or one again with all that happens in it."""

import argparse
import os
import sys


def main(argv: list[str]) -> int:
    arguments = _parse(argv)
    if os.environ.get("PYTHONHASHSEED") != "0":  # sets of texts have their order from it
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "tests.simulation", *argv])
    from tests.simulation import hub, memory

    hub.install()
    memory.install()
    from tests.simulation import series

    seeds = range(
        arguments.first, arguments.first + arguments.seeds * arguments.step, arguments.step
    )
    if arguments.seed is not None:
        seeds = range(arguments.seed, arguments.seed + 1)
    return series.run_all(
        seeds, jobs=arguments.jobs, is_verbose=arguments.verbose, cpu_seconds_max=arguments.cpu,
        is_json=arguments.json, repeats_all=arguments.repeats,
    )  # fmt: skip


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="run this one only")
    parser.add_argument("--first", type=int, default=1, help="the first of several (%(default)s)")
    parser.add_argument("--seeds", type=int, default=20, help="how many (%(default)s)")
    parser.add_argument("--step", type=int, default=1, help="from each to the next (%(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time (%(default)s)")
    parser.add_argument("--cpu", type=float, help="begin none after so many seconds of CPU time")
    parser.add_argument(
        "--repeats", action="store_true", help="deliver every message two or three times"
    )
    parser.add_argument("--verbose", action="store_true", help="say everything that happens")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each run")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
