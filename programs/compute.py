"""``armillary-compute``: run the compute agent of this machine, or of simulated hosts."""

import sys
from collections.abc import Sequence

from armillary import concurrency


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM; return the exit code. One worker: a journal has a single owner."""
    argv = sys.argv[1:] if argv is None else argv
    concurrency.bootstrap(argv)
    from programs import service_program, wiring

    return service_program.run(
        "armillary-compute",
        argv,
        lambda conf, url, make_bus: wiring.make_compute(conf, cell_url=url, make_bus=make_bus),
        lambda conf: 1,
    )
