"""The candidates engine: who fits, in which order, and what ruled out the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.candidates import find_candidates
from placement.inventory import Inventory
from placement.provider_table import ProviderChanges, ProviderTable
from placement.query import Group, Query

AGGREGATE = "c0ffee00-0000-4000-8000-00000000000a"


def an_inventory(total: int = 8, **values: Any) -> Inventory:
    figures = {"reserved": 0, "min_unit": 1, "max_unit": total, "step_size": 1}
    return Inventory(**{"total": total, "allocation_ratio": 1.0, **figures, **values})


def a_table(*inventories: dict[str, Inventory], **changes: Any) -> ProviderTable:
    """Return a table of providers named a, b, c, with these inventories."""
    table = ProviderTable()
    by_class: dict[str, list[tuple[int, Inventory]]] = {}
    for number, provider in enumerate(inventories):
        for name, inventory in provider.items():
            by_class.setdefault(name, []).append((number, inventory))
    providers = [(number, "abcdefgh"[number], number) for number in range(len(inventories))]
    table.apply(ProviderChanges(epoch=1, providers=providers, inventories=by_class, **changes))
    return table


def ask(table: ProviderTable, limit: int | None = None, **group: Any) -> Any:
    question = Query(group=Group(**{"resources": {"VCPU": 1}, **group}), limit=limit)
    return find_candidates(table, question, None)


def test_figures_of_the_answer_are_those_before_the_request() -> None:
    """One row a provider, one column a class, in the order of the question."""
    table = a_table(
        {"VCPU": an_inventory(8, reserved=1, allocation_ratio=2.0), "DISK_GB": an_inventory(50)},
        usages={"VCPU": [(0, 3)]},
    )
    answer = ask(table, resources={"DISK_GB": 5, "VCPU": 2})
    assert answer.to_plain() | {"provider_uuids": answer.provider_uuids} == answer.to_plain() | {
        "provider_uuids": ["a"]
    }
    assert answer.resource_classes == ["DISK_GB", "VCPU"]
    assert answer.amounts.tolist() == [5, 2]
    assert answer.total.tolist() == [[50, 8]]
    assert answer.reserved.tolist() == [[0, 1]]
    assert answer.used.tolist() == [[0, 3]]
    assert answer.ratio.tolist() == [[1.0, 2.0]]


def test_an_answer_without_candidates_has_columns_of_no_rows() -> None:
    """Whoever reads it needs no special case."""
    answer = ask(a_table({"VCPU": an_inventory(1)}), resources={"VCPU": 2, "DISK_GB": 1})
    assert (answer.provider_uuids, answer.total.shape, answer.ratio.shape) == ([], (0, 2), (0, 2))


def test_each_provider_is_counted_at_the_first_rule_it_fails() -> None:
    """Counts and candidates add up to the fleet."""
    table = a_table(
        *[{"VCPU": an_inventory(total)} for total in (2, 4, 8, 8, 8, 8)],
        {},
        traits={"CUSTOM_A": [0, 1, 2, 3], "CUSTOM_BAD": [0, 3]},
        aggregates={AGGREGATE: [0, 1, 2, 3, 4]},
    )
    answer = ask(
        table,
        resources={"VCPU": 6},
        member_of=((AGGREGATE,),),
        required_traits=(("CUSTOM_A",),),
        forbidden_traits=("CUSTOM_BAD",),
    )
    assert answer.provider_uuids == ["c"]
    assert answer.providers_total == 6
    assert answer.ruled_out == [
        {"kind": "member_of", "name": AGGREGATE, "count": 1},
        {"kind": "trait", "name": "CUSTOM_A", "count": 1},
        {"kind": "forbidden_trait", "name": "CUSTOM_BAD", "count": 2},
        {"kind": "resource", "name": "VCPU", "count": 1, "asked": 6, "best": 4},
    ]


@pytest.mark.parametrize(
    ("inventory", "used", "asked", "entry"),
    [
        (an_inventory(8), 5, 4, {"best": 3}),
        (an_inventory(8), 9, 1, {"best": 0}),
        (an_inventory(8, max_unit=2, allocation_ratio=4.0), 0, 4, {"best": 2}),
        (an_inventory(8, min_unit=4), 0, 2, {"best": 8, "rule": "min_unit"}),
        (an_inventory(8, step_size=4), 0, 6, {"best": 8, "rule": "step_size"}),
    ],
    ids=["used", "more than full", "max_unit", "min_unit", "step_size"],
)
def test_a_lack_of_resources_says_what_was_asked_and_what_is_there(
    inventory: Inventory, used: int, asked: int, entry: dict[str, Any]
) -> None:
    """``best`` is the most that one claim could take."""
    table = a_table({"VCPU": inventory}, usages={"VCPU": [(0, used)]})
    expected = {"kind": "resource", "name": "VCPU", "count": 1, "asked": asked, **entry}
    assert ask(table, resources={"VCPU": asked}).ruled_out == [expected]


def test_a_class_that_nobody_has_rules_out_everybody() -> None:
    """The best that anybody has is nothing."""
    answer = ask(a_table({"VCPU": an_inventory()}), resources={"CUSTOM_X": 3})
    assert answer.ruled_out == [
        {"kind": "resource", "name": "CUSTOM_X", "count": 1, "asked": 3, "best": 0}
    ]


@pytest.mark.parametrize(
    ("group", "fits"),
    [
        ({"required_traits": (("CUSTOM_A",),)}, ["a", "b"]),
        ({"required_traits": (("CUSTOM_A",), ("CUSTOM_B",))}, ["b"]),
        ({"required_traits": (("CUSTOM_A", "CUSTOM_B"),)}, ["a", "b", "c"]),
        ({"forbidden_traits": ("CUSTOM_A", "CUSTOM_B")}, ["d"]),
        ({"member_of": ((AGGREGATE,),)}, ["c", "d"]),
        ({"member_of": ((AGGREGATE,), ("other",))}, ["d"]),
        ({"member_of": ((AGGREGATE, "other"),)}, ["a", "c", "d"]),
        ({"forbidden_aggregates": (AGGREGATE,)}, ["a", "b"]),
        ({"in_tree": "b"}, ["b"]),
        ({"in_tree": "unknown"}, []),
    ],
    ids=str,
)
def test_qualities_and_places_narrow_the_answer(group: dict[str, Any], fits: list[str]) -> None:
    """Lists are ANDed, what is within one is ORed."""
    table = a_table(
        *[{"VCPU": an_inventory()}] * 4,
        traits={"CUSTOM_A": [0, 1], "CUSTOM_B": [1, 2]},
        aggregates={AGGREGATE: [2, 3], "other": [0, 3]},
    )
    assert ask(table, **group).provider_uuids == fits


def test_a_choice_of_names_is_named_whole() -> None:
    """The reader of a trace sees what would have been enough."""
    answer = ask(a_table({"VCPU": an_inventory()}), required_traits=(("CUSTOM_A", "CUSTOM_B"),))
    assert answer.ruled_out[0]["name"] == "CUSTOM_A or CUSTOM_B"


def test_a_limit_takes_the_first() -> None:
    """Without dice the order is that of the table."""
    answer = ask(a_table(*[{"VCPU": an_inventory()}] * 4), limit=2)
    assert answer.provider_uuids == ["a", "b"]
    assert len(answer.used) == 2


def test_dice_shuffle_and_make_a_limit_a_sample() -> None:
    """Every provider is in some sample, and the columns go with their providers."""
    inventories = [{"VCPU": an_inventory(total)} for total in (1, 2, 3, 4)]
    table = a_table(*inventories)
    seen = set()
    for seed in range(200):
        question = Query(group=Group(resources={"VCPU": 1}), limit=2)
        answer = find_candidates(table, question, np.random.default_rng(seed))
        assert answer.total[:, 0].tolist() == [
            "abcd".index(uuid) + 1 for uuid in answer.provider_uuids
        ]
        seen.add(tuple(answer.provider_uuids))
    assert len(seen) == 12  # every ordered pair


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
    table = a_table({"VCPU": inventory}, usages={"VCPU": [(0, used)]})
    fits = ask(table, resources={"VCPU": amount}).provider_uuids == ["a"]
    assert fits == (inventory.refusal(amount, used) is None)
