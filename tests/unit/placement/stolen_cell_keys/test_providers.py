"""Providers of a cell, attacked with the key of another cell's conductor."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from placement.providers.sharing import SHARING_TRAIT
from tests.builders import a_uuid
from tests.unit.placement.stolen_cell_keys.attacked_placement import (
    CELLS,
    CONTEXT,
    SignedPlacement,
    a_provider,
    claim,
    register,
    rewritten,
)


def test_a_stolen_cell_key_rewrites_no_provider_of_another_cell(
    signed: SignedPlacement, provider: str, own: str, unharmed: Callable[[], None]
) -> None:
    """The others of the same report are stored, and it learns nothing of the one refused."""
    unharmed()
    reports = [a_provider(own), rewritten(provider, traits=["HW_NUMA_ROOT"])]
    stored, refused = signed.thief.set_providers(CONTEXT, reports)
    assert stored.error is None
    assert "belongs to another cell" in str(refused.error)
    assert (refused.generation, refused.inventories) == (None, {})


def test_a_stolen_cell_key_learns_nothing_of_a_provider_in_use(
    signed: SignedPlacement, provider: str, consumer: str, unharmed: Callable[[], None]
) -> None:
    """A report without a class that is in use is refused for its sender first."""
    assert consumer
    unharmed()
    (result,) = signed.thief.set_providers(CONTEXT, [rewritten(provider, inventories={})])
    assert "belongs to another cell" in str(result.error)
    assert (result.generation, result.inventories) == (None, {})


@pytest.mark.parametrize("is_child", [False, True])
def test_a_stolen_cell_key_keeps_no_host_out_by_its_name(
    signed: SignedPlacement, is_child: bool
) -> None:
    """Neither by the name itself, nor by what it is stored under then; nor learns it of others."""
    root, uuid, name = a_uuid(), a_uuid(), f"node-{a_uuid()}"
    squatter = a_uuid()
    squatting: list[Any] = [{**a_provider(squatter), "name": name}, a_provider(a_uuid())]
    report: Any = {**a_provider(uuid), "name": name}
    if is_child:
        report = a_provider(root, children=[{**report, "parent_uuid": root}])
    assert [one.error for one in signed.thief.set_providers(CONTEXT, squatting)] == [None, None]
    for _ in range(2):
        (result,) = signed.victim.set_providers(CONTEXT, [report])
        assert result.error is None
    engine = signed.manager.engine.resource_providers
    assert engine.get(uuid).name == f"{name} {uuid}"
    signed.thief.delete_provider(CONTEXT, squatter)
    signed.victim.set_providers(CONTEXT, [report])
    assert engine.get(uuid).name == name


def test_a_stolen_cell_key_reads_no_allocation_of_another_cell(
    signed: SignedPlacement, consumer: str, provider: str, own: str
) -> None:
    """Neither by the consumer nor by the provider; but its own ones, and those that move to it."""
    mine = a_uuid()
    claim(signed.scheduler, mine, own)
    asked = [consumer, mine]
    assert signed.thief.get_allocations(CONTEXT, asked).keys() == {mine}
    assert signed.thief.get_provider_allocations(CONTEXT, [provider, own]).keys() == {own}
    assert signed.api("conductor").get_allocations(CONTEXT, asked).keys() == {consumer, mine}
    both = [CELLS["victim"], CELLS["thief"]]
    signed.api("conductor").set_consumer_cells(CONTEXT, [consumer], both)
    assert signed.thief.get_allocations(CONTEXT, asked).keys() == {consumer, mine}


def test_a_stolen_cell_key_takes_no_provider_into_its_trees(
    signed: SignedPlacement, provider: str, own: str
) -> None:
    """As a child, a former child to delete, or by a reshape: the report is refused as a whole."""
    child = rewritten(provider, parent_uuid=own)
    before = signed.state()
    (result,) = signed.thief.set_providers(CONTEXT, [rewritten(own, children=[child])])
    assert result.error
    former = a_provider(own, children=[], former_children=[provider])
    signed.thief.set_providers(CONTEXT, [former])
    (result,) = signed.thief.set_providers(CONTEXT, [rewritten(provider, reshape=True)])
    assert result.error
    assert signed.state() == before


@pytest.mark.parametrize("present", [True, False])
def test_a_stolen_cell_key_sets_no_trait_of_another_cells_provider(
    signed: SignedPlacement, provider: str, unharmed: Callable[[], None], present: bool
) -> None:
    """Which would take a host out of service, or put it back."""
    unharmed()
    with pytest.raises(exception.NotItsOwn, match=provider):
        signed.thief.set_trait(CONTEXT, provider, "COMPUTE_STATUS_DISABLED", present=present)


@pytest.mark.parametrize("trait", [SHARING_TRAIT, "CUSTOM_POOL_STORAGE"])
def test_a_stolen_cell_key_lets_no_provider_serve_other_hosts(
    signed: SignedPlacement, own: str, unharmed: Callable[[], None], trait: str
) -> None:
    """Which would draw what is for hosts of other cells, or claims, to one of its own."""
    engine = signed.manager.engine
    engine.traits.ensure("CUSTOM_POOL_STORAGE")
    child = a_provider(a_uuid(), traits=[trait], parent_uuid=own)
    for report in (a_provider(own, traits=[trait]), a_provider(own, children=[child])):
        unharmed_now = signed.state()
        (result,) = signed.thief.set_providers(CONTEXT, [report])
        assert "operators set the trait" in str(result.error)
        assert signed.state() == unharmed_now
    unharmed()
    with pytest.raises(exception.NotItsOwn, match="operators set the trait"):
        signed.thief.set_trait(CONTEXT, own, trait, present=True)


def test_a_cell_leaves_the_traits_that_operators_set(signed: SignedPlacement, own: str) -> None:
    """An operator may let a host share: the host's later reports change nothing of that."""
    engine = signed.manager.engine
    engine.providers.set_trait(own, SHARING_TRAIT, present=True)
    (result,) = signed.thief.set_providers(CONTEXT, [a_provider(own, traits=["HW_NUMA_ROOT"])])
    assert result.error is None
    dropping = a_provider(own, managed_traits=[SHARING_TRAIT])
    (result,) = signed.thief.set_providers(CONTEXT, [dropping])
    assert "operators set the trait" in str(result.error)
    assert engine.traits.get_of(own).traits == {SHARING_TRAIT, "HW_NUMA_ROOT"}


