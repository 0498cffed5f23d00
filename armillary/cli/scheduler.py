"""``armillary-scheduler``: run the scheduler service."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from armillary import concurrency

if TYPE_CHECKING:
    from oslo_config import cfg

    from armillary.cli.buses import MakeBus
    from armillary.service import Manager


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM; return the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    concurrency.bootstrap(argv)
    from armillary.cli import start

    return start.run("armillary-scheduler", argv, _make, lambda conf: conf.scheduler.workers)


def _make(conf: cfg.ConfigOpts, top_url: str, make_bus: MakeBus) -> Manager:
    from armillary import exception
    from armillary.cli import wiring

    if conf.scheduler.in_process:
        raise exception.ConfigurationError(
            reason="[scheduler] in_process is on: super conductors decide by themselves, and there "
            "is no queue that a scheduler could serve"
        )
    return wiring.make_scheduler(conf, top_url=top_url, make_bus=make_bus)
