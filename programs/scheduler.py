"""``armillary-scheduler``: run the scheduler service."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from armillary import concurrency

if TYPE_CHECKING:
    from oslo_config import cfg

    from armillary.service import Manager
    from rpc.transport import MakeBus

_CLAIMING_DRIVERS = ("filter_scheduler", "zone_scheduler")


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM; return the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    concurrency.bootstrap(argv)
    from programs import service_program

    return service_program.run("armillary-scheduler", argv, _make, workers)


def workers(conf: cfg.ConfigOpts) -> int | None:
    """Return the configured number of processes; None for the default of all services.

    It is 1 for drivers that claim nothing in placement: each process has its own view of capacity.
    """
    if conf.scheduler.driver in _CLAIMING_DRIVERS:
        return conf.scheduler.workers
    return conf.scheduler.workers or conf.workers or 1


def _make(conf: cfg.ConfigOpts, top_url: str, make_bus: MakeBus) -> Manager:
    from armillary import exception
    from programs import wiring

    if conf.scheduler.in_process:
        raise exception.ConfigurationError(
            reason="[scheduler] in_process is on: each super conductor runs its own scheduler, "
            "and there is no queue for this service"
        )
    return wiring.make_scheduler(conf, top_url=top_url, make_bus=make_bus)
