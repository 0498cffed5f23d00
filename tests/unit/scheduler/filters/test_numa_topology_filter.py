"""NUMATopologyFilter passes hosts whose cells have room, one fit for all hosts that are alike."""

import copy
from typing import Any

import pytest

from objects import numa
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.filters.numa_topology_filter import NUMATopologyFilter
from scheduler.hosts.host_table import HostTable
from tests.fixtures.fleets.numa_fleets import a_guest, a_host_topology, a_pci_request, a_pool
from tests.fleets import a_request_spec, scheduling_conf

EMPTY = a_host_topology().to_plain()
RATIOS = {"cpu_allocation_ratio": 2.0, "ram_allocation_ratio": 1.5}


@pytest.fixture
def filter_() -> NUMATopologyFilter:
    return NUMATopologyFilter(scheduling_conf())


def asking(guest: numa.InstanceTopology | None, *requests: Any) -> RequestSpec:
    return a_request_spec(
        numa_topology=None if guest is None else guest.to_plain(),
        pci_requests=[each.to_plain() for each in requests],
    )


def passed(filter_: NUMATopologyFilter, hosts: list[dict[str, Any]], spec: RequestSpec) -> Any:
    return filters.mask_of(filter_, HostTable.from_values(hosts), spec).tolist()


def test_who_asks_for_no_cells_may_go_anywhere(filter_: NUMATopologyFilter) -> None:
    """Also where there are none."""
    assert passed(filter_, [{}, {"numa_topology": EMPTY}], asking(None)) == [True, True]


def test_who_asks_for_cells_needs_a_host_that_has_some(filter_: NUMATopologyFilter) -> None:
    """With room; an unreadable topology counts as none."""
    hosts = [{}, {"numa_topology": EMPTY}, {"numa_topology": {"cells": 7}}]
    assert passed(filter_, hosts, asking(a_guest(2, pinned=4))) == [False, True, False]
    assert passed(filter_, hosts, asking(a_guest(2, pinned=5))) == [False, False, False]


def test_shared_cpus_are_overcommitted_as_placement_has_it(filter_: NUMATopologyFilter) -> None:
    """Not as the host's topology says."""
    full = a_host_topology()
    full = numa.HostTopology(
        tuple(numa.HostCell.from_plain({**cell.to_plain(), "cpus_used": 4}) for cell in full.cells)
    )
    hosts = [{"numa_topology": full.to_plain(), **ratios} for ratios in ({}, RATIOS)]
    spec = asking(a_guest(shared=2))
    assert passed(filter_, hosts, spec) == [False, True]
    host = HostTable.from_values(hosts)[1]
    assert filter_.limits(host, spec) == {"numa_topology": RATIOS}


def test_there_are_limits_for_guests_with_cells_only(filter_: NUMATopologyFilter) -> None:
    """Nothing is sent for the others."""
    host = HostTable.from_values([{"numa_topology": EMPTY}])[0]
    assert filter_.limits(host, asking(None)) == {}


def test_devices_have_to_be_near(filter_: NUMATopologyFilter) -> None:
    """Where the policy says so."""
    hosts = [
        {"numa_topology": EMPTY, "pci_stats": [a_pool(numa_node=node)]} for node in (0, 7, None)
    ]
    assert passed(filter_, hosts, asking(a_guest(pinned=1), a_pci_request())) == [True, False, True]
    near = a_pci_request(policy="required")
    assert passed(filter_, hosts, asking(a_guest(pinned=1), near)) == [True, False, False]


def test_equal_hosts_cost_one_fit(
    filter_: NUMATopologyFilter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether they report one object, or each its own."""
    fits: list[int] = []
    fit = numa.fits

    def counted(*args: Any, **kwargs: Any) -> Any:
        fits.append(1)
        return fit(*args, **kwargs)

    monkeypatch.setattr(numa, "fits", counted)
    hosts = [{"numa_topology": copy.deepcopy(EMPTY)} for _ in range(100)]
    hosts += [{"numa_topology": EMPTY}] * 100
    assert all(passed(filter_, hosts, asking(a_guest(pinned=2))))
    assert len(fits) == 1


def test_a_reason_says_what_is_missing(filter_: NUMATopologyFilter) -> None:
    """In the cells, or that there are none."""
    hosts = HostTable.from_values([{}, {"numa_topology": EMPTY}])
    spec = asking(a_guest(pinned=5))
    assert [filter_.explain(host, spec) for host in hosts] == [
        "reports no NUMA topology",
        "no NUMA cell has 5 free dedicated CPUs; the most is 4",
    ]
