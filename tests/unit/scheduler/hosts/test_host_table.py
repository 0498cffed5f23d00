"""A host table shows columns, rows and groups of hosts."""

import numpy as np
import pytest

from scheduler.hosts.host_table import HostTable
from tests.builders import an_aggregate
from tests.fleets import CELL, OTHER_CELL, a_host, a_table, some_cluster_metadata, some_hosts


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
    """Hosts of the aggregate that are not candidates do not matter."""
    ssd = an_aggregate(hosts=["host2", "host9"])
    table = a_table(some_hosts(3), cluster_metadata=some_cluster_metadata([ssd]))
    assert table.in_aggregate(ssd).tolist() == [False, True, False]
    assert table[1].aggregates == (ssd,)


def test_cells_have_their_uuids() -> None:
    """As a column and for one host."""
    table = a_table([a_host(), a_host("host2", cell=OTHER_CELL)])
    assert table[1].cell_uuid == OTHER_CELL
    assert table.cell_uuid == [CELL, OTHER_CELL]
    assert table[0].cell_uuid == CELL
