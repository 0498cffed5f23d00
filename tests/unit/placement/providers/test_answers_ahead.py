"""Answers worked out while the database is asked whether they hold: never older than the question.

PostgreSQL alone can be asked that way; what every engine promises is in ``test_table_keeper``.
"""

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import text

from armillary import exception
from armillary.db import Database
from placement.candidates import find_candidates
from placement.engine import PlacementEngine
from placement.providers.provider_table import ProviderTable
from tests.builders import a_claim, a_provider, a_query
from tests.fixtures.placement import engines
from tests.fixtures.services import POSTGRESQL, administrator

pytestmark = pytest.mark.postgresql


@pytest.fixture
def two(postgresql_url: str) -> Iterator[tuple[PlacementEngine, PlacementEngine]]:
    """Lend two engines on one database with three providers; both have just answered twice."""
    database = Database(postgresql_url, name="placement")
    database.sync("placement.db.schema")
    database.dispose()
    with engines(postgresql_url) as new_engine:
        one, other = new_engine(), new_engine()
        one.providers.set_providers([a_provider(f"host{number}") for number in range(3)])
        for each in (one, other, one, other):
            assert len(candidates(each)) == 3
        yield one, other


def candidates(engine: PlacementEngine) -> list[str]:
    return engine.get_candidates(a_query()).provider_uuids


def test_what_others_wrote_is_in_the_next_answer(
    two: tuple[PlacementEngine, PlacementEngine],
) -> None:
    """However often nothing had changed before."""
    writer, reader = two
    for gone in range(3):
        provider = candidates(reader)[0]
        writer.claims.claim([a_claim(provider, 8)])
        assert provider not in candidates(reader)
        assert len(candidates(reader)) == 2 - gone


def test_what_is_written_during_the_answer_may_come_late_but_not_wrong(
    two: tuple[PlacementEngine, PlacementEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write between question and answer: the answer is as of before it, the next one after."""
    writer, reader = two
    provider = candidates(reader)[0]
    worked = []

    def find(table: ProviderTable, *rest: object) -> object:
        worked.append(table.epoch)
        if len(worked) == 1:
            writer.claims.claim([a_claim(provider, 8)])
        return find_candidates(table, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("placement.engine.find_candidates", find)
    candidates(reader)
    assert provider not in candidates(reader)


def test_a_question_that_only_a_newer_table_can_answer_is_answered(
    two: tuple[PlacementEngine, PlacementEngine],
) -> None:
    """A trait that is not known yet is an error; once a client made it, it is none."""
    writer, reader = two
    query = a_query(required_traits=[["CUSTOM_NEW"]])
    for _ in range(2):
        assert reader.get_candidates(query).provider_uuids == []
    provider = candidates(reader)[0]
    writer.providers.set_trait(provider, "CUSTOM_NEW", present=True)
    assert reader.get_candidates(query).provider_uuids == [provider]


def test_a_lost_connection_is_not_noticed(two: tuple[PlacementEngine, PlacementEngine]) -> None:
    """The database was restarted between two questions."""
    writer, reader = two
    provider = candidates(reader)[0]
    _end_all_connections(reader)
    assert len(candidates(reader)) == 3
    assert len(candidates(reader)) == 3
    _end_all_connections(reader)
    writer.claims.claim([a_claim(provider, 8)])
    assert provider not in candidates(reader)


def test_a_database_that_is_away_is_said_to_be(
    two: tuple[PlacementEngine, PlacementEngine],
) -> None:
    """An answer that may be wrong is not given."""
    _, reader = two
    database = reader._database
    with administrator(POSTGRESQL.url).connect() as connection:
        connection.execute(text(f"ALTER DATABASE {database.url.database} ALLOW_CONNECTIONS false"))
    _end_all_connections(reader)
    with pytest.raises(exception.DatabaseUnavailable):
        candidates(reader)


def test_many_who_ask_together_are_all_right(two: tuple[PlacementEngine, PlacementEngine]) -> None:
    """Each on a connection of its own, during writes: no answer goes back in time."""
    writer, reader = two
    providers = candidates(reader)
    wrong = []

    def ask() -> None:
        seen = 3
        while seen > 0:
            found = len(candidates(reader))
            if found > seen:
                wrong.append((seen, found))
                return
            seen = found

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for provider in providers:
        writer.claims.claim([a_claim(provider, 8)])
    for thread in threads:
        thread.join(30)
    assert not wrong
    assert not any(thread.is_alive() for thread in threads)


def _end_all_connections(engine: PlacementEngine) -> None:
    with administrator(POSTGRESQL.url).connect() as connection:
        connection.execute(
            text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name"),
            {"name": engine._database.url.database},
        )
