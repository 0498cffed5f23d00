"""Networks that a request names choose its hosts: by segments, and by who manages the card."""

from typing import Any

import pytest

from objects.request_spec import RequestLevelParams
from scheduler import request_filters
from scheduler.request_filters import BaseRequestFilter
from scheduler.request_filters.remote_managed_ports import RemoteManagedPorts
from scheduler.request_filters.routed_networks import RoutedNetworks
from tests.builders import a_uuid, an_aggregate
from tests.fleets import a_request_spec, scheduling_conf, some_cluster_metadata

RED, BLUE, FLAT = a_uuid(), a_uuid(), a_uuid()
RED_1 = an_aggregate("red1", metadata={"routed_network": RED.upper()})
RED_2 = an_aggregate("red2", metadata={"routed_network": RED})
BOTH = an_aggregate("both", metadata={"routed_network": f"{BLUE}, {RED}"})
PLAIN = an_aggregate("plain", metadata={"network": RED})


def params(
    each: type[BaseRequestFilter], *networks: tuple[str, bool], is_on: bool = True
) -> RequestLevelParams:
    conf = scheduling_conf(scheduler__query_placement_for_routed_network_aggregates=is_on)
    wanted: list[dict[str, Any]] = [
        {"network": uuid, "remote_managed": remote} for uuid, remote in networks
    ]
    spec = a_request_spec(requested_networks=wanted)
    request_filters.apply_all(
        [each(conf)], spec, some_cluster_metadata([RED_1, PLAIN, RED_2, BOTH])
    )
    assert spec.request_level_params is not None
    return spec.request_level_params


@pytest.mark.parametrize(
    ("networks", "member_of"),
    [
        ([], []),
        ([RED], [[RED_1.uuid, RED_2.uuid, BOTH.uuid]]),
        ([BLUE, RED], [[BOTH.uuid], [RED_1.uuid, RED_2.uuid, BOTH.uuid]]),
        ([RED, RED], [[RED_1.uuid, RED_2.uuid, BOTH.uuid]]),
        ([FLAT], []),
    ],
    ids=["none", "one", "two", "twice", "without segments"],
)
def test_one_segment_of_each_network_is_asked_for(
    networks: list[str], member_of: list[list[str]]
) -> None:
    """A network that no aggregate names reaches every host."""
    assert params(RoutedNetworks, *((uuid, False) for uuid in networks)).member_of == member_of


def test_segments_are_not_asked_for_unless_configured() -> None:
    """The option is off by default."""
    assert params(RoutedNetworks, (RED, False), is_on=False).member_of == []
    default = scheduling_conf().scheduler.query_placement_for_routed_network_aggregates
    assert default is False


def test_a_remote_managed_network_needs_a_host_that_knows_them() -> None:
    """One of them suffices to ask; others do not."""
    found = params(RemoteManagedPorts, (RED, False), (BLUE, True))
    assert found.root_required == ["COMPUTE_REMOTE_MANAGED_PORTS"]
    assert params(RemoteManagedPorts, (RED, False)).root_required == []
