"""Compute nodes in the database: by identity, by change, by what placement confirmed."""

from typing import Any

from armillary.db import Database
from conductor.common.cell_db import compute_nodes, host_seq, instances
from tests.builders import A_TIME, an_instance
from tests.fixtures.cell import node_uuid


def values(host: str, **more: Any) -> dict[str, Any]:
    return {
        "uuid": node_uuid(host), "host": host, "node": f"{host}.example.org", "attributes": {},
        "inventories": {}, "traits": [], "sent_traits": {}, "seq": 1, "provider_digest": "wanted",
        "allocation_ratios": {}, "created_at": A_TIME, **more,
    }  # fmt: skip


def add(database: Database, *made: dict[str, Any]) -> None:
    database.run_in_writer(compute_nodes.add, made)


def test_a_node_comes_back_as_it_was_added(database: Database) -> None:
    """JSON values and all, ordered by host."""
    attributes = {"free_ram_mb": 2**40, "stats": {"a": [1, None]}, "host_ip": "::1"}
    add(database, values("b"), values("a", attributes=attributes, traits=["HW_CPU_X86_AVX"]))
    first, second = database.read(compute_nodes.list_all, cell_uuid=None)
    assert (first.host, second.host) == ("a", "b")
    assert first.attributes == {**attributes, "num_instances": 0}
    assert first.traits == ["HW_CPU_X86_AVX"]


def test_living_instances_are_counted_on_their_node(database: Database) -> None:
    """Deleted ones and those without a host do not count."""
    add(database, values("a"), values("b"))
    on_a = {"host": "a", "node": "a.example.org"}
    gone = an_instance(**on_a)
    made = [an_instance(**on_a), an_instance(**on_a), gone, an_instance(host=None, node=None)]
    database.run_in_writer(instances.insert, made, now=A_TIME)
    database.run_in_writer(instances.delete_all, [gone.uuid], now=A_TIME)
    nodes = database.read(compute_nodes.list_all, cell_uuid=None)
    assert [node.attributes["num_instances"] for node in nodes] == [2, 0]


def test_uuids_are_listed_by_host(database: Database) -> None:
    """A host may have several nodes."""
    second = node_uuid("second of b")
    add(database, values("b"), values("a"), values("b", uuid=second, node="second"))
    found = database.read(compute_nodes.uuids_by_host)
    assert found == {"a": [node_uuid("a")], "b": sorted([node_uuid("b"), second])}


def test_columns_are_set_by_uuid(database: Database) -> None:
    """Many nodes, each its own values; the others stay."""
    add(database, values("a"), values("b"), values("c"))
    changes = [{"uuid": node_uuid("a"), "seq": 5}, {"uuid": node_uuid("b"), "seq": 6}]
    database.run_in_writer(compute_nodes.update, changes)
    found = database.read(compute_nodes.find_known, [node_uuid("a"), node_uuid("b")], ["c"])
    assert {row.host: row.seq for row in found} == {"a": 5, "b": 6, "c": 1}


def test_changes_after_a_number_are_listed_in_order(database: Database) -> None:
    """Above the one, up to the other."""
    add(database, *(values(host, seq=seq) for host, seq in zip("abcd", (4, 1, 3, 2), strict=True)))
    with database.reader() as session:
        changed = compute_nodes.list_changed(session, after_seq=1, up_to_seq=3)
        nth = [compute_nodes.seq_of_nth_change(session, after_seq=1, nth=n) for n in (1, 3, 4)]
    assert [row.host for row in changed] == ["d", "c"]
    assert nth == [2, 4, None]


def test_unconfirmed_nodes_are_those_whose_digests_differ(database: Database) -> None:
    """Never confirmed, or confirmed for something else."""
    add(database, values("a"))
    add(database, values("b", confirmed_digest="wanted"))
    add(database, values("c", confirmed_digest="former"))
    with database.reader() as session:
        found = compute_nodes.list_unconfirmed(session, limit=10)
        assert [row.host for row in found] == ["a", "c"]
        assert len(compute_nodes.list_unconfirmed(session, limit=1)) == 1


def test_a_removed_node_is_remembered_until_it_is_back(database: Database) -> None:
    """With the number of its removal; removing what has no node takes no number."""
    add(database, values("a"), values("b"))
    removed = database.run_in_writer(compute_nodes.remove_of_host, "a", now=A_TIME)
    assert removed == [node_uuid("a")]
    assert database.run_in_writer(compute_nodes.remove_of_host, "nowhere", now=A_TIME) == []
    with database.reader() as session:
        current = host_seq.current(session)
        bounds = {"after_seq": current - 1, "up_to_seq": current}
        assert compute_nodes.list_removed(session, **bounds) == [node_uuid("a")]
    add(database, values("a"))
    with database.reader() as session:
        assert compute_nodes.list_removed(session, **bounds) == []
        assert [row.host for row in compute_nodes.list_on_hosts(session, ["a"])] == ["a"]
