"""A request for several instances fills NUMA cells and takes devices one instance at a time."""

from collections import Counter
from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from objects.destinations import Destinations
from objects.request_spec import RequestSpec
from scheduler.drivers.filter_scheduler import FilterScheduler
from scheduler.hosts.store.host_store import HostStore
from tests.builders import a_uuid
from tests.fixtures.fleets.numa_fleets import a_guest, a_host_topology, a_pci_request, a_pool
from tests.fleets import (
    ArrayPlacement,
    a_driver,
    a_fleet,
    a_request_spec,
    scheduling_conf,
    some_hosts,
)

HOSTS = some_hosts(2, numa_topology=a_host_topology().to_plain(), pci_stats=[a_pool()])
PINNED = a_request_spec(numa_topology=a_guest(pinned=3).to_plain())
WITH_DEVICE = a_request_spec(pci_requests=[a_pci_request().to_plain()])


def a_strict_driver(
    placement: ArrayPlacement | None = None, fleet: HostStore | None = None
) -> FilterScheduler:
    enabled = ["NUMATopologyFilter", "PciPassthroughFilter"]
    conf = scheduling_conf(filter_scheduler__enabled_filters=enabled)
    return a_driver(HOSTS, placement=placement, fleet=fleet, conf=conf)


def select(driver: FilterScheduler, spec: RequestSpec, count: int) -> Destinations:
    uuids = [a_uuid() for _ in range(count)]
    return driver.select_destinations(
        admin_context("req-1"), spec, uuids,
        fences=[1] * count, return_alternates=True, dry_run=False,
    )  # fmt: skip


def hosts_of(found: Destinations) -> Counter[str]:
    return Counter(row[0].service_host for row in found.selections())


@pytest.mark.parametrize("spec", [PINNED, WITH_DEVICE], ids=["cells", "devices"])
def test_instances_go_where_cells_and_devices_are_left(spec: RequestSpec) -> None:
    """Two on each host; a fifth is one too many, and nothing is kept of it."""
    assert hosts_of(select(a_strict_driver(), spec, 4)) == {"host1": 2, "host2": 2}
    placement = ArrayPlacement(HOSTS)
    with pytest.raises(exception.NoValidHost) as refused:
        select(a_strict_driver(placement), spec, 5)
    assert "free" in refused.value.message
    assert not placement.consumers


def test_hosts_that_are_left_have_room_for_so_many() -> None:
    """When a claim was refused and its host is out."""
    placement = ArrayPlacement(HOSTS)
    placement.refusals[HOSTS[0].uuid] = 1
    with pytest.raises(exception.NoValidHost):
        select(a_strict_driver(placement), PINNED, 4)  # host1 is out, host2 has room for two
    placement.refusals[HOSTS[0].uuid] = 1
    assert hosts_of(select(a_strict_driver(placement), PINNED, 2)) == {"host2": 2}


def test_the_chosen_hosts_are_told_the_ratios() -> None:
    """Alternates as well; requests without cells have no limits."""
    (row,) = select(a_strict_driver(), PINNED, 1).selections()
    limits: list[Any] = [each.limits and each.limits.numa_topology for each in row]
    assert limits == [{"cpu_allocation_ratio": 1.0, "ram_allocation_ratio": 1.0}] * 2
    (row,) = select(a_strict_driver(), a_request_spec(), 1).selections()
    assert [each.limits for each in row] == [None, None]


@pytest.mark.parametrize("spec", [PINNED, WITH_DEVICE], ids=["cells", "devices"])
def test_what_was_claimed_is_used_although_no_host_reports_it(spec: RequestSpec) -> None:
    """Request after request; a push that shows the instances ends that."""
    fleet = a_fleet(HOSTS)
    driver = a_strict_driver(fleet=fleet)
    assert sum((hosts_of(select(driver, spec, 1)) for _ in range(4)), Counter()) == {
        "host1": 2,
        "host2": 2,
    }
    with pytest.raises(exception.NoValidHost):
        select(driver, spec, 1)
    placed = {uuid for host in fleet.view_all() for uuid in host.instances}
    assert len(placed) == 4
    fleet.forget(placed)
    assert sum(hosts_of(select(driver, spec, 4)).values()) == 4
