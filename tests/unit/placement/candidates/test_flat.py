"""Candidates of plain providers: who fits, in which order, and what ruled out the others."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from objects.traces.explanation import Rejection
from placement.candidates import find_candidates
from placement.candidates.query import Group, Query
from placement.candidates.result import Found
from placement.candidates.strategy import DEFAULT, Strategy
from placement.providers.inventory import Inventory
from placement.providers.provider_table import ProviderTable
from tests.fixtures.placement.placement_scenes import Scene, uuid_of
from tests.fixtures.placement.placement_tables import a_table, names_of

NAMES = "abcdefgh"


def a_scene(*inventories: dict[str, Any], used: dict[str, int] | None = None) -> Scene:
    """Return providers named a, b, c, with these inventories; the first has some usage."""
    scene = Scene()
    for name, given_inventories in zip(NAMES, inventories, strict=False):
        scene.add(name, given_inventories)
    scene[uuid_of("a")].used.update(used or {})
    return scene


def give(scene: Scene, *, traits: dict[str, str] | None = None, **aggregates: str) -> None:
    """Give traits, and aggregates, to providers that are named by their letters."""
    for trait, names in (traits or {}).items():
        for name in names:
            scene[uuid_of(name)].traits.add(trait)
    for aggregate, names in aggregates.items():
        for name in names:
            scene[uuid_of(name)].aggregates.add(aggregate)


def ask(scene: Scene, strategy: Strategy = DEFAULT, **values: Any) -> Found:
    """Ask for one vCPU, or for what the values say."""
    limit = values.pop("limit", None)
    query = Query((Group(**{"resources": {"VCPU": 1}, **values}),), limit=limit)
    return find_candidates(a_table(scene), query, strategy)


def fits(scene: Scene, **values: Any) -> str:
    """Return the letters of the providers that fit."""
    table = a_table(scene)
    query = Query((Group(**{"resources": {"VCPU": 1}, **values}),))
    return "".join(names_of(scene, table, find_candidates(table, query)))


def letter_of(uuid: str) -> str:
    return next(name for name in NAMES if uuid_of(name) == uuid)


def test_all_candidates_of_plain_providers_are_one_batch() -> None:
    """One template, and an array of rows."""
    (batch,) = ask(
        a_scene(*[{"VCPU": 8, "DISK_GB": 50}] * 3), resources={"VCPU": 2, "DISK_GB": 5}
    ).batches
    assert batch.resources == ({"VCPU": 2, "DISK_GB": 5},)
    assert batch.mappings == {"": (0,)}
    assert batch.providers.shape == (3, 1)
    assert batch.anchors.tolist() == batch.providers[:, 0].tolist()


def test_several_groups_are_served_by_one_provider_together() -> None:
    """Its room must be enough for the sum, and for each of them."""
    scene = a_scene({"VCPU": 4}, {"VCPU": 3}, {"VCPU": {"total": 8, "max_unit": 3}})
    groups = (Group({"VCPU": 2}), Group({"VCPU": 1}, suffix="1"), Group({"VCPU": 1}, suffix="2"))
    found = find_candidates(a_table(scene), Query(groups))
    (batch,) = found.batches
    assert found.count == 1
    assert batch.resources == ({"VCPU": 4},)
    assert batch.mappings == {"": (0,), "1": (0,), "2": (0,)}
    assert found.ruled_out == [
        Rejection("resource", "VCPU", 1, asked=4, best=3, rule="max_unit"),
        Rejection("resource", "VCPU", 1, asked=4, best=3),
    ]


def test_isolated_groups_find_no_plain_provider() -> None:
    """There are no two of them in a tree."""
    groups = (Group({"VCPU": 1}, suffix="1"), Group({"VCPU": 1}, suffix="2"))
    found = find_candidates(a_table(a_scene({"VCPU": 4})), Query(groups, is_isolated=True))
    assert found.count == 0
    assert found.ruled_out == [Rejection("group_policy", "isolate", 1)]


def test_traits_of_the_root_are_those_of_the_provider() -> None:
    """A plain provider is its own root."""
    scene = a_scene(*[{"VCPU": 4}] * 3)
    give(scene, traits={"CUSTOM_A": "ab", "CUSTOM_B": "b"})
    query = Query((Group({"VCPU": 1}),), root_required=("CUSTOM_A",), root_forbidden=("CUSTOM_B",))
    table = a_table(scene)
    found = find_candidates(table, query)
    assert names_of(scene, table, found) == ["a"]
    assert [entry.kind for entry in found.ruled_out] == ["trait", "forbidden_trait"]


def test_a_provider_with_an_excluded_resource_is_left_out() -> None:
    """Also when all of it is used."""
    scene = a_scene({"VCPU": 4}, {"VCPU": 4, "PCPU": 4})
    table = a_table(scene)
    found = find_candidates(table, Query((Group({"VCPU": 1}),), without_resources=("PCPU",)))
    assert names_of(scene, table, found) == ["a"]
    assert found.ruled_out == [Rejection("forbidden_resource", "PCPU", 1)]


def test_each_provider_is_counted_at_the_first_rule_it_fails() -> None:
    """Counts and candidates add up to the fleet."""
    scene = a_scene(*[{"VCPU": total} for total in (2, 4, 8, 8, 8, 8)], {})
    give(scene, traits={"CUSTOM_A": "abcd", "CUSTOM_BAD": "ad"}, ssd="abcde")
    found = ask(
        scene,
        resources={"VCPU": 6},
        member_of=(("ssd",),),
        required_traits=(("CUSTOM_A",),),
        forbidden_traits=("CUSTOM_BAD",),
    )
    assert (found.count, found.providers_total) == (1, 6)
    assert found.ruled_out == [
        Rejection("member_of", "ssd", 1),
        Rejection("trait", "CUSTOM_A", 1),
        Rejection("forbidden_trait", "CUSTOM_BAD", 2),
        Rejection("resource", "VCPU", 1, asked=6, best=4),
    ]
    samples = [[*map(letter_of, entry.providers or ())] for entry in found.ruled_out]
    assert samples == [["f"], ["e"], ["a", "d"], ["b"]]


@pytest.mark.parametrize(
    ("inventory", "used", "asked", "entry"),
    [
        ({"total": 8}, 5, 4, {"best": 3}),
        ({"total": 8}, 9, 1, {"best": 0}),
        (
            {"total": 8, "max_unit": 2, "allocation_ratio": 4.0},
            0,
            4,
            {"best": 2, "rule": "max_unit"},
        ),
        ({"total": 8, "max_unit": 2}, 7, 4, {"best": 1}),
        ({"total": 8, "min_unit": 4}, 0, 2, {"best": 4, "rule": "min_unit"}),
        ({"total": 8, "step_size": 4}, 0, 6, {"best": 4, "rule": "step_size"}),
    ],
    ids=["used", "more than full", "max_unit", "less than max_unit", "min_unit", "step_size"],
)
def test_a_lack_of_resources_says_what_was_asked_and_what_is_there(
    inventory: dict[str, Any], used: int, asked: int, entry: dict[str, Any]
) -> None:
    """``best`` is what is free, or the value of the tighter rule."""
    scene = a_scene({"VCPU": inventory}, used={"VCPU": used})
    expected = Rejection("resource", "VCPU", 1, asked=asked, **entry)
    assert ask(scene, resources={"VCPU": asked}).ruled_out == [expected]


def test_a_class_that_no_provider_has_rules_out_all() -> None:
    """The best that anybody has is nothing."""
    assert ask(a_scene({"VCPU": 8}), resources={"CUSTOM_X": 3}).ruled_out == [
        Rejection("resource", "CUSTOM_X", 1, asked=3, best=0)
    ]


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ({"required_traits": (("CUSTOM_A",),)}, "ab"),
        ({"required_traits": (("CUSTOM_A",), ("CUSTOM_B",))}, "b"),
        ({"required_traits": (("CUSTOM_A", "CUSTOM_B"),)}, "abc"),
        ({"forbidden_traits": ("CUSTOM_A", "CUSTOM_B")}, "d"),
        ({"member_of": (("ssd",),)}, "cd"),
        ({"member_of": (("ssd",), ("other",))}, "d"),
        ({"member_of": (("ssd", "other"),)}, "acd"),
        ({"forbidden_aggregates": ("ssd",)}, "ab"),
        ({"in_tree": uuid_of("b")}, "b"),
        ({"in_tree": "unknown"}, ""),
    ],
    ids=str,
)
def test_qualities_and_places_narrow_the_answer(group: dict[str, Any], expected: str) -> None:
    """Lists are ANDed, what is within one is ORed."""
    scene = a_scene(*[{"VCPU": 8}] * 4)
    give(scene, traits={"CUSTOM_A": "ab", "CUSTOM_B": "bc"}, ssd="cd", other="ad")
    assert fits(scene, **group) == expected


def test_a_choice_of_names_is_named_whole() -> None:
    """The reader of a trace sees what would have been enough."""
    found = ask(a_scene({"VCPU": 8}), required_traits=(("CUSTOM_A", "CUSTOM_B"),))
    assert found.ruled_out[0].name == "CUSTOM_A or CUSTOM_B"


@pytest.mark.parametrize(
    ("limit", "most", "expected"), [(2, None, 2), (None, 3, 3), (2, 1, 1), (9, 9, 4)], ids=str
)
def test_a_limit_takes_the_first(limit: int | None, most: int | None, expected: int) -> None:
    """The lower one of what is asked and what is allowed; in the table's order, unless random."""
    found = ask(a_scene(*[{"VCPU": 8}] * 4), Strategy(candidates_max=most), limit=limit)
    assert found.batches[0].anchors.tolist() == [*range(expected)]


