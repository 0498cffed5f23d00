"""Into the same network."""

import pytest

from scheduler.filters.affinity.simple_cidr_affinity_filter import SimpleCIDRAffinityFilter
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf

NEAR = "build_near_host_ip"


@pytest.mark.parametrize(
    ("hints", "address", "passes"),
    [
        ({}, "", True),
        ({"cidr": "/8"}, "192.168.0.1", True),
        ({NEAR: "10.0.0.9"}, "10.0.0.200", True),
        ({NEAR: "10.0.0.9"}, "10.0.1.200", False),
        ({NEAR: ["10.0.0.9"], "cidr": ["/16"]}, "10.0.1.200", True),
        ({NEAR: "10.0.0.9", "cidr": "/255.255.0.0"}, "10.0.1.200", True),
        ({NEAR: "2001:db8::1", "cidr": "/64"}, "2001:db8::2", True),
        ({NEAR: "2001:db8::1", "cidr": "/64"}, "10.0.0.1", False),
        ({NEAR: "10.0.0.9"}, "", False),
        ({NEAR: "10.0.0.9", "cidr": "24"}, "10.0.0.200", True),
        ({NEAR: "10.0.0.9", "cidr": "24"}, "10.0.1.200", False),
        ({NEAR: "10.0.0.9", "cidr": "255.255.0.0"}, "10.0.1.200", True),
        ({NEAR: "10.0.0.9", "cidr": "/33"}, "10.0.0.9", False),
        ({NEAR: "near me"}, "10.0.0.9", False),
    ],
)
def test_a_host_inside_the_network_passes(
    hints: dict[str, str], address: str, passes: bool
) -> None:
    """The default is the address's /24; an invalid network has no hosts, and breaks nothing."""
    state = a_table([a_host(host_ip=address)])[0]
    each = SimpleCIDRAffinityFilter(scheduling_conf())
    assert each.host_passes(state, a_request_spec(scheduler_hints=hints)) is passes


def test_the_reason_names_the_network() -> None:
    """As it was worked out from the hints."""
    state = a_table([a_host(host_ip="10.0.1.200")])[0]
    spec = a_request_spec(scheduler_hints={NEAR: "10.0.0.9"})
    reason = SimpleCIDRAffinityFilter(scheduling_conf()).explain(state, spec)
    assert reason == "is not in the network 10.0.0.9/24"
