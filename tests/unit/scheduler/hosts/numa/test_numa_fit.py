"""Hosts of a kind are asked about once, and that is right for each of them."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from objects import numa
from objects.numa.cell_columns import BASE, CELLS_MAX, PAGES, THREADS, CellFact
from objects.pci import pci
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.host_table import HostTable
from scheduler.hosts.numa import numa_fit
from scheduler.hosts.numa.numa_fit import NOT_COUNTABLE, NumaColumns, NumaFit
from scheduler.hosts.numa.numa_usage import HostTopologyDict, NumaTopologyCache
from tests.fixtures.fleets import numa_fleets
from tests.fixtures.fleets.numa_fleets import (
    GPU,
    a_guest,
    a_host_cell,
    a_host_topology,
    a_pci_request,
    a_pool,
)
from tests.fixtures.plugins.examples import examples

RATIOS = ("cpu_allocation_ratio", "ram_allocation_ratio")


class Asking:
    """A fleet, a guest, and the exact answers, which are counted."""

    def __init__(
        self,
        topologies: Sequence[numa.HostTopology | None],
        guest: numa.InstanceTopology,
        requests: Any = (),
        pools: Any = (),
        **values: Any,
    ) -> None:
        self.topologies, self.guest, self.requests = topologies, guest, list(requests)
        self.pools = list(pools) or [[]] * len(topologies)
        self.asked: list[int] = []
        self.hosts = HostTable.from_values(
            [
                {"numa_topology": each and each.to_plain(), "pci_stats": devices, **values}
                for each, devices in zip(topologies, self.pools, strict=True)
            ]
        )

    def fits(self, position: int) -> bool:
        self.asked.append(position)
        host = self.topologies[position]
        limits = {name: self.hosts.value(name, position) for name in RATIOS}
        return host is not None and numa.fits(
            host, self.guest, limits=limits, pools=self.pools[position], pci_requests=self.requests
        )

    def mask(self) -> list[bool]:
        fleet = NumaFit(NumaTopologyCache())
        return fleet.mask(self.hosts, self.guest, self.requests, self.fits).tolist()


@settings(max_examples=examples(40))
@given(
    topologies=st.lists(numa_fleets.host_topologies() | st.none(), min_size=1, max_size=8),
    guest=numa_fleets.guests(),
    requests=numa_fleets.pci_requests,
    pools=st.lists(numa_fleets.pools(), min_size=2, max_size=2),
    ratio=st.sampled_from([1.0, 1.0, 0.0, 1.5]),
)
def test_the_answer_is_that_of_each_host(
    topologies: list[numa.HostTopology | None],
    guest: numa.InstanceTopology,
    requests: list[pci.PciRequest],
    pools: list[Any],
    ratio: float,
) -> None:
    """With devices and without."""
    devices = [pools[index % 2] for index in range(len(topologies))]
    asking = Asking(topologies, guest, requests, devices, cpu_allocation_ratio=ratio)
    assert asking.mask() == [asking.fits(position) for position in range(len(topologies))]


def unlike(count: int) -> list[numa.HostTopology | None]:
    """Return hosts of which no two are equal, all with room, except for the last, which is full."""
    topologies: list[numa.HostTopology | None] = [
        a_host_topology(a_host_cell(0, memory_mb=4096 + number), a_host_cell(1))
        for number in range(count - 1)
    ]
    full = a_host_cell(0, pinned=frozenset(range(4, 8)))
    return [*topologies, a_host_topology(full, a_host_cell(1))]


@pytest.mark.parametrize(
    ("guest", "requests", "fits_full"),
    [
        (a_guest(pinned=4), (), True),
        (a_guest(2, pinned=2), (), False),
        (a_guest(pinned=4), [a_pci_request(policy="required")], False),
    ],
    ids=["one cell", "two cells", "a device"],
)
def test_hosts_that_differ_in_what_does_not_matter_are_one_kind(
    guest: numa.InstanceTopology, requests: Any, fits_full: bool
) -> None:
    """So unlike topologies cost no more than equal ones."""
    asking = Asking(unlike(50), guest, requests, [[a_pool()]] * 50)
    assert asking.mask() == [True] * 49 + [fits_full]
    assert len(asking.asked) <= 2


def test_hosts_with_other_devices_are_of_another_kind() -> None:
    """Likewise those with devices at another cell."""
    pools = [[a_pool()], [a_pool(GPU)], [a_pool(numa_node=1)], [a_pool()]]
    full = a_host_topology(a_host_cell(), a_host_cell(1, pinned=frozenset(range(12, 16))))
    asking = Asking([full] * 4, a_guest(pinned=4), [a_pci_request(policy="required")], pools)
    assert asking.mask() == [True, False, False, True]


def test_hosts_with_cells_of_other_ids_are_of_another_kind() -> None:
    """Devices are at a cell by its id."""
    hosts = [a_host_topology(a_host_cell(0)), a_host_topology(a_host_cell(1))]
    request = a_pci_request(policy="required")
    asking = Asking(hosts, a_guest(pinned=1), [request], [[a_pool()]] * 2)
    assert asking.mask() == [True, False]


@pytest.mark.parametrize("near", [0, 1, 62, 63])
def test_hosts_of_many_cells_are_told_apart_by_each(near: int) -> None:
    """Also by those that one number has no bits for."""
    full = frozenset(range(8))

    def host(free: int) -> numa.HostTopology:
        return numa.HostTopology(
            tuple(
                numa.HostCell(number, pcpus=full, pinned=frozenset() if number == free else full)
                for number in range(64)
            )
        )

    free = [0, 1, 62, 63]
    devices = [[a_pool(numa_node=near)]] * len(free)
    request = a_pci_request(policy="required")
    guest = a_guest(pinned=8, memory_mb=0)
    asking = Asking([host(number) for number in free], guest, [request], devices)
    assert asking.mask() == [number == near for number in free]


def test_where_not_all_ways_may_be_looked_at_each_host_is_asked() -> None:
    """The order of its cells, by their free memory, could matter then."""
    hosts = [
        a_host_topology(*(a_host_cell(at, memory_mb=4096 + sign * at) for at in range(8)))
        for sign in (1, -1)
    ]
    asking = Asking(hosts, a_guest(6, pinned=1), [a_pci_request(count=4)], [[a_pool(count=4)]] * 2)
    assert asking.mask() == [True, True]
    assert sorted(asking.asked) == [0, 1]


def a_table(*topologies: numa.HostTopology | None) -> HostTable:
    return HostTable.from_values(
        [{"numa_topology": None if each is None else each.to_plain()} for each in topologies]
    )


def of_cells(count: int, **values: int) -> numa.HostTopology:
    return a_host_topology(*(a_host_cell(number, **values) for number in range(count)))


def columns() -> NumaColumns:
    return NumaColumns(NumaTopologyCache())


def test_each_cell_has_a_column() -> None:
    """Where a host has none there is nothing; nor is there on a host that reports nothing."""
    table = a_table(of_cells(1, cpus_used=3), None, of_cells(2))
    facts, _layouts = columns().read(table, [BASE])
    assert facts[CellFact.EXISTS].tolist() == [[1, 0, 1], [0, 0, 1]]
    assert facts[CellFact.CPUS_USED].tolist() == [[3, 0, 0], [0, 0, 0]]


def test_threads_and_pages_are_told_when_wanted() -> None:
    """Beside the basic facts; they take longer to find out."""
    table = a_table(of_cells(1))
    facts, _layouts = columns().read(table, [THREADS, PAGES])
    assert facts.keys() == {*BASE, *THREADS, *PAGES}
    assert facts[CellFact.IDLE_CORES].tolist() == [[2], [0]]
    assert [facts[at].tolist() for at in PAGES[:4]] == [
        [[4], [0]], [[786432], [0]], [[2048], [0]], [[512], [0]]
    ]  # fmt: skip
    assert columns().read(table, [BASE])[0].keys() == set(BASE)


def test_a_host_with_more_cells_than_any_before_finds_room() -> None:
    """What was known of the others stays right."""
    found = columns()
    assert found.read(a_table(of_cells(2)), [BASE])[0][CellFact.EXISTS].shape == (2, 1)
    facts, _layouts = found.read(a_table(of_cells(2), of_cells(5)), [BASE])
    assert facts[CellFact.EXISTS].sum(axis=0).tolist() == [2, 5]


def test_a_host_with_too_many_cells_is_marked() -> None:
    """It takes no room from others."""
    facts, layouts = columns().read(a_table(of_cells(CELLS_MAX + 1), of_cells(1)), [BASE])
    assert layouts[0] == NOT_COUNTABLE
    assert layouts[1] > 0
    assert facts[CellFact.EXISTS].tolist() == [[0, 1], [0, 0]]


def test_a_layout_is_where_cells_are_not_how_full() -> None:
    """Ids and sockets tell layouts apart."""
    table = a_table(of_cells(2), of_cells(2, cpus_used=1), of_cells(2, socket=7), of_cells(1), None)
    _facts, layouts = columns().read(table, [BASE])
    assert layouts[0] == layouts[1]
    assert len(set(layouts.tolist())) == 4
    assert layouts[4] == 0


def test_layouts_of_hosts_that_are_no_more_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would be more and more in the life of a service."""
    monkeypatch.setattr(numa_fit, "_SPARE", 5)
    found = columns()
    for number in range(30):
        table = a_table(a_host_topology(a_host_cell(0, socket=number)))
        assert 1 <= found.read(table, [BASE])[1][0] <= 7


def test_cells_with_the_same_id_are_two() -> None:
    """A driver that counts wrongly does not equal another layout."""
    twins = a_host_topology(a_host_cell(0), a_host_cell(0))
    _facts, layouts = columns().read(a_table(twins, of_cells(1)), [BASE])
    assert layouts[0] != layouts[1]


def test_instances_of_the_decision_count() -> None:
    """Their hosts show another topology than they reported."""
    ledger = HostLedger(a_table(of_cells(1), of_cells(1)))
    table = ledger.hosts
    found = columns()
    found.read(table, [BASE])
    ledger.consume(1, "00000000-0000-0000-0000-000000000001")
    table.column("numa_topology")[1] = HostTopologyDict(of_cells(1, cpus_used=4))
    facts, _layouts = found.read(table, [BASE])
    assert facts[CellFact.CPUS_USED][0].tolist() == [0, 4]
