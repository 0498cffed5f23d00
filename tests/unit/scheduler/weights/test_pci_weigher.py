"""PCIWeigher prefers hosts that have fewer devices to lose."""

from typing import Any

import pytest

from scheduler.hosts.host_table import HostTable
from scheduler.weights.pci_weigher import PCIWeigher
from tests.fixtures.fleets.numa_fleets import GPU, a_pool
from tests.fleets import a_request_spec, scheduling_conf


@pytest.mark.parametrize(
    ("pools", "weights"),
    [
        ([[], ()], [100, 100]),
        ([[a_pool()], [a_pool(), a_pool(GPU, count=3)], ()], [98, 95, 100]),
        ([[a_pool(count=99)], [a_pool(count=500)]], [1, 1]),
    ],
    ids=["none", "some", "many"],
)
def test_a_host_weighs_100_less_its_devices(pools: list[Any], weights: list[float]) -> None:
    """Of which 99 count."""
    hosts = HostTable.from_values([{"pci_stats": each} for each in pools])
    weigher = PCIWeigher(scheduling_conf())
    assert weigher.host_weights(hosts, a_request_spec()).tolist() == weights
