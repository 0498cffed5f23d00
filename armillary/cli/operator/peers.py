"""The services that ``armillary-manage placement`` asks, over the top broker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from oslo_config import cfg

from armillary.cli.buses import bus_maker
from armillary.context import RequestContext, admin_context
from conductor.rpcapi import SuperConductorAPI
from placement.rpcapi import PlacementAPI
from rpc.transport import configured_url


@dataclass(frozen=True)
class Peers:
    """The owners of the two databases, and in whose name they are asked."""

    context: RequestContext
    conductor: SuperConductorAPI
    placement: PlacementAPI


@contextmanager
def peers(conf: cfg.ConfigOpts) -> Iterator[Peers]:
    """Lend the services at ``[DEFAULT] transport_url``. Raises ConfigurationError without one."""
    bus = bus_maker(conf, "armillary-manage")(configured_url(conf))
    timeout_seconds = conf.rpc.response_timeout_seconds
    caps = conf.upgrade_levels
    try:
        yield Peers(
            admin_context(),
            SuperConductorAPI(bus, version_cap=caps.conductor, timeout_seconds=timeout_seconds),
            PlacementAPI(bus, version_cap=caps.placement, timeout_seconds=timeout_seconds),
        )
    finally:
        bus.close()
