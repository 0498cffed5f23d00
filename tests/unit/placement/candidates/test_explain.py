"""Why not: parts, counts and nearest misses over small tables."""

from __future__ import annotations

from typing import Any

from placement.candidates.explain import NEAREST_MAX, Explanation, explain
from placement.candidates.query import Group, Query
from tests.fixtures.provider_tables import TableBuilder


def ask(builder: TableBuilder, *groups: Group, **query: Any) -> Explanation:
    return explain(builder.table(), Query(groups, **query))


def test_every_part_is_counted_alone() -> None:
    """And in turn, where each host is counted once."""
    builder = TableBuilder()
    builder.add({"VCPU": 2})
    builder.add({"VCPU": 2})
    builder.add({"VCPU": 8})
    builder.add({"VCPU": 4}, traits=("CUSTOM_FAST",))
    found = ask(builder, Group({"VCPU": 6}, required_traits=(("CUSTOM_FAST",),)))
    assert (found.hosts_total, found.hosts_left, found.has_candidates) == (4, 0, False)
    assert found.groups[0].parts == [
        {"kind": "trait", "name": "CUSTOM_FAST", "count": 3},
        {"kind": "resource", "name": "VCPU", "count": 3, "asked": 6, "best": 8},
    ]
    assert [(each["kind"], each["count"]) for each in found.ruled_out] == [
        ("trait", 3),
        ("resource", 1),
    ]


def test_the_nearest_lack_the_fewest_parts_and_then_the_least() -> None:
    """With what is short."""
    builder = TableBuilder()
    builder.add({"VCPU": 1})
    near = builder.add({"VCPU": 5, "VGPU": 1})
    nearest = builder.add({"VCPU": 8}, used={"VCPU": 3}, traits=("CUSTOM_FAST",))
    asked = Group({"VCPU": 6}, required_traits=(("CUSTOM_FAST",),))
    misses = ask(builder, asked).groups[0].nearest
    assert [miss.row for miss in misses] == [nearest, near, 0]
    lack = {"kind": "resource", "name": "VCPU", "asked": 6, "free": 5, "short": 1}
    assert misses[0].lacks == [lack]
    assert misses[1].lacks == [{"kind": "trait", "name": "CUSTOM_FAST"}, lack]


def test_not_more_misses_are_named_than_one_can_read() -> None:
    """However many there are."""
    builder = TableBuilder()
    for _ in range(9):
        builder.add({"VCPU": 1})
    assert len(ask(builder, Group({"VCPU": 2})).groups[0].nearest) == NEAREST_MAX


def test_an_amount_that_is_no_multiple_names_the_rule() -> None:
    """More of it would not help."""
    builder = TableBuilder()
    builder.add({"VCPU": 8})
    table = builder.table()
    table.columns_of("VCPU").step_size[0] = 4
    found = explain(table, Query((Group({"VCPU": 6}),)))
    lack = {"kind": "resource", "name": "VCPU", "asked": 6, "free": 8, "rule": "step_size"}
    assert found.groups[0].nearest[0].lacks == [lack]
    parts = found.groups[0].parts
    assert [(part.get("rule"), part["count"]) for part in parts] == [("step_size", 1), (None, 0)]


def test_a_tree_counts_as_one_and_has_what_its_children_have() -> None:
    """The group without suffix is served by a tree, one with a suffix by one provider of it."""
    builder = TableBuilder()
    host = builder.add({"VCPU": 8})
    device = builder.add({"VGPU": 1}, parent=host)
    builder.add({"VCPU": 8})
    found = ask(builder, Group({"VCPU": 1, "VGPU": 2}), Group({"VGPU": 3}, suffix="_GPU"))
    assert found.hosts_total == 2
    unsuffixed, suffixed = found.groups
    assert [part["count"] for part in unsuffixed.parts] == [0, 2]
    assert unsuffixed.nearest[0].row == host
    assert suffixed.nearest[0].row == device
    assert suffixed.nearest[0].lacks[0]["short"] == 2


def test_what_is_lent_counts_as_the_hosts_own() -> None:
    """By a provider that shares, in a common aggregate."""
    builder = TableBuilder()
    near = builder.add({"VCPU": 8}, aggregates=("a",))
    builder.add({"DISK_GB": 50}, traits=("MISC_SHARES_VIA_AGGREGATE",), aggregates=("a",))
    builder.add({"VCPU": 8})
    miss = ask(builder, Group({"VCPU": 1, "DISK_GB": 60})).groups[0].nearest[0]
    assert (miss.row, miss.lacks[0]["short"]) == (near, 10)


def test_traits_of_the_root_are_parts_of_their_own() -> None:
    """They belong to no group."""
    builder = TableBuilder()
    builder.add({"VCPU": 8}, traits=("CUSTOM_GOLD",))
    found = ask(
        builder,
        Group({"VCPU": 1}),
        root_required=("CUSTOM_FAST",),
        root_forbidden=("CUSTOM_GOLD",),
    )
    assert found.root == [
        {"kind": "trait", "name": "CUSTOM_FAST", "count": 1},
        {"kind": "forbidden_trait", "name": "CUSTOM_GOLD", "count": 1},
    ]


def test_a_question_with_an_answer_has_hosts_left() -> None:
    """Its misses are of those that are not among them."""
    builder = TableBuilder()
    builder.add({"VCPU": 8})
    miss = builder.add({"VCPU": 1})
    found = ask(builder, Group({"VCPU": 2}))
    assert (found.hosts_left, found.has_candidates) == (1, True)
    assert [each.row for each in found.groups[0].nearest] == [miss]
