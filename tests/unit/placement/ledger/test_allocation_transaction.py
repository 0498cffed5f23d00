"""Allocation transactions: writes of several consumers and inventories, accepted as one."""

from collections.abc import Mapping
from typing import Any

import pytest

from armillary import exception
from placement.ledger.allocation_transaction import (
    UNKNOWN_TYPE,
    AllocationTransaction,
    ConsumerWrite,
    Shape,
)
from placement.ledger.ledger import Account, Holding, Ledger, Provider
from placement.providers.inventory import Inventory

ME, YOU = (f"c0ffee00-0000-4000-8000-00000000000{number}" for number in (1, 2))
P1, P2 = (f"c0ffee00-0000-4000-8000-0000000000f{number}" for number in (1, 2))
NOBODY = "c0ffee00-0000-4000-8000-0000000000ff"


def changed_providers(ledger: Ledger) -> set[str]:
    """Return the providers whose generation was incremented."""
    return {uuid for uuid, provider in ledger.providers.items() if provider.steps}


def an_inventory(total: int, **values: Any) -> Inventory:
    figures = {"reserved": 0, "min_unit": 1, "max_unit": 100, "step_size": 1}
    return Inventory(**{"total": total, **figures, "allocation_ratio": 1.0, **values})


def a_holding(provider: str, vcpus: int, generation: int = 1, **values: Any) -> Holding:
    ids = {"consumer_type": "INSTANCE", "project_id": "p1", "user_id": "u1", **values}
    return Holding(amounts={provider: {"VCPU": vcpus}}, generation=generation, **ids)


def a_ledger(*, total: int = 8, me: Holding | None = None, you: Holding | None = None) -> Ledger:
    """Return a ledger of two consumers and two providers of so many VCPUs."""
    held = {ME: me, YOU: you}
    providers = {}
    for number, uuid in enumerate((P1, P2)):
        used = sum(item.amounts.get(uuid, {}).get("VCPU", 0) for item in held.values() if item)
        accounts = {"VCPU": Account(1, an_inventory(total), used)}
        providers[uuid] = Provider(number, f"host{number + 1}", accounts, generation=5)
    return Ledger(holdings=held, fences={}, providers=providers)


def a_write(consumer: str, provider: str = P1, vcpus: int = 1, **values: Any) -> ConsumerWrite:
    given = {"allocations": {provider: {"VCPU": vcpus}}, "project_id": "p1", "user_id": "u1"}
    return ConsumerWrite(consumer, **{**given, **values})


def settle(
    ledger: Ledger, *writes: ConsumerWrite, shapes: Mapping[str, Shape] | None = None
) -> None:
    AllocationTransaction(ledger, writes, shapes or {}).settle()


def used(ledger: Ledger) -> dict[str, int]:
    return {uuid: item.accounts["VCPU"].used for uuid, item in ledger.providers.items()}


def test_a_new_consumer_is_written() -> None:
    """Its generation is 1, its type that of consumers without one."""
    ledger = a_ledger()
    settle(ledger, a_write(ME, P1, 3, generation=None))
    assert ledger.holdings[ME] == a_holding(P1, 3, consumer_type=UNKNOWN_TYPE)
    assert (used(ledger), changed_providers(ledger)) == ({P1: 3, P2: 0}, {P1})


def test_everything_a_consumer_holds_is_replaced() -> None:
    """What is not named any more is given back."""
    ledger = a_ledger(me=a_holding(P1, 3, generation=4))
    settle(ledger, a_write(ME, P2, 5, generation=4, consumer_type="VM", user_id="u2"))
    assert ledger.holdings[ME] == a_holding(P2, 5, 5, consumer_type="VM", user_id="u2")
    assert used(ledger) == {P1: 0, P2: 5}


def test_nothing_drops_the_consumer() -> None:
    """It is gone, not empty; one that was not there stays away."""
    ledger = a_ledger(me=a_holding(P1, 3))
    settle(ledger, a_write(ME, allocations={}), a_write(YOU, allocations={}, generation=None))
    assert (ledger.holdings[ME], ledger.holdings[YOU], used(ledger)[P1]) == (None, None, 0)
    assert ledger.changed_consumers == {ME}


