"""Print how long each stage takes: ``python -m tests.bench [NAME ...]``.

Without names, all of them. ``python -m tests.bench placement [OPTION ...]`` measures placement as
it is deployed, beside the reference where its scripts are given; ``python -m tests.bench
scheduling`` does so with the scheduler, ``python -m tests.bench builds`` with the whole way of an
instance, ``python -m tests.bench zones`` with a tree of zones.
"""

import sys

from tests.bench import (
    builds,
    console,
    decide_and_claim,
    embedded,
    open_page,
    scheduler,
    scheduling,
    summaries,
    zones,
)
from tests.bench.placement import placement, placement_peers, placement_trees

BENCHES = {
    "select-1000": lambda: scheduler.bench_select(1_000),
    "select-10000": lambda: scheduler.bench_select(10_000),
    "multi-10000": lambda: scheduler.bench_multi(10_000, 1_000),
    "candidates-1000": lambda: placement.bench_candidates(1_000),
    "candidates-10000": lambda: placement.bench_candidates(10_000),
    "candidates-plain": placement_trees.bench_plain,
    "candidates-trees": placement_trees.bench_trees,
    "claims": placement.bench_claims,
    "request-10000": decide_and_claim.bench_request,
    "summaries": summaries.bench,
    "embedded": embedded.bench_create,
    "console": console.bench,
    "open-page": open_page.bench,
}


def main(names: list[str]) -> int:
    """Run the named benches; return 2 for an unknown name."""
    if names[:1] == ["placement"]:
        return placement_peers.main(names[1:])
    if names[:1] == ["scheduling"]:
        return scheduling.main(names[1:])
    if names[:1] == ["builds"]:
        return builds.main(names[1:])
    if names[:1] == ["zones"]:
        return zones.main(names[1:])
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; known: {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    for name in names or BENCHES:
        print(f"== {name}")
        BENCHES[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
