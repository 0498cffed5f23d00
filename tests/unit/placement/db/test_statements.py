"""Statements about many rows, on three databases."""

from collections.abc import Iterator

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from armillary.db import Database
from placement.db.models import ResourceClass, ResourceProvider, Trait, Usage
from placement.db.statements import any_of, in_lists, insert_rows, rows_in, upsert
from tests.fixtures.placement import SCHEMA
from tests.fixtures.services.databases import NewTables

MANY = 12_000


@pytest.fixture
def database(any_tables: NewTables) -> Iterator[Database]:
    made = Database(any_tables(SCHEMA), name="placement")
    yield made
    made.dispose()


def _make_parents(session: Session) -> None:
    provider = {"id": 1, "uuid": "u", "name": "n", "generation": 1, "epoch": 1}
    insert_rows(session, ResourceProvider.table(), [provider])
    classes = [{"id": number, "name": f"CUSTOM_{number}"} for number in (1, 2)]
    insert_rows(session, ResourceClass.table(), classes)


def test_lists_are_cut_at_their_bound() -> None:
    """Nothing is lost, nothing comes twice."""
    assert [len(part) for part in in_lists(range(MANY))] == [5000, 5000, 2000]
    assert list(in_lists([])) == []


def test_many_rows_go_in_and_come_out(database: Database) -> None:
    """More than one statement could name one by one."""
    names = [f"CUSTOM_{number}" for number in range(MANY)]
    with database.writer() as session:
        insert_rows(session, Trait.table(), [{"name": name} for name in names])
        insert_rows(session, Trait.table(), [])
    query = select(Trait.name).where(Trait.name.in_(any_of()))
    with database.reader() as session:
        assert {row[0] for row in rows_in(session, query, names)} == set(names)
        assert list(rows_in(session, query, [])) == []


def test_an_upsert_inserts_the_new_and_changes_the_old(database: Database) -> None:
    """In one statement, by the primary key."""
    usage = {"resource_provider_id": 1, "epoch": 1}
    with database.writer() as session:
        _make_parents(session)
        upsert(session, Usage.table(), [{**usage, "resource_class_id": 1, "used": 5}])
        upsert(
            session,
            Usage.table(),
            [
                {**usage, "resource_class_id": 1, "used": 6},
                {**usage, "resource_class_id": 2, "used": 7},
            ],
        )
        upsert(session, Usage.table(), [])
    with database.reader() as session:
        rows = session.execute(select(Usage.resource_class_id, Usage.used))
        assert {row.resource_class_id: row.used for row in rows} == {1: 6, 2: 7}