def test_the_same_again_is_a_new_generation_and_the_same_usage() -> None:
    """Of the consumer, and of the provider."""
    ledger = a_ledger(me=a_holding(P1, 3))
    settle(ledger, a_write(ME, P1, 3, generation=1))
    assert ledger.holdings[ME] == a_holding(P1, 3, 2)
    assert (ledger.changed_accounts, changed_providers(ledger)) == (set(), {P1})


def test_a_provider_that_is_only_given_back_to_keeps_its_generation() -> None:
    """As a consumer's end does over REST: a planner with an old view finds more room."""
    ledger = a_ledger(me=a_holding(P1, 3))
    settle(ledger, a_write(ME, P2, 3))
    assert changed_providers(ledger) == {P2}


@pytest.mark.parametrize(
    ("held", "given", "words"),
    [
        (None, 5, "expected null but got 5"),
        (a_holding(P1, 1, 3), None, "expected 3 but got null"),
        (a_holding(P1, 1, 3), 1, "consumer generation conflict - expected 3 but got 1"),
    ],
    ids=["not there", "there already", "another"],
)
def test_a_generation_must_be_that_of_the_consumer(
    held: Holding | None, given: int | None, words: str
) -> None:
    """The error tells both."""
    ledger = a_ledger(me=held)
    with pytest.raises(exception.ConsumerGenerationConflict, match=words):
        settle(ledger, a_write(ME, generation=given))


def test_stand_ins_are_for_consumers_without_ids() -> None:
    """One that has some keeps them."""
    ledger = a_ledger(me=a_holding(P1, 1))
    stand_ins: dict[str, Any] = {"project_id": "none", "user_id": "none", "is_incomplete": True}
    settle(ledger, a_write(ME, **stand_ins), a_write(YOU, **stand_ins))
    owners = [(item.project_id, item.user_id) for item in ledger.holdings.values() if item]
    assert owners == [("p1", "u1"), ("none", "none")]


def test_what_one_gives_back_another_may_take() -> None:
    """A full provider changes hands in one step, in any order of the consumers."""
    for turn in (1, -1):
        ledger = a_ledger(me=a_holding(P1, 8))
        writes = [a_write(ME, allocations={}), a_write(YOU, P1, 8)][::turn]
        settle(ledger, *writes)
        assert used(ledger) == {P1: 8, P2: 0}


def test_all_or_none() -> None:
    """Two that fit alone do not fit together, and then neither is written."""
    ledger = a_ledger(total=3)
    with pytest.raises(exception.CapacityExceeded, match=r"2 asked, 1 free.*exceed the capacity"):
        settle(ledger, a_write(ME, P1, 2), a_write(YOU, P1, 2))
    assert used(ledger) == {P1: 0, P2: 0}


def test_a_refusal_names_the_facts() -> None:
    """Which provider, which class, how much was asked, how much is free."""
    with pytest.raises(exception.CapacityExceeded) as refusal:
        settle(a_ledger(you=a_holding(P1, 6)), a_write(ME, P1, 3))
    facts = {"provider": P1, "resource_class": "VCPU", "asked": 3, "free": 2}
    assert facts.items() <= refusal.value.kwargs.items()


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"min_unit": 4}, "less than min_unit 4"),
        ({"max_unit": 2}, "more than max_unit 2"),
        ({"step_size": 2}, "not a multiple of step_size 2"),
    ],
    ids=["too small", "too big", "odd"],
)
def test_each_amount_keeps_to_the_portions(figures: dict[str, int], words: str) -> None:
    """Also one that was there before them."""
    ledger = a_ledger(me=a_holding(P1, 3))
    ledger.providers[P1].accounts["VCPU"].inventory = an_inventory(8, **figures)
    with pytest.raises(exception.CapacityExceeded, match=words):
        settle(ledger, a_write(ME, P1, 3))


