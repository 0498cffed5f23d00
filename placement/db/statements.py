"""Bulk statements, each one round trip, on three databases.

They are built once: building one costs SQLAlchemy as much as the database needs to run it.
"""

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import BindParameter, Executable, Row, Table, bindparam, cast, func, insert, select
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.orm import Session

LIST_SIZE_MAX = 5000  # SQLite allows 32,766 parameters in a statement, PostgreSQL 65,535

T = TypeVar("T")
AnyRow = Row[*tuple[Any, ...]]
_Rows = Sequence[Mapping[str, Any]]


def any_of() -> BindParameter[Any]:
    """Return the placeholder for the list in ``column.in_(any_of())``; see :func:`rows_in`."""
    return bindparam("any_of", expanding=True)


def in_lists(values: Iterable[T]) -> Iterator[list[T]]:
    """Split values into lists that fit into one ``IN (...)``."""
    remaining = iter(values)
    while part := list(islice(remaining, LIST_SIZE_MAX)):
        yield part


def rows_in(session: Session, statement: Executable, values: Collection[Any]) -> Iterator[AnyRow]:
    """Yield the rows of a query with :func:`any_of` for these values; none without values."""
    for part in in_lists(values):
        yield from session.execute(statement, {"any_of": part})


def execute_in(
    session: Session, statement: Executable, values: Collection[Any], **more: object
) -> None:
    """Run a statement with :func:`any_of` for these values, if there are any."""
    for part in in_lists(values):
        session.execute(statement, {"any_of": part, **more})


def insert_rows(session: Session, table: Table, rows: _Rows) -> None:
    """Insert rows with equal columns."""
    if not rows:
        return
    match session.get_bind().dialect.name:
        case "postgresql":
            session.execute(_insert_arrays(table, tuple(rows[0])), _as_arrays(rows))
        case "sqlite":
            _insert_sqlite(table, tuple(rows[0])).execute(session, rows)
        case _:
            session.execute(insert(table), rows)


def upsert(session: Session, table: Table, rows: _Rows) -> None:
    """Insert complete rows; where the primary key exists, update the other columns instead."""
    if not rows:
        return
    match session.get_bind().dialect.name:
        case "postgresql":
            session.execute(_upsert_postgresql(table), _as_arrays(rows))
        case "sqlite":
            _upsert_sqlite(table).execute(session, rows)
        case _:
            session.execute(_upsert_mysql(table), rows)


@functools.cache
def _upsert_postgresql(table: Table) -> postgresql.Insert:
    statement = _insert_arrays(table, tuple(table.columns.keys()))
    values = {name: statement.excluded[name] for name in _values(table)}
    return statement.on_conflict_do_update(index_elements=[*table.primary_key], set_=values)


@functools.cache
def _insert_sqlite(table: Table, names: tuple[str, ...]) -> "_SQLiteInsert":
    return _SQLiteInsert(sqlite.insert(table), table, names)


@functools.cache
def _upsert_sqlite(table: Table) -> "_SQLiteInsert":
    statement = sqlite.insert(table)
    values = {name: statement.excluded[name] for name in _values(table)}
    statement = statement.on_conflict_do_update(index_elements=[*table.primary_key], set_=values)
    return _SQLiteInsert(statement, table, tuple(table.columns.keys()))


class _SQLiteInsert:
    """A statement whose rows go to SQLite's driver as tuples.

    SQLAlchemy would make a dictionary and a list of the parameters of each row, which takes longer
    than SQLite needs to store it.
    """

    def __init__(self, statement: sqlite.Insert, table: Table, names: tuple[str, ...]) -> None:
        dialect = sqlite.dialect()
        compiled = statement.compile(dialect=dialect, column_keys=[*names])
        self._text = str(compiled)
        self._columns = [
            (name, table.columns[name].type.dialect_impl(dialect).bind_processor(dialect))
            for name in compiled.positiontup or ()
        ]

    def execute(self, session: Session, rows: _Rows) -> None:
        """Store the rows; each has a value for all columns of the statement."""
        columns = self._columns
        values = [
            tuple([row[name] if to_db is None else to_db(row[name]) for name, to_db in columns])
            for row in rows
        ]
        session.connection().exec_driver_sql(self._text, values)


@functools.cache
def _upsert_mysql(table: Table) -> mysql.Insert:
    statement = mysql.insert(table)
    return statement.on_duplicate_key_update(
        {name: statement.inserted[name] for name in _values(table)}
    )


@functools.cache
def _insert_arrays(table: Table, names: tuple[str, ...]) -> postgresql.Insert:
    """Return a statement for any number of rows: each column of values is one parameter."""
    kinds = [postgresql.ARRAY(table.columns[name].type) for name in names]
    columns = [
        func.unnest(cast(bindparam(name, type_=kind), kind))
        for name, kind in zip(names, kinds, strict=True)
    ]
    return postgresql.insert(table).from_select([*names], select(*columns))


def _as_arrays(rows: _Rows) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def _values(table: Table) -> list[str]:
    return [column.name for column in table.columns if not column.primary_key]
