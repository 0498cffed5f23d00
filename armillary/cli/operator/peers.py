"""The services that ``armillary-manage placement`` asks, over the top broker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from oslo_config import cfg

from armillary import exception
from armillary.cli.buses import bus_maker
from armillary.context import RequestContext, admin_context
from armillary.service_history import BEFORE_RECORDS
from conductor.rpcapi import SuperConductorAPI
from placement.rpcapi import PlacementAPI
from rpc.transport import configured_url
from rpc.version_caps import ConfiguredCap, OldestServices, is_auto, is_too_new


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
    oldest = OldestServices()
    try:
        if is_auto(conf, "conductor", "placement"):
            oldest.take(_ask_oldest(SuperConductorAPI(bus, timeout_seconds=timeout_seconds)))
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


def _ask_oldest(conductor: SuperConductorAPI) -> Mapping[str, int]:
    """Return how old the services are. Raises Unavailable, as the questions after it would."""
    try:
        return conductor.get_oldest_services(admin_context())
    except exception.RpcFailed as error:
        if not is_too_new(error):
            raise
        return {"conductor": BEFORE_RECORDS}