@pytest.mark.parametrize(("vcpus", "fits"), [(5, True), (6, True), (7, False)])
def test_an_overcommitted_provider_is_given_back_to_not_taken_from(vcpus: int, fits: bool) -> None:
    """Its owner made it smaller than what is held: 6 and 4 of 8."""
    ledger = a_ledger(me=a_holding(P1, 6), you=a_holding(P1, 4))
    write = a_write(ME, P1, vcpus)
    if fits:
        settle(ledger, write)
        assert used(ledger)[P1] == vcpus + 4
    else:
        with pytest.raises(exception.CapacityExceeded, match="7 asked, 4 free"):
            settle(ledger, write)


def test_names_that_nothing_has() -> None:
    """No provider, no such class, and nothing of a class that there is: three errors."""
    ledger = a_ledger()
    ledger.classes = frozenset({"CUSTOM_GOLD"})
    with pytest.raises(exception.ResourceProviderNotFound, match=NOBODY):
        settle(ledger, a_write(ME, NOBODY))
    for name in ("CUSTOM_PONY", "COWS"):
        with pytest.raises(exception.ResourceClassNotFound, match=name):
            settle(ledger, a_write(ME, allocations={P1: {name: 1}}))
    for name in ("CUSTOM_GOLD", "DISK_GB"):
        with pytest.raises(exception.NothingToAllocate, match=f"Inventory for '{name}' on"):
            settle(ledger, a_write(ME, allocations={P1: {name: 1}}))


def test_a_reshape_moves_inventory_and_what_was_taken_of_it() -> None:
    """Generations rise by two, by one if nothing is left, by one more where something is taken."""
    ledger = a_ledger(me=a_holding(P1, 6))
    ledger.providers[P2].accounts.clear()
    shapes = {P1: Shape(5, {}), P2: Shape(5, {"VCPU": an_inventory(6)})}
    settle(ledger, a_write(ME, P2, 6, generation=1), shapes=shapes)
    first, second = ledger.providers[P1], ledger.providers[P2]
    assert (first.accounts, second.accounts["VCPU"].used) == ({}, 6)
    assert (first.generation, second.generation) == (6, 8)
    assert (first.stored_inventories, second.stored_inventories) == ({"VCPU": an_inventory(8)}, {})


def test_a_reshape_needs_the_generations_of_its_providers() -> None:
    """Of each of them; the error tells both."""
    with pytest.raises(exception.ResourceProviderGenerationConflict, match="actual: 5, given: 4"):
        settle(a_ledger(), shapes={P1: Shape(4, {})})


def test_what_is_still_held_cannot_be_reshaped_away() -> None:
    """A consumer that is not part of it holds some."""
    ledger = a_ledger(me=a_holding(P1, 3), you=a_holding(P1, 1))
    with pytest.raises(exception.InventoryInUse, match=P1):
        settle(ledger, a_write(ME, P2, 3), shapes={P1: Shape(5, {})})
    assert used(ledger) == {P1: 4, P2: 0}


def test_a_reshape_is_checked_by_what_it_brings() -> None:
    """Less than was there, or an unknown class."""
    ledger = a_ledger(me=a_holding(P1, 3))
    with pytest.raises(exception.CapacityExceeded, match="1 asked, 0 free"):
        settle(ledger, a_write(YOU, P1, 1), shapes={P1: Shape(5, {"VCPU": an_inventory(2)})})
    with pytest.raises(exception.ResourceClassNotFound, match="DISK_OF_STEEL"):
        settle(ledger, shapes={P1: Shape(5, {"DISK_OF_STEEL": an_inventory(2)})})


def test_inventory_may_shrink_below_what_is_held() -> None:
    """No consumer is thrown out."""
    ledger = a_ledger(me=a_holding(P1, 3))
    settle(ledger, shapes={P1: Shape(5, {"VCPU": an_inventory(2)})})
    assert ledger.providers[P1].accounts["VCPU"] == Account(1, an_inventory(2), 3)
