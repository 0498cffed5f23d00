"""``armillary-conductor``: run the super conductor or a cell conductor (``[conductor] role``)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from armillary import concurrency

if TYPE_CHECKING:
    from oslo_config import cfg

    from armillary.service import Manager
    from rpc.transport import MakeBus


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM; return the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    concurrency.bootstrap(argv)
    from programs import service_program

    return service_program.run(
        "armillary-conductor", argv, _make, lambda conf: conf.conductor.workers
    )


def _make(conf: cfg.ConfigOpts, url: str, make_bus: MakeBus) -> Manager:
    from programs import wiring

    makers = {"super": wiring.make_super_conductor, "cell": wiring.make_cell_conductor}
    return makers[conf.conductor.role](conf, top_url=url, make_bus=make_bus)
