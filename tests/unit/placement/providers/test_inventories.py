"""Inventories written one by one: generations, what may go away, what readers see."""

import datetime as dt
import logging

import pytest
from sqlalchemy import select

from armillary import exception
from placement.db.models import Usage
from placement.engine import PlacementEngine
from placement.providers.inventory import AMOUNT_MAX, Inventory
from tests.builders import a_claim, a_provider, a_query
from tests.fixtures.placement import NewEngine


def an_inventory(total: int = 8, **figures: float) -> Inventory:
    """Return an inventory of which all may be taken."""
    defaults = {"reserved": 0, "min_unit": 1, "max_unit": AMOUNT_MAX, "step_size": 1}
    return Inventory(total=total, **{**defaults, "allocation_ratio": 1.0, **figures})  # type: ignore[arg-type]


@pytest.fixture
def provider(engine: PlacementEngine) -> str:
    """Return the UUID of a provider of 8 vCPUs, of generation 1."""
    report = a_provider()
    engine.providers.set_providers([report])
    return str(report["uuid"])


@pytest.mark.parametrize(
    "unknown",
    ["7260669a-e3d4-4867-aaa7-683e2ab6958c", "no uuid", ""],
    ids=["uuid", "text", "empty"],
)
def test_an_unknown_provider_has_nothing_to_read_or_write(
    engine: PlacementEngine, unknown: str
) -> None:
    """Whatever is asked, and whatever its name looks like."""
    inventories = engine.inventories
    for call in (
        lambda: inventories.get(unknown),
        lambda: inventories.set_all(unknown, 0, {}),
        lambda: inventories.set_one(unknown, "VCPU", 0, an_inventory()),
        lambda: inventories.create_one(unknown, "VCPU", an_inventory()),
        lambda: inventories.delete_one(unknown, "VCPU"),
        lambda: inventories.delete_all(unknown),
    ):
        with pytest.raises(exception.ResourceProviderNotFound):
            call()


def test_what_was_written_is_read_with_its_generation(
    engine: PlacementEngine, provider: str
) -> None:
    """The answer of a write is the same as what a reader gets after it."""
    wanted = {"DISK_GB": an_inventory(100, step_size=10), "VCPU": an_inventory(4)}
    written = engine.inventories.set_all(provider, 1, wanted)
    assert (written.generation, written.inventories) == (2, wanted)
    read = engine.inventories.get(provider.upper())
    assert (read.generation, read.inventories) == (2, wanted)


@pytest.mark.parametrize("generation", [0, 2, -1, 10**40])
def test_a_write_with_another_generation_changes_nothing(
    engine: PlacementEngine, provider: str, generation: int
) -> None:
    """Of two writers who read the same, the second one is told."""
    with pytest.raises(exception.ResourceProviderGenerationConflict, match=provider):
        engine.inventories.set_all(provider, generation, {"DISK_GB": an_inventory()})
    with pytest.raises(exception.ResourceProviderGenerationConflict):
        engine.inventories.set_one(provider, "VCPU", generation, an_inventory(4))
    read = engine.inventories.get(provider)
    assert (read.generation, list(read.inventories)) == (1, ["VCPU"])
    assert read.inventories["VCPU"].total == 8


def test_one_inventory_is_added_changed_and_removed(engine: PlacementEngine, provider: str) -> None:
    """Each counts as a generation; the others stay as they are."""
    inventories = engine.inventories
    assert inventories.create_one(provider, "DISK_GB", an_inventory(9)).generation == 2
    assert inventories.set_one(provider, "DISK_GB", 2, an_inventory(10)).generation == 3
    read = inventories.get(provider).inventories
    assert {name: item.total for name, item in read.items()} == {"VCPU": 8, "DISK_GB": 10}
    assert list(inventories.delete_one(provider, "DISK_GB").inventories) == ["VCPU"]
    assert inventories.delete_all(provider).generation == 5
    assert inventories.delete_all(provider).generation == 6
    assert inventories.get(provider).inventories == {}


def test_an_inventory_is_there_once(engine: PlacementEngine, provider: str) -> None:
    """A second one is refused, and so is a change of one that is not there."""
    with pytest.raises(exception.InventoryExists, match="VCPU"):
        engine.inventories.create_one(provider, "VCPU", an_inventory())
    with pytest.raises(exception.InventoryNotFound, match="DISK_GB"):
        engine.inventories.set_one(provider, "DISK_GB", 1, an_inventory())
    with pytest.raises(exception.InventoryNotFound, match="DISK_GB"):
        engine.inventories.delete_one(provider, "DISK_GB")
    assert engine.inventories.get(provider).generation == 1


