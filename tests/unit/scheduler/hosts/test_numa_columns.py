"""The cells of all hosts as numbers."""

from __future__ import annotations

import pytest

from objects import numa
from objects.numa.cell_columns import BASE, CELLS_MAX, PAGES, THREADS, CellFact
from scheduler.hosts import numa_columns
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.host_table import HostTable
from scheduler.hosts.numa_columns import NOT_COUNTABLE, NumaColumns
from scheduler.hosts.numa_topology_cache import NumaTopologyCache
from scheduler.hosts.numa_usage import HostTopologyDict
from tests.fixtures.numa_fleets import a_host_cell, a_host_topology


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
    monkeypatch.setattr(numa_columns, "_SPARE", 5)
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
