"""Writes of consumers on a database: all or none, beside claims, without fences."""

import dataclasses
from typing import Any

import pytest
from sqlalchemy import select

from armillary import exception
from objects.allocations.allocation import ClaimStatus
from placement.db.models import Allocation, Base, Consumer, PlacementEpoch, Usage
from placement.engine import PlacementEngine
from placement.ledger.consumer_writes import ConsumerWrite
from placement.providers.inventory import Inventory
from tests.builders import a_claim, a_provider, a_query, a_uuid
from tests.fixtures.placement import NewEngine


@pytest.fixture
def provider(engine: PlacementEngine) -> str:
    """Return the UUID of a provider of 8 vCPUs, of generation 1."""
    report = a_provider()
    engine.providers.set_providers([report])
    return str(report["uuid"])


def a_write(provider: str, vcpus: int = 1, **values: Any) -> ConsumerWrite:
    given = {"allocations": {provider: {"VCPU": vcpus}}, "project_id": "p1", "user_id": "u1"}
    return ConsumerWrite(**{"consumer_uuid": a_uuid(), **given, **values})


def column(engine: PlacementEngine, model: Any, name: str) -> list[Any]:
    with engine._database.reader() as session:
        return list(session.scalars(select(model.__table__.c[name])))


def test_what_is_written_is_read(engine: PlacementEngine, provider: str) -> None:
    """By consumer and by provider, with the generations of both."""
    write = a_write(provider, 3, consumer_type="VM", generation=None)
    engine.consumer_writes.put([write])
    record = engine.allocations.find(write.consumer_uuid)
    assert record is not None
    assert (record.generation, record.consumer_type, record.user_id) == (1, "VM", "u1")
    assert record.amounts == write.allocations
    assert record.provider_generations == {provider: 2}
    found = engine.allocations.get_of_provider(provider)
    assert (found.generation, found.consumer_generations) == (2, {write.consumer_uuid: 1})
    assert found.amounts == {write.consumer_uuid: {"VCPU": 3}}
    assert found.updated_at == record.updated_at
    assert engine.usages.get_of_provider(provider) == (2, {"VCPU": 3})


def test_who_was_never_there_has_nothing(engine: PlacementEngine, provider: str) -> None:
    """A consumer may be asked for by any UUID, a provider has to be there."""
    assert engine.allocations.find(a_uuid()) is None
    assert engine.allocations.get_of_provider(provider).amounts == {}
    for read in (engine.allocations.get_of_provider, engine.usages.get_of_provider):
        with pytest.raises(exception.ResourceProviderNotFound):
            read(a_uuid())


def test_one_that_does_not_fit_keeps_all_from_being_written(
    engine: PlacementEngine, provider: str
) -> None:
    """Not a row, not an epoch."""
    before = column(engine, PlacementEpoch, "epoch")
    with pytest.raises(exception.CapacityExceeded):
        engine.consumer_writes.put([a_write(provider, 8), a_write(provider, 1)])
    assert column(engine, Consumer, "uuid") == []
    assert column(engine, PlacementEpoch, "epoch") == before


def test_allocations_move_between_consumers(engine: PlacementEngine, provider: str) -> None:
    """All of a full provider; readers of every process see usage as it was."""
    held = a_write(provider, 8)
    engine.consumer_writes.put([held])
    heir = a_write(provider, 8)
    given_up = a_write(provider, consumer_uuid=held.consumer_uuid, allocations={})
    engine.consumer_writes.put([heir, given_up])
    assert column(engine, Consumer, "uuid") == [heir.consumer_uuid]
    assert column(engine, Usage, "used") == [8]


def test_a_deleted_consumer_leaves_nothing(engine: PlacementEngine, provider: str) -> None:
    """Deleting it again says so."""
    write = a_write(provider)
    engine.consumer_writes.put([write])
    engine.consumer_writes.delete(write.consumer_uuid)
    assert (column(engine, Consumer, "uuid"), column(engine, Allocation, "amount")) == ([], [])
    assert column(engine, Usage, "used") == [0]
    with pytest.raises(exception.ConsumerNotFound, match=write.consumer_uuid):
        engine.consumer_writes.delete(write.consumer_uuid)


def test_fences_are_the_affair_of_claims(engine: PlacementEngine, provider: str) -> None:
    """A write passes one, and a claim after a delete is accepted or refused by its fence alone."""
    claim = a_claim(provider, fence=2)
    engine.claims.claim([claim])
    engine.consumer_writes.put([a_write(provider, 2, consumer_uuid=claim.consumer_uuid)])
    engine.consumer_writes.delete(claim.consumer_uuid)
    late = dataclasses.replace(claim, fence=1)
    assert engine.claims.claim([late])[0].status == ClaimStatus.FENCED
    assert engine.claims.claim([claim])[0].is_claimed


def test_a_custom_class_has_to_be_made_first(engine: PlacementEngine, provider: str) -> None:
    """Whether the provider has some of it is another question."""
    write = a_write(provider, allocations={provider: {"CUSTOM_GOLD": 1}})
    with pytest.raises(exception.ResourceClassNotFound, match="CUSTOM_GOLD"):
        engine.consumer_writes.put([write])
    engine.resource_classes.ensure("CUSTOM_GOLD")
    with pytest.raises(exception.NothingToAllocate, match="CUSTOM_GOLD"):
        engine.consumer_writes.put([write])


def test_a_call_has_a_bound(new_engine: NewEngine) -> None:
    """The error names the option."""
    engine = new_engine(claim_batch_size_max=2)
    with pytest.raises(exception.Invalid, match="claim_batch_size_max"):
        engine.consumer_writes.put([a_write(a_uuid()) for _ in range(3)])


def test_usages_of_a_project_are_sums_by_type(engine: PlacementEngine, provider: str) -> None:
    """Of all its users, of one, or of one type; other projects do not count."""
    writes = [
        a_write(provider, 1, consumer_type="VM"),
        a_write(provider, 2, consumer_type="VM", user_id="u2"),
        a_write(provider, 3),
        a_write(provider, 1, project_id="p2"),
    ]
    engine.consumer_writes.put(writes)

    def usages(**who: str) -> dict[str, tuple[int, int]]:
        found = engine.usages.get_of_project("p1", **who)
        return {
            type_: (item.consumer_count, item.resources["VCPU"]) for type_, item in found.items()
        }

    assert usages() == {"VM": (2, 3), "unknown": (1, 3)}
    assert usages(user_id="u2") == {"VM": (1, 2)}
    assert usages(consumer_type="unknown") == {"unknown": (1, 3)}
    assert usages(user_id="nobody") == {}


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
    assert engine.usages.get_of_provider(full) == (3, {})
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
