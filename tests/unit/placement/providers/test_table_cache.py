"""The keeper of the provider table: what it loads, when, and what it does after a failure."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event, func, select, update

from armillary.db import Database
from placement.db.models import PlacementEpoch, ResourceProvider
from placement.engine import PlacementEngine
from placement.providers.provider_table import ProviderTable
from tests.builders import a_claim, a_provider, a_query
from tests.fixtures.placement import NewEngine


@contextmanager
def selects_of(engine: PlacementEngine) -> Iterator[list[str]]:
    seen: list[str] = []

    def collect(*arguments: Any) -> None:
        seen.append(arguments[2])

    event.listen(engine._database.engine, "before_cursor_execute", collect)
    yield seen
    event.remove(engine._database.engine, "before_cursor_execute", collect)
    seen[:] = [statement for statement in seen if statement.startswith("SELECT")]


def candidates(engine: PlacementEngine) -> list[str]:
    return engine.get_candidates(a_query()).provider_uuids


@pytest.fixture
def two(new_engine: NewEngine) -> tuple[PlacementEngine, PlacementEngine]:
    """Return two engines on one database, which know the same three providers."""
    one, other = new_engine(), new_engine()
    one.providers.set_providers([a_provider(f"host{number}") for number in range(3)])
    assert candidates(one) == candidates(other)
    return one, other


def test_asking_again_is_one_tiny_query(two: tuple[PlacementEngine, PlacementEngine]) -> None:
    """The epoch row, by its key."""
    with selects_of(two[0]) as seen:
        candidates(two[0])
    assert len(seen) == 1
    assert "placement_epoch" in seen[0]


def test_after_a_claim_only_usage_is_loaded(two: tuple[PlacementEngine, PlacementEngine]) -> None:
    """No provider's traits or inventories are read again."""
    writer, reader = two
    provider = candidates(writer)[0]
    writer.claims.claim([a_claim(provider, 8)])
    with selects_of(reader) as seen:
        assert provider not in candidates(reader)
    assert len(seen) == 3
    assert not any("traits" in statement or "inventories" in statement for statement in seen)


def test_a_provider_that_is_loaded_again_keeps_its_usage(
    two: tuple[PlacementEngine, PlacementEngine],
) -> None:
    """Which may be older than what the reader asks for."""
    writer, reader = two
    provider = candidates(writer)[0]
    writer.claims.claim([a_claim(provider, 8)])
    assert provider not in candidates(reader)
    writer.providers.set_trait(provider, "CUSTOM_A", present=True)
    assert provider not in candidates(reader)


def test_what_another_process_deleted_is_gone(two: tuple[PlacementEngine, PlacementEngine]) -> None:
    """By its tombstone."""
    writer, reader = two
    provider = candidates(writer)[0]
    writer.providers.delete(provider)
    assert provider not in candidates(reader)
    assert len(candidates(reader)) == 2


def test_a_database_that_went_back_in_time_is_loaded_again(
    two: tuple[PlacementEngine, PlacementEngine],
) -> None:
    """A standby that lagged took over: what was written since is not true any more."""
    writer, reader = two
    provider = candidates(writer)[0]
    with writer._database.reader() as session:
        before = session.get_one(PlacementEpoch, 1).epoch
    claim = a_claim(provider, 8)
    writer.claims.claim([claim])
    assert provider not in candidates(reader)
    writer.claims.release({claim.consumer_uuid: 1})
    with writer._database.writer() as session:
        session.execute(update(PlacementEpoch).values(epoch=before, facts_epoch=before))
    assert provider in candidates(reader)


def test_a_table_is_of_the_moment_that_a_session_sees(
    two: tuple[PlacementEngine, PlacementEngine],
) -> None:
    """What others write meanwhile is in neither, what they wrote before is in both."""
    writer, reader = two
    table_cache, database = reader._table_cache, reader._database
    writer.providers.set_providers([a_provider("before")])
    with database.reader() as session:
        with table_cache.table_as_of(session) as table:
            assert table.providers_total == 4
        writer.providers.set_providers([a_provider("meanwhile")])
        count = select(func.count()).select_from(ResourceProvider)
        assert session.execute(count).scalar_one() == 4
    with database.reader() as session, table_cache.table_as_of(session) as table:
        assert table.providers_total == 5


def test_a_load_that_failed_half_way_leaves_nothing_behind(
    two: tuple[PlacementEngine, PlacementEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next question loads everything."""
    writer, reader = two
    provider = candidates(writer)[0]
    apply = ProviderTable.apply

    def fail(self: ProviderTable, changes: Any) -> None:
        apply(self, changes)
        raise MemoryError

    writer.claims.claim([a_claim(provider, 8)])
    monkeypatch.setattr(ProviderTable, "apply", fail)
    with pytest.raises(MemoryError):
        candidates(reader)
    monkeypatch.undo()
    with selects_of(reader) as seen:
        assert provider not in candidates(reader)
    assert any("traits" in statement for statement in seen)


def test_a_database_that_comes_later_is_not_an_obstacle(
    new_engine: NewEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question while it is unreachable fails; the next one is answered."""
    engine = new_engine()
    engine.providers.set_providers([a_provider()])

    def away(self: Database) -> Any:
        raise ConnectionError

    monkeypatch.setattr(Database, "reader", away)
    with pytest.raises(ConnectionError):
        candidates(engine)
    monkeypatch.undo()
    assert len(candidates(engine)) == 1
