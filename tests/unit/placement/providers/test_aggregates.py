"""Aggregates on a database."""

import pytest
from sqlalchemy import select

from armillary import exception
from placement.db.models import PlacementEpoch, ResourceProvider
from placement.engine import PlacementEngine
from tests.builders import a_provider, a_query, a_uuid

AGGREGATE = "c0ffee00-0000-4000-8000-00000000000a"


@pytest.fixture
def fleet(engine: PlacementEngine) -> list[str]:
    reports = [a_provider(f"host{number}") for number in range(3)]
    return [result.uuid for result in engine.providers.set_providers(reports)]


def members(engine: PlacementEngine) -> list[str]:
    return engine.get_candidates(a_query(member_of=[[AGGREGATE]])).provider_uuids


def test_an_aggregate_holds_whom_it_was_given_last(
    engine: PlacementEngine, fleet: list[str]
) -> None:
    """Some come, some go, some stay."""
    engine.aggregates.set_members(AGGREGATE, fleet[:2])
    assert members(engine) == fleet[:2]
    engine.aggregates.set_members(AGGREGATE, fleet[1:])
    assert members(engine) == fleet[1:]
    engine.aggregates.set_members(AGGREGATE, [])
    assert members(engine) == []


def test_only_who_came_or_went_is_a_new_generation(
    engine: PlacementEngine, fleet: list[str]
) -> None:
    """No other provider has to be read again."""
    engine.aggregates.set_members(AGGREGATE, fleet[:2])
    engine.aggregates.set_members(AGGREGATE, fleet[1:])
    with engine._database.reader() as session:
        rows = session.execute(select(ResourceProvider.uuid, ResourceProvider.generation))
        assert {row.uuid: row.generation for row in rows} == dict(
            zip(fleet, [3, 2, 2], strict=True)
        )


def test_the_same_members_again_write_nothing(engine: PlacementEngine, fleet: list[str]) -> None:
    """It is a mirror, and is wiped often."""
    engine.aggregates.set_members(AGGREGATE, fleet)
    with engine._database.reader() as session:
        before = session.scalars(select(PlacementEpoch.epoch)).one()
    engine.aggregates.set_members(AGGREGATE, [*reversed(fleet), a_uuid()])
    with engine._database.reader() as session:
        assert session.scalars(select(PlacementEpoch.epoch)).one() == before


@pytest.mark.parametrize("trait", ["MISC_SHARES_VIA_AGGREGATE", "CUSTOM_POOL_STORAGE"])
def test_sharing_providers_and_pools_stay_whatever_the_hosts_are(
    engine: PlacementEngine, fleet: list[str], trait: str
) -> None:
    """An operator put them there; hosts' aggregates know nothing of them."""
    shared, host, other = fleet
    engine.aggregates.set_members(AGGREGATE, fleet)
    engine.traits.ensure(trait)
    engine.providers.set_trait(shared, trait, present=True)
    engine.aggregates.set_members(AGGREGATE, [host])
    found = [engine.resource_providers.get_aggregates(uuid).aggregates for uuid in fleet]
    assert found == [[AGGREGATE], [AGGREGATE], []]
    assert engine.aggregates.get_members(AGGREGATE, [])["members"] == [host]
    engine.aggregates.set_members(AGGREGATE, [shared, other])
    assert engine.aggregates.get_members(AGGREGATE, [])["members"] == [other]


def test_an_aggregate_is_named_by_its_uuid(engine: PlacementEngine) -> None:
    """Its name of the day is unknown here."""
    with pytest.raises(exception.Invalid, match="ssd"):
        engine.aggregates.set_members("ssd", [])
