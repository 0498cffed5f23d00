"""Buses as the programs make them: named after program and host, with locks in the state path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from oslo_config import cfg

import objects
from armillary import concurrency
from rpc.transport import Bus

MakeBus = Callable[[str], Bus]


def bus_maker(conf: cfg.ConfigOpts, binary: str) -> MakeBus:
    """Return what makes a bus from a transport URL, in the process that uses it."""
    objects.register_all()

    def make(transport_url: str) -> Bus:
        return Bus(
            conf,
            transport_url,
            executor=concurrency.rpc_executor(),
            process_name=f"{binary}-{conf.host}",
            lock_directory=Path(conf.state_path, "locks"),
        )

    return make
