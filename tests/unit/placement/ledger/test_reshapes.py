"""Reshapes on a database: rows of inventories and usage, readers, and what a refusal leaves."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from armillary import exception
from placement.db.models import Base, PlacementEpoch
from placement.engine import PlacementEngine
from placement.ledger.consumer_writes import ConsumerWrite
from placement.providers.inventory import Inventory
from tests.builders import a_provider, a_query, a_uuid
from tests.fixtures.placement import NewEngine

ME = a_uuid()


def an_inventory(total: int) -> Inventory:
    return Inventory(total, 0, 1, total, 1, 1.0)


def holds(provider: str, vcpus: int, generation: int | None) -> ConsumerWrite:
    return ConsumerWrite(ME, {provider: {"VCPU": vcpus}}, "p1", "u1", generation=generation)


@pytest.fixture
def pair(engine: PlacementEngine) -> tuple[str, str]:
    """Return two providers of generation 1 (2 with what is held): one has 8 vCPUs, 6 are held."""
    full, bare = a_provider("full"), a_provider("bare", inventories={})
    engine.providers.set_providers([full, bare])
    engine.consumer_writes.put([holds(full["uuid"], 6, None)])
    return full["uuid"], bare["uuid"]


def all_rows(engine: PlacementEngine) -> dict[str, Any]:
    with engine._database.reader() as session:
        return {
            table.name: session.execute(select(table)).all()
            for table in Base.metadata.sorted_tables
        }


def test_inventory_and_what_was_taken_of_it_move_together(
    engine: PlacementEngine, new_engine: NewEngine, pair: tuple[str, str]
) -> None:
    """Every process sees it: candidates, usage, generations; a custom class comes along."""
    full, bare = pair
    other = new_engine()
    assert other.get_candidates(a_query()).provider_uuids == [full]
    engine.resource_classes.ensure("CUSTOM_GOLD")
    after = {"VCPU": an_inventory(9), "CUSTOM_GOLD": an_inventory(1), "DISK_GB": an_inventory(5)}
    engine.consumer_writes.reshape({full: (2, {}), bare: (1, after)}, [holds(bare, 6, 1)])
    assert other.get_candidates(a_query()).provider_uuids == [bare]
    assert other.usages.get_provider_usages([full])[full] == {}
    assert engine.usages.get_of_provider(full) == (4, {})
    generation, usages = engine.usages.get_of_provider(bare)
    assert (generation, usages) == (4, {"VCPU": 6, "CUSTOM_GOLD": 0, "DISK_GB": 0})
    assert engine.inventories.get(bare).inventories == after


def test_something_of_an_unused_class_is_counted(
    engine: PlacementEngine, pair: tuple[str, str]
) -> None:
    """Its number is made and its usage written in one step."""
    _, bare = pair
    write = ConsumerWrite(a_uuid(), {bare: {"PCI_DEVICE": 2}}, "p1", "u1")
    engine.consumer_writes.reshape({bare: (1, {"PCI_DEVICE": an_inventory(3)})}, [write])
    assert engine.usages.get_of_provider(bare) == (4, {"PCI_DEVICE": 2})


@pytest.mark.parametrize(
    ("generation", "vcpus", "error"),
    [
        (1, 6, exception.ResourceProviderGenerationConflict),
        (2, 9, exception.CapacityExceeded),
        (2, 0, exception.InventoryInUse),
    ],
    ids=["late", "too much", "in use"],
)
def test_a_refused_reshape_leaves_everything_as_it_was(
    engine: PlacementEngine,
    pair: tuple[str, str],
    generation: int,
    vcpus: int,
    error: type[Exception],
) -> None:
    """Every row of every table."""
    full, bare = pair
    before = all_rows(engine)
    writes = [holds(bare, vcpus, 1)] if vcpus else []
    shapes = {full: (generation, {}), bare: (1, {"VCPU": an_inventory(8)})}
    with pytest.raises(error):
        engine.consumer_writes.reshape(shapes, writes)
    assert all_rows(engine) == before


def test_a_reshape_of_nothing_needs_no_database(engine: PlacementEngine) -> None:
    """Not even a new epoch."""
    engine.consumer_writes.reshape({}, [])
    with engine._database.reader() as session:
        assert session.scalars(select(PlacementEpoch.epoch)).all() == [0]


def test_a_custom_class_moves_from_one_provider_to_another(engine: PlacementEngine) -> None:
    """One had it, the other lacks it until then: it is known all the same."""
    gold = {"CUSTOM_GOLD": {"total": 4}}
    full, bare = a_provider("full", inventories=gold), a_provider("bare", inventories={})
    engine.providers.set_providers([full, bare])
    write = ConsumerWrite(
        ME, {bare["uuid"]: {"CUSTOM_GOLD": 1}, full["uuid"]: {"CUSTOM_GOLD": 1}}, "p1", "u1"
    )
    with pytest.raises(exception.NothingToAllocate, match=bare["uuid"]):
        engine.consumer_writes.put([write])
    shapes = {full["uuid"]: (1, {}), bare["uuid"]: (1, {"CUSTOM_GOLD": an_inventory(4)})}
    write = ConsumerWrite(ME, {bare["uuid"]: {"CUSTOM_GOLD": 1}}, "p1", "u1")
    engine.consumer_writes.reshape(shapes, [write])
    assert engine.usages.get_of_provider(bare["uuid"]) == (4, {"CUSTOM_GOLD": 1})
