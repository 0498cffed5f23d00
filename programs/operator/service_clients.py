"""Clients of the services that ``armillary-manage placement`` asks over the top broker."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from oslo_config import cfg

from armillary.context import RequestContext, admin_context
from conductor.super_conductor.interface import SuperConductorAPI
from placement.interface import PlacementAPI
from programs.bus_factory import bus_maker
from rpc.signing.place import TOP
from rpc.transport import configured_url
from rpc.version_caps import ConfiguredCap, OldestServices, is_auto


@dataclass(frozen=True)
class Peers:
    """Clients of the owners of the two databases, and the context to call them with."""

    context: RequestContext
    conductor: SuperConductorAPI
    placement: PlacementAPI


@contextmanager
def peers(conf: cfg.ConfigOpts) -> Iterator[Peers]:
    """Connect to ``[DEFAULT] transport_url``. Raises ConfigurationError if it is unset."""
    bus = bus_maker(conf, "armillary-manage")(configured_url(conf), TOP)
    timeout_seconds = conf.rpc.response_timeout_seconds
    oldest = OldestServices()
    try:
        if is_auto(conf, "conductor", "placement"):
            uncapped = SuperConductorAPI(bus, timeout_seconds=timeout_seconds)
            oldest.take(uncapped.get_oldest_services(admin_context()))
        yield Peers(
            admin_context(),
            SuperConductorAPI(
                bus,
                version_cap=ConfiguredCap.by_oldest(conf, "conductor", oldest),
                timeout_seconds=timeout_seconds,
            ),
            PlacementAPI(
                bus,
                version_cap=ConfiguredCap.by_oldest(conf, "placement", oldest),
                timeout_seconds=timeout_seconds,
            ),
        )
    finally:
        bus.close()
