"""A host table shows columns, rows, groups of hosts, and what a request used so far."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler.hosts.host_table import HostTable
from scheduler.hosts.usage import Usage
from tests.builders import an_aggregate
from tests.fleets import CELL, OTHER_CELL, a_host, a_table, some_facts, some_hosts


def a_usage(used_mb: list[int], *, asked_mb: int = 1000, total_mb: int = 4000) -> Usage:
    count = len(used_mb)
    return Usage(
        ["MEMORY_MB"],
        np.array([asked_mb]),
        candidates=np.arange(count),
        total=np.full((count, 1), total_mb),
        reserved=np.full((count, 1), 500),
        used=np.array(used_mb).reshape(count, 1),
        ratio=np.full((count, 1), 1.0),
    )


def test_a_table_can_be_made_up() -> None:
    """For the tests of a plugin; what is not given is the default."""
    ssd = an_aggregate(hosts=["host2"])
    table = HostTable.from_values(
        [{"free_ram_mb": 5, "instance_uuids": ["a"]}, {"stats": {"colour": "red"}}, {"host": "x"}],
        aggregates=[ssd],
    )
    assert table.free_ram_mb.tolist() == [5, 0, 0]
    assert table.stats == [None, {"colour": "red"}, None]
    assert table.host == ["host1", "host2", "x"]
    assert table[0].instances == {"a"}
    assert table[1].aggregates == (ssd,)
    assert HostTable.from_values([]).free_ram_mb.tolist() == []


def test_columns_are_in_the_order_of_the_question() -> None:
    """Numbers are arrays, all else is a list."""
    table = a_table([a_host("b", free_ram_mb=2), a_host("a", free_ram_mb=1)])
    assert table.free_ram_mb.tolist() == [2, 1]
    assert table.host == ["b", "a"]
    assert table.nodename == ["b.example.org", "a.example.org"]


def test_an_unknown_attribute_is_an_error() -> None:
    """As with any object."""
    table = a_table([a_host()])
    with pytest.raises(AttributeError, match="free_time"):
        _ = table.free_time
    with pytest.raises(AttributeError, match="free_time"):
        _ = table[0].free_time


def test_a_table_without_hosts_has_empty_columns() -> None:
    """Filters need no special case."""
    table = a_table([])
    assert table.host == []
    assert table.cell_uuid == []
    assert table.free_ram_mb.tolist() == []
    assert list(table) == []


def test_take_keeps_the_chosen_ones() -> None:
    """Their positions are new, their values the same."""
    table = a_table(some_hosts(3)).take(np.array([2, 0]))
    assert table.host == ["host3", "host1"]
    assert [state.host for state in table] == ["host3", "host1"]


def test_hosts_are_found_by_name() -> None:
    """All nodes of a host share its name."""
    table = a_table([a_host("a"), a_host("b"), a_host("a")])
    assert table.named({"a", "nobody"}).tolist() == [True, False, True]


def test_hosts_are_found_by_aggregate() -> None:
    """Hosts of the aggregate that are no candidates do not matter."""
    ssd = an_aggregate(hosts=["host2", "host9"])
    table = a_table(some_hosts(3), facts=some_facts([ssd]))
    assert table.in_aggregate(ssd).tolist() == [False, True, False]
    assert table[1].aggregates == (ssd,)


def test_usage_of_placement_takes_the_place_of_what_was_reported() -> None:
    """Free memory is what placement has left, and no less than nothing is said to be free."""
    table = a_table(some_hosts(2, free_ram_mb=1)).with_usage(a_usage([0, 4500]))
    assert table.free_ram_mb.tolist() == [3500, -1000]
    assert table.total_usable_ram_mb.tolist() == [4000, 4000]
    assert table.free_disk_mb.tolist() == [512000, 512000]


def test_consuming_shows_in_all_that_an_instance_uses() -> None:
    """Amounts, numbers of instances, their names; only on that host."""
    table = a_table(some_hosts(2)).with_usage(a_usage([0, 0]))
    table.consume(1, "a")
    assert table.free_ram_mb.tolist() == [3500, 2500]
    assert table.num_instances.tolist() == [0, 1]
    assert table.num_io_ops.tolist() == [0, 1]
    assert table[1].instances == {"a"}
    assert table[0].instances == frozenset()


def test_undo_takes_a_consume_back() -> None:
    """The host is as before."""
    table = a_table(some_hosts(1)).with_usage(a_usage([0]))
    table.count_instances(["a"])
    table.consume(0, "a")
    table.undo(0, "a")
    assert table.free_ram_mb.tolist() == [3500]
    assert table.num_instances.tolist() == [0]
    assert table[0].instances == frozenset()
    assert table.count_instances(["a"]).tolist() == [0]


def test_a_host_fits_until_it_is_used_up() -> None:
    """3,500 MiB are room for three times 1,000."""
    table = a_table(some_hosts(1)).with_usage(a_usage([0]))
    fits = []
    for name in "abc":
        fits.append(table.fits(0))
        table.consume(0, name)
    assert fits == [True, True, True]
    assert not table.fits(0)


def test_instances_are_counted_where_they_are() -> None:
    """Reported ones and those of this request, each once."""
    table = a_table([a_host("a", instance_uuids=["i", "j"]), a_host("b")])
    assert table.count_instances(["i", "j", "k"]).tolist() == [2, 0]
    table.consume(1, "k")
    table.consume(0, "i")
    assert table.count_instances(["i", "j", "k"]).tolist() == [2, 1]
    table.undo(0, "i")
    assert table.count_instances(["i", "j", "k"]).tolist() == [2, 1]


def test_an_instance_consumed_before_it_was_asked_about_is_counted() -> None:
    """The order of questions does not matter."""
    table = a_table(some_hosts(2))
    table.consume(1, "k")
    assert table.count_instances(["k"]).tolist() == [0, 1]


def test_cells_have_their_uuids() -> None:
    """As a column and for one host."""
    table = a_table([a_host(), a_host("host2", cell=OTHER_CELL)])
    assert table[1].cell_uuid == OTHER_CELL
    assert table.cell_uuid == [CELL, OTHER_CELL]
    assert table[0].cell_uuid == CELL