@pytest.mark.parametrize("name", ["CUSTOM_UNMADE", "vcpu", "HOUSE", "CUSTOM_", "☃"])
def test_there_must_be_such_a_class(engine: PlacementEngine, provider: str, name: str) -> None:
    """A class with a custom name has to be made first; nothing of the write is kept."""
    wanted = {"DISK_GB": an_inventory(), name: an_inventory()}
    with pytest.raises(exception.ResourceClassNotFound, match=name):
        engine.inventories.set_all(provider, 1, wanted)
    with pytest.raises(exception.ResourceClassNotFound, match=name):
        engine.inventories.create_one(provider, name, an_inventory())
    read = engine.inventories.get(provider)
    assert (read.generation, list(read.inventories)) == (1, ["VCPU"])


def test_what_is_used_cannot_go_away(engine: PlacementEngine, provider: str) -> None:
    """All used classes are named, standard ones in their own order."""
    wanted = {name: an_inventory() for name in ("DISK_GB", "VCPU", "SRIOV_NET_VF")}
    engine.inventories.set_all(provider, 1, wanted)
    claim = a_claim(provider, allocations={provider: {"resources": {"DISK_GB": 1, "VCPU": 1}}})
    engine.claims.claim([claim])
    generation = engine.inventories.get(provider).generation
    for call in (
        lambda: engine.inventories.delete_all(provider),
        lambda: engine.inventories.set_all(provider, generation, {}),
    ):
        with pytest.raises(exception.InventoryInUse, match="'VCPU, DISK_GB'"):
            call()
    with pytest.raises(exception.InventoryInUse, match="'DISK_GB'"):
        engine.inventories.delete_one(provider, "DISK_GB")
    engine.inventories.delete_one(provider, "SRIOV_NET_VF")
    assert set(engine.inventories.get(provider).inventories) == {"VCPU", "DISK_GB"}


def test_capacity_may_fall_below_what_is_used(
    engine: PlacementEngine, provider: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says so, once; nothing more is given away."""
    engine.claims.claim([a_claim(provider, 6)])
    generation = engine.inventories.get(provider).generation
    with caplog.at_level(logging.WARNING):
        engine.inventories.set_one(provider, "VCPU", generation, an_inventory(5))
    assert [record.getMessage() for record in caplog.records] == [
        f"Resource provider {provider}: 6 of VCPU are in use, more than its capacity of 5"
    ]
    assert engine.get_candidates(a_query()).provider_uuids == []


def test_a_class_that_went_away_comes_back_unused(engine: PlacementEngine, provider: str) -> None:
    """The row of its usage, which stays behind a released claim, went with it."""
    claim = a_claim(provider, 8)
    engine.claims.claim([claim])
    engine.claims.release({claim.consumer_uuid: 1})
    engine.inventories.delete_all(provider)
    with engine._database.reader() as session:
        assert session.execute(select(Usage.used)).all() == []
    engine.inventories.create_one(provider, "VCPU", an_inventory(8))
    answer = engine.get_candidates(a_query(resources={"VCPU": 8}))
    assert answer.provider_uuids == [provider]


def test_other_engines_see_a_write_immediately(new_engine: NewEngine) -> None:
    """In what fits."""
    writer, reader = new_engine(), new_engine()
    report = a_provider()
    writer.providers.set_providers([report])
    assert reader.get_candidates(a_query(resources={"DISK_GB": 1})).provider_uuids == []
    writer.inventories.create_one(report["uuid"], "DISK_GB", an_inventory())
    fits = reader.get_candidates(a_query(resources={"DISK_GB": 1})).provider_uuids
    assert fits == [report["uuid"]]
    writer.inventories.delete_all(report["uuid"])
    assert reader.get_candidates(a_query()).provider_uuids == []


def test_a_write_tells_its_time(new_engine: NewEngine) -> None:
    """That of the provider's generation."""
    now = dt.datetime(2030, 1, 31, 12)
    engine = new_engine(clock=lambda: now)
    report = a_provider()
    engine.providers.set_providers([report])
    now += dt.timedelta(hours=1)
    assert engine.inventories.delete_all(report["uuid"]).updated_at == now
    assert engine.inventories.get(report["uuid"]).updated_at == now