def test_a_random_source_shuffles_and_makes_a_limit_a_sample() -> None:
    """Every provider is in some sample, in any order."""
    scene = a_scene(*[{"VCPU": 8}] * 4)
    seen = set()
    for seed in range(200):
        found = ask(scene, Strategy(rng=np.random.default_rng(seed)), limit=2)
        seen.add(tuple(found.batches[0].anchors.tolist()))
    assert len(seen) == 12  # every ordered pair


def test_an_empty_table_has_no_candidates() -> None:
    """Nor does it fail."""
    found = find_candidates(ProviderTable(), Query((Group({"VCPU": 1}),)))
    assert (found.count, found.providers_total, found.ruled_out) == (0, 0, [])


@given(
    inventory=st.builds(
        Inventory,
        total=st.integers(1, 50),
        reserved=st.integers(0, 1),
        min_unit=st.integers(1, 5),
        max_unit=st.integers(1, 50),
        step_size=st.integers(1, 4),
        allocation_ratio=st.sampled_from([0.1, 0.7, 1.0, 1.3, 16.0]),
    ),
    used=st.integers(0, 60),
    amount=st.integers(1, 60),
)
def test_a_column_says_the_same_as_the_rule_of_a_claim(
    inventory: Inventory, used: int, amount: int
) -> None:
    """Candidates and claims agree on every amount."""
    scene = a_scene({"VCPU": inventory.to_plain()}, used={"VCPU": used})
    is_candidate = ask(scene, resources={"VCPU": amount}).count == 1
    assert is_candidate == (inventory.refusal(amount, used) is None)
