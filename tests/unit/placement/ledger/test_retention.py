"""Pruning: what is forgotten, what is not, and that readers notice."""

import datetime as dt
from collections.abc import Callable

import pytest
from sqlalchemy import select

from objects.allocations.allocation import ClaimStatus
from objects.allocations.fence import FENCE_FINAL
from placement.db.models import ConsumerFence, ProviderTombstone
from placement.engine import PlacementEngine
from tests.builders import a_claim, a_provider, a_query
from tests.fixtures.placement import NewEngine

DAY = dt.timedelta(days=1)


class Clock:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self.now = dt.datetime(2030, 1, 31, 12, 0, 0)

    def __call__(self) -> dt.datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make(new_engine: NewEngine, clock: Clock) -> Callable[[], PlacementEngine]:
    return lambda: new_engine(clock=clock)


def fences(engine: PlacementEngine) -> set[str]:
    with engine._database.reader() as session:
        return set(session.scalars(select(ConsumerFence.consumer_uuid)))


def test_fences_of_the_gone_are_kept_for_a_day(
    make: Callable[[], PlacementEngine], clock: Clock
) -> None:
    """Then nothing of them can be on its way any more."""
    engine = make()
    report = a_provider()
    engine.providers.set_providers([report])
    claim = a_claim(report["uuid"], fence=1000)
    engine.claims.release({claim.consumer_uuid: FENCE_FINAL})
    clock.now += DAY
    engine.pruner.prune()
    assert engine.claims.claim([claim])[0].status == ClaimStatus.FENCED
    clock.now += dt.timedelta(seconds=1)
    engine.pruner.prune()
    assert fences(engine) == set()


def test_fences_of_the_living_are_kept_as_long_as_they_live(
    make: Callable[[], PlacementEngine], clock: Clock
) -> None:
    """And for a day from their end on."""
    engine = make()
    report = a_provider()
    engine.providers.set_providers([report])
    claim = a_claim(report["uuid"], fence=1000)
    engine.claims.claim([claim])
    clock.now += 9 * DAY
    engine.pruner.prune()
    assert fences(engine) == {claim.consumer_uuid}
    engine.claims.release({claim.consumer_uuid: 1000})
    engine.pruner.prune()
    assert fences(engine) == {claim.consumer_uuid}


def test_a_reader_that_slept_through_the_pruning_reads_all_again(
    make: Callable[[], PlacementEngine], clock: Clock
) -> None:
    """It learns of the end of a provider although its tombstone is gone."""
    writer, sleeper = make(), make()
    gone, stays = a_provider("gone"), a_provider("stays")
    writer.providers.set_providers([gone, stays])
    assert len(sleeper.get_candidates(a_query()).provider_uuids) == 2
    writer.providers.delete(gone["uuid"])
    clock.now += 2 * DAY
    writer.pruner.prune()
    with writer._database.reader() as session:
        assert session.scalars(select(ProviderTombstone.epoch)).all() == []
    assert sleeper.get_candidates(a_query()).provider_uuids == [stays["uuid"]]


def test_a_young_tombstone_stays(make: Callable[[], PlacementEngine], clock: Clock) -> None:
    """Readers that are a bit behind need it."""
    engine = make()
    report = a_provider()
    engine.providers.set_providers([report])
    engine.providers.delete(report["uuid"])
    clock.now += DAY
    engine.pruner.prune()
    with engine._database.reader() as session:
        assert len(session.scalars(select(ProviderTombstone.epoch)).all()) == 1
