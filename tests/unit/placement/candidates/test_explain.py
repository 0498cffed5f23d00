"""Why not: parts, counts and nearest misses over small tables."""

from typing import Any

from objects.traces.explanation import CandidatesExplanation, Lack, Rejection
from placement.candidates.explain import NEAREST_MAX, explain
from placement.candidates.query import Group, Query
from tests.fixtures.placement.provider_tables import TableBuilder


def ask(builder: TableBuilder, *groups: Group, **query: Any) -> CandidatesExplanation:
    return explain(builder.table(), Query(groups, **query))


def uuids_of(builder: TableBuilder, *providers: int) -> list[str]:
    return builder.table().uuids[[*providers]].tolist()


def test_every_part_is_counted_alone() -> None:
    """And in turn, where each host is counted once."""
    builder = TableBuilder()
    builder.add({"VCPU": 2})
    builder.add({"VCPU": 2})
    builder.add({"VCPU": 8})
    builder.add({"VCPU": 4}, traits=("CUSTOM_FAST",))
    found = ask(builder, Group({"VCPU": 6}, required_traits=(("CUSTOM_FAST",),)))
    assert (found.providers_total, found.providers_left, found.has_candidates) == (4, 0, False)
    assert found.groups[0].parts == [
        Rejection("trait", "CUSTOM_FAST", 3),
        Rejection("resource", "VCPU", 3, asked=6, best=8),
    ]
    assert [(each.kind, each.count) for each in found.ruled_out] == [("trait", 3), ("resource", 1)]


def test_the_nearest_lack_the_fewest_parts_and_then_the_least() -> None:
    """With what is short."""
    builder = TableBuilder()
    builder.add({"VCPU": 1})
    near = builder.add({"VCPU": 5, "VGPU": 1})
    nearest = builder.add({"VCPU": 8}, used={"VCPU": 3}, traits=("CUSTOM_FAST",))
    asked = Group({"VCPU": 6}, required_traits=(("CUSTOM_FAST",),))
    misses = ask(builder, asked).groups[0].nearest
    assert [miss.provider.uuid for miss in misses] == uuids_of(builder, nearest, near, 0)
    lack = Lack("resource", "VCPU", asked=6, free=5, short=1)
    assert misses[0].lacks == [lack]
    assert misses[1].lacks == [Lack("trait", "CUSTOM_FAST"), lack]


def test_not_more_misses_are_named_than_one_can_read() -> None:
    """However many there are."""
    builder = TableBuilder()
    for _ in range(9):
        builder.add({"VCPU": 1})
    assert len(ask(builder, Group({"VCPU": 2})).groups[0].nearest) == NEAREST_MAX


def test_an_amount_that_is_not_a_multiple_names_the_rule() -> None:
    """More of it would not help."""
    builder = TableBuilder()
    builder.add({"VCPU": 8})
    table = builder.table()
    table.columns_of("VCPU").step_size[0] = 4
    found = explain(table, Query((Group({"VCPU": 6}),)))
    lack = Lack("resource", "VCPU", asked=6, free=4, rule="step_size")
    assert found.groups[0].nearest[0].lacks == [lack]
    parts = found.groups[0].parts
    assert [(part.rule, part.count) for part in parts] == [("step_size", 1), (None, 0)]


def test_a_child_without_the_class_does_not_hide_the_rule() -> None:
    """It passes every rule but that of free capacity, which its host passes."""
    builder = TableBuilder()
    host = builder.add({"VCPU": 8})
    builder.add({"VGPU": 1}, parent=host)
    table = builder.table()
    table.columns_of("VCPU").step_size[host] = 4
    (group,) = explain(table, Query((Group({"VCPU": 6}),))).groups
    assert [(part.rule, part.count) for part in group.parts] == [("step_size", 1), (None, 0)]
    lack = Lack("resource", "VCPU", asked=6, free=4, rule="step_size")
    assert [miss.lacks for miss in group.nearest] == [[lack]]


def test_of_two_providers_that_pass_one_rule_each_none_serves() -> None:
    """Their host then lacks free capacity."""
    builder = TableBuilder()
    host = builder.add({"DISK_GB": 8}, used={"DISK_GB": 8})
    child = builder.add({"DISK_GB": 8}, parent=host)
    table = builder.table()
    table.columns_of("DISK_GB").step_size[child] = 4
    (group,) = explain(table, Query((Group({"DISK_GB": 6}),))).groups
    assert [(part.rule, part.count) for part in group.parts] == [(None, 1)]


def test_a_tree_counts_as_one_and_has_what_its_children_have() -> None:
    """The group without suffix is served by a tree, one with a suffix by one provider of it."""
    builder = TableBuilder()
    host = builder.add({"VCPU": 8})
    device = builder.add({"VGPU": 1}, parent=host)
    builder.add({"VCPU": 8})
    found = ask(builder, Group({"VCPU": 1, "VGPU": 2}), Group({"VGPU": 3}, suffix="_GPU"))
    assert found.providers_total == 2
    unsuffixed, suffixed = found.groups
    assert [part.count for part in unsuffixed.parts] == [0, 2]
    near, part = unsuffixed.nearest[0].provider, suffixed.nearest[0].provider
    assert [near.uuid, part.uuid] == uuids_of(builder, host, device)
    assert near.root_provider_uuid == part.root_provider_uuid == near.uuid
    assert suffixed.nearest[0].lacks[0].short == 2


def test_what_is_lent_counts_as_the_hosts_own() -> None:
    """By a provider that shares, in a common aggregate."""
    builder = TableBuilder()
    near = builder.add({"VCPU": 8}, aggregates=("a",))
    builder.add({"DISK_GB": 50}, traits=("MISC_SHARES_VIA_AGGREGATE",), aggregates=("a",))
    builder.add({"VCPU": 8})
    miss = ask(builder, Group({"VCPU": 1, "DISK_GB": 60})).groups[0].nearest[0]
    assert [miss.provider.uuid] == uuids_of(builder, near)
    assert miss.lacks[0].short == 10


def test_traits_of_the_root_are_parts_of_their_own() -> None:
    """They belong to no group."""
    builder = TableBuilder()
    builder.add({"VCPU": 8}, traits=("CUSTOM_GOLD",))
    found = ask(
        builder, Group({"VCPU": 1}), root_required=("CUSTOM_FAST",), root_forbidden=("CUSTOM_GOLD",)
    )
    assert found.root == [
        Rejection("trait", "CUSTOM_FAST", 1),
        Rejection("forbidden_trait", "CUSTOM_GOLD", 1),
    ]


def test_a_question_with_an_answer_has_providers_left() -> None:
    """Its misses are of those that are not among them."""
    builder = TableBuilder()
    builder.add({"VCPU": 8})
    miss = builder.add({"VCPU": 1})
    found = ask(builder, Group({"VCPU": 2}))
    assert (found.providers_left, found.has_candidates) == (1, True)
    assert [each.provider.uuid for each in found.groups[0].nearest] == uuids_of(builder, miss)
