"""Resource classes: which there are, and what making, renaming and deleting them changes."""

import os_resource_classes
import pytest

from armillary import exception
from placement.engine import PlacementEngine
from tests.builders import a_claim, a_provider, a_query
from tests.fixtures.placement import NewEngine

GOLD, SILVER = "CUSTOM_GOLD", "CUSTOM_SILVER"
LONGEST = "CUSTOM_" + "X" * 248


def class_names(engine: PlacementEngine) -> list[str]:
    """Return the names of all classes."""
    return [record.name for record in engine.resource_classes.list()]


def test_standard_classes_are_always_there(engine: PlacementEngine) -> None:
    """Each once, in their own order, whether something has an inventory of them or not."""
    engine.providers.set_providers([a_provider()])
    assert class_names(engine) == os_resource_classes.STANDARDS
    assert engine.resource_classes.get("VCPU").name == "VCPU"
    assert engine.resource_classes.missing(["VCPU", "DISK_GB"]) == []


def test_a_class_that_was_made_stands_behind_the_standard_ones(engine: PlacementEngine) -> None:
    """The oldest first."""
    for name in (SILVER, GOLD, LONGEST):
        engine.resource_classes.create(name)
    assert class_names(engine)[-3:] == [SILVER, GOLD, LONGEST]
    assert engine.resource_classes.get(LONGEST).name == LONGEST


def test_a_class_is_made_once(engine: PlacementEngine) -> None:
    """The second maker is told; an idempotent request succeeds."""
    assert engine.resource_classes.ensure(GOLD) is True
    assert engine.resource_classes.ensure(GOLD) is False
    with pytest.raises(exception.ResourceClassExists, match=GOLD):
        engine.resource_classes.create(GOLD)
    assert class_names(engine).count(GOLD) == 1


@pytest.mark.parametrize("name", ["CUSTOM_NEVER_MADE", "custom_gold", "HOUSE", "☃", "x" * 300])
def test_other_names_are_of_no_class(engine: PlacementEngine, name: str) -> None:
    """Neither to read nor to write."""
    classes = engine.resource_classes
    classes.create(GOLD)
    for call in (
        lambda: classes.get(name),
        lambda: classes.rename(name, SILVER),
        lambda: classes.delete(name),
    ):
        with pytest.raises(exception.ResourceClassNotFound):
            call()
    assert classes.missing([name, GOLD, "VCPU"]) == [name]


def test_standard_classes_stay(engine: PlacementEngine) -> None:
    """Neither name nor class can be changed."""
    with pytest.raises(exception.StandardName, match="delete standard resource class VCPU"):
        engine.resource_classes.delete("VCPU")
    with pytest.raises(exception.StandardName, match="update standard resource class VCPU"):
        engine.resource_classes.rename("VCPU", GOLD)


def test_a_renamed_class_is_known_to_all_by_its_new_name_alone(new_engine: NewEngine) -> None:
    """Readers hold tables of their own; the providers' generation says that something changed."""
    writer, reader = new_engine(), new_engine()
    writer.resource_classes.create(GOLD)
    has_gold = a_provider("gold", inventories={GOLD: {"total": 3}, "VCPU": {"total": 1}})
    has_none = a_provider("none")
    writer.providers.set_providers([has_gold, has_none])
    writer.claims.claim(
        [a_claim(has_gold["uuid"], allocations={has_gold["uuid"]: {"resources": {GOLD: 1}}})]
    )
    gold, silver = a_query(resources={GOLD: 2}), a_query(resources={SILVER: 2})
    too_much = a_query(resources={SILVER: 3})
    assert reader.get_candidates(gold).provider_uuids == [has_gold["uuid"]]
    before = reader.inventories.get(has_gold["uuid"]).generation
    writer.resource_classes.rename(GOLD, SILVER)
    assert reader.get_candidates(gold).provider_uuids == []
    assert reader.get_candidates(silver).provider_uuids == [has_gold["uuid"]]
    assert reader.get_candidates(too_much).provider_uuids == []
    assert reader.inventories.get(has_gold["uuid"]).generation == before + 1
    assert reader.inventories.get(has_none["uuid"]).generation == 1
    assert reader.resource_classes.missing([GOLD, SILVER]) == [GOLD]


def test_a_name_that_is_taken_cannot_be_taken_again(engine: PlacementEngine) -> None:
    """A class may keep its own, which changes nothing."""
    engine.resource_classes.create(GOLD)
    engine.resource_classes.create(SILVER)
    with pytest.raises(exception.ResourceClassExists, match=SILVER):
        engine.resource_classes.rename(GOLD, SILVER)
    engine.resource_classes.rename(GOLD, GOLD)
    assert class_names(engine)[-2:] == [GOLD, SILVER]


def test_a_class_in_use_stays(engine: PlacementEngine) -> None:
    """Until the last inventory of it is gone, used or not."""
    provider = a_provider(inventories={GOLD: {"total": 3}})
    engine.providers.set_providers([provider])
    claim = a_claim(provider["uuid"], allocations={provider["uuid"]: {"resources": {GOLD: 1}}})
    engine.claims.claim([claim])
    with pytest.raises(exception.ResourceClassInUse, match=GOLD):
        engine.resource_classes.delete(GOLD)
    engine.claims.release({claim.consumer_uuid: 1})
    with pytest.raises(exception.ResourceClassInUse, match=GOLD):
        engine.resource_classes.delete(GOLD)
    engine.inventories.delete_all(provider["uuid"])
    engine.resource_classes.delete(GOLD)
    assert class_names(engine) == os_resource_classes.STANDARDS
