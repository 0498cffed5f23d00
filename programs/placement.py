"""``armillary-placement``: run the placement service."""

import sys
from collections.abc import Sequence

from armillary import concurrency


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM; return the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    concurrency.bootstrap(argv)
    from programs import service_program, wiring

    return service_program.run(
        "armillary-placement",
        argv,
        lambda conf, url, make_bus: wiring.make_placement(conf, top_url=url, make_bus=make_bus),
        lambda conf: conf.placement.workers,
    )