def test_a_stolen_cell_key_deletes_no_provider_of_another_cell(
    signed: SignedPlacement, provider: str, unharmed: Callable[[], None]
) -> None:
    """Though it is unused."""
    unharmed()
    with pytest.raises(exception.NotItsOwn, match=provider):
        signed.thief.delete_provider(CONTEXT, provider)


def test_a_cell_registers_changes_and_deletes_its_own(signed: SignedPlacement) -> None:
    """With children, traits, and a second time."""
    own = register(signed.victim)
    child = a_provider(a_uuid(), parent_uuid=own)
    for children in ([child], [child], []):
        report = a_provider(own, children=children, former_children=[child["uuid"]])
        (result,) = signed.victim.set_providers(CONTEXT, [report])
        assert result.error is None
    signed.victim.set_trait(CONTEXT, own, "COMPUTE_STATUS_DISABLED", present=True)
    signed.victim.delete_provider(CONTEXT, own)
    register(signed.thief)


def test_what_no_cell_owns_belongs_to_no_cell(
    signed: SignedPlacement, unharmed: Callable[[], None]
) -> None:
    """A provider that was made in the Placement API is an operator's to give away."""
    made = a_uuid()
    signed.manager.engine.resource_providers.create(made, f"pool-{made}")
    unharmed()
    (result,) = signed.thief.set_providers(CONTEXT, [rewritten(made)])
    assert "adopt-providers" in str(result.error)


def test_what_the_placement_api_adds_to_a_tree_is_that_cells(
    signed: SignedPlacement, provider: str
) -> None:
    """Another one cannot claim there."""
    child = a_uuid()
    signed.manager.engine.resource_providers.create(child, f"nic-{child}", provider)
    (result,) = signed.thief.set_providers(CONTEXT, [rewritten(child)])
    assert "belongs to another cell" in str(result.error)


def test_a_part_of_a_host_is_not_a_host(signed: SignedPlacement, provider: str) -> None:
    """An agent that knows its UUID could report it as its own in the same cell."""
    child = a_provider(a_uuid(), parent_uuid=provider)
    signed.victim.set_providers(CONTEXT, [a_provider(provider, children=[child])])
    before = signed.state()
    (result,) = signed.victim.set_providers(CONTEXT, [rewritten(child["uuid"])])
    assert "a part of another one" in str(result.error)
    assert signed.state() == before
    rack = a_uuid()
    engine = signed.manager.engine.resource_providers
    engine.create(rack, f"rack-{rack}")
    engine.update(provider, f"provider-{provider}", rack, may_reparent=True)
    (result,) = signed.victim.set_providers(CONTEXT, [a_provider(provider)])
    assert result.error is None  # below one that an operator made


def test_an_operator_gives_providers_to_a_cell(signed: SignedPlacement, provider: str) -> None:
    """Those that no cell owns, with what is below; those of another cell only if he says so."""
    engine, operator = signed.manager.engine, signed.api("operator")
    root, child = a_uuid(), a_uuid()
    engine.resource_providers.create(root, f"root-{root}")
    engine.resource_providers.create(child, f"child-{child}", root)
    mine, asked = CELLS["thief"], [root, provider, a_uuid()]
    assert operator.adopt_providers(CONTEXT, mine, asked) == sorted([root, child])
    assert operator.adopt_providers(admin_context(), mine, asked) == []
    (result,) = signed.thief.set_providers(CONTEXT, [a_provider(root)])
    assert result.error is None
    assert operator.adopt_providers(CONTEXT, mine, asked, replace=True) == [provider]
    with pytest.raises(exception.NotItsOwn):
        signed.victim.delete_provider(CONTEXT, provider)


def test_a_cell_adopts_what_has_no_owner_while_unsigned_messages_are_accepted(
    tmp_path: Path, placement_template: Path
) -> None:
    """By its next report: then it is that cell's alone."""
    accepting = SignedPlacement(tmp_path, placement_template, is_required=False)
    try:
        made = register(accepting.api(None))
        uuid = a_uuid()
        claim(accepting.scheduler, uuid, made)
        assert accepting.victim.set_providers(CONTEXT, [a_provider(made)])[0].error is None
        (result,) = accepting.thief.set_providers(CONTEXT, [rewritten(made)])
        assert "belongs to another cell" in str(result.error)
        with pytest.raises(exception.NotItsOwn):
            accepting.thief.release(CONTEXT, {uuid: 2})
        accepting.victim.release(CONTEXT, {uuid: 2})
    finally:
        accepting.stop()
