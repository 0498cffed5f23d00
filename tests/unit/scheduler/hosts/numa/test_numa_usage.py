"""Instances of one request see what those before them use of cells and devices."""

import copy
from typing import Any

from objects import numa
from objects.pci import pci
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.filters.numa_topology_filter import NUMATopologyFilter
from scheduler.filters.pci_passthrough_filter import PciPassthroughFilter
from scheduler.hosts.cached_hosts import ReportedUsage
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.host_table import HostTable
from scheduler.hosts.numa import numa_usage
from scheduler.hosts.numa.numa_usage import (
    CellDemand,
    HostTopologyDict,
    NumaTopologyCache,
    host_topology,
    offered,
)
from tests.fixtures.fleets.numa_fleets import a_guest, a_host_topology, a_pci_request, a_pool
from tests.fleets import a_request_spec, scheduling_conf

UUIDS = [f"00000000-0000-0000-0000-{number:012}" for number in range(4)]
CONF = scheduling_conf()


def a_ledger(spec: RequestSpec, **values: Any) -> HostLedger:
    """Return one host of two cells and a pool of two devices at cell 0."""
    hosts = HostTable.from_values(
        [{"numa_topology": a_host_topology().to_plain(), "pci_stats": [a_pool()], **values}]
    )
    return HostLedger(hosts, ReportedUsage({}, {}), CellDemand.of(spec, CONF))


def asking(guest: numa.InstanceTopology | None, *requests: pci.PciRequest) -> RequestSpec:
    return a_request_spec(
        numa_topology=None if guest is None else guest.to_plain(),
        pci_requests=[each.to_plain() for each in requests],
    )


def test_most_requests_ask_for_nothing() -> None:
    """And cost nothing."""
    assert CellDemand.of(a_request_spec(), CONF) is None


def test_a_host_is_used_up_cell_by_cell() -> None:
    """Until the filter says no; what is undone is free again."""
    spec = asking(a_guest(pinned=3))
    ledger, filter_ = a_ledger(spec), NUMATopologyFilter(CONF)
    before = copy.deepcopy(ledger.hosts[0].numa_topology)
    for uuid in UUIDS[:2]:
        assert filters.passes(filter_, ledger.hosts[0], spec)
        ledger.consume(0, uuid)
    assert not filters.passes(filter_, ledger.hosts[0], spec)
    assert filters.mask_of(filter_, ledger.hosts, spec).tolist() == [False]
    ledger.undo(0, UUIDS[0])
    assert filters.passes(filter_, ledger.hosts[0], spec)
    ledger.undo(0, UUIDS[1])
    assert ledger.hosts[0].numa_topology == before


def test_what_hosts_report_is_not_changed() -> None:
    """Other decisions read it at the same time."""
    spec = asking(a_guest(pinned=1), a_pci_request())
    reported = {"numa_topology": a_host_topology().to_plain(), "pci_stats": [a_pool()]}
    before = copy.deepcopy(reported)
    ledger = a_ledger(spec, **reported)
    ledger.consume(0, UUIDS[0])
    assert reported == before
    assert ledger.hosts[0].numa_topology != before["numa_topology"]


def test_devices_are_used_up() -> None:
    """By guests without cells, too; the last one leaves no pool."""
    spec = asking(None, a_pci_request())
    ledger, filter_ = a_ledger(spec), PciPassthroughFilter(CONF)
    ledger.consume(0, UUIDS[0])
    assert ledger.hosts[0].pci_stats == [a_pool(count=1)]
    assert filters.passes(filter_, ledger.hosts[0], spec)
    ledger.consume(0, UUIDS[1])
    assert ledger.hosts[0].pci_stats == []
    assert not filters.passes(filter_, ledger.hosts[0], spec)
    ledger.undo(0, UUIDS[0])
    assert ledger.hosts[0].pci_stats == [a_pool(count=1)]


def test_devices_are_taken_near_the_cells_of_the_guest() -> None:
    """As the host's agent will."""
    spec = asking(a_guest(pinned=1), a_pci_request(policy="preferred"))
    ledger = a_ledger(spec, pci_stats=[a_pool(numa_node=None), a_pool(numa_node=1)])
    ledger.consume(0, UUIDS[0])
    assert ledger.hosts[0].pci_stats == [a_pool(numa_node=None), a_pool(numa_node=1, count=1)]
    used = host_topology(ledger.hosts[0].numa_topology)
    assert used is not None
    assert [len(cell.pinned) for cell in used.cells] == [0, 1]


def test_what_does_not_fit_uses_nothing() -> None:
    """As on a host that was forced: its agent will refuse it."""
    spec = asking(a_guest(pinned=9), a_pci_request(count=9))
    ledger = a_ledger(spec)
    before = (ledger.hosts[0].numa_topology, ledger.hosts[0].pci_stats)
    ledger.consume(0, UUIDS[0])
    assert (ledger.hosts[0].numa_topology, ledger.hosts[0].pci_stats) == before


def test_a_part_of_the_hosts_is_used_up_alike() -> None:
    """As filters leave them."""
    spec = asking(None, a_pci_request(count=2))
    ledger = a_ledger(spec).take([0])  # type: ignore[arg-type]  # positions in a list do as well
    ledger.consume(0, UUIDS[0])
    assert ledger.hosts[0].pci_stats == []


def test_a_claim_decides_which_devices_are_offered() -> None:
    """Where placement counts them."""
    pools = [a_pool(rp_uuid="a"), a_pool(rp_uuid="b"), a_pool()]
    assert offered(pools, None) is pools
    assert offered(pools, {"host": {"resources": {"VCPU": 1}}}) is pools
    found = offered(pools, {"a": {"resources": {"CUSTOM_DEVICE": 1}}})
    assert [pool["count"] for pool in found] == [1, 0, 2]


PLAIN = a_host_topology().to_plain()


def test_equal_reports_are_one_topology() -> None:
    """None and nonsense are none."""
    readings = NumaTopologyCache()
    plains = [PLAIN, copy.deepcopy(PLAIN), None, {"cells": 7}, {"cells": 7}]
    first, second, *none = [readings.of(plain) for plain in plains]
    assert first == a_host_topology()
    assert second is first
    assert none == [None] * 3


def test_what_was_made_for_a_decision_is_not_kept() -> None:
    """It has its topology with it."""
    readings = NumaTopologyCache()
    made = HostTopologyDict(a_host_topology())
    assert readings.of(made) is made.topology
    assert not readings._by_identity


def test_old_reports_are_forgotten() -> None:
    """Few hosts report much in time."""
    readings = NumaTopologyCache()
    for _ in range(2 * numa_usage._REMEMBERED_MAX):
        readings.of(copy.copy(PLAIN))
    assert len(readings._by_identity) <= numa_usage._REMEMBERED_MAX
