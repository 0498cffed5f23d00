"""Statements on rows: dataclasses whose fields are columns of the table."""

from __future__ import annotations

import contextlib
import dataclasses
import operator
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa
from oslo_db.exception import DBDuplicateEntry
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.orm import DeclarativeBase, Session

from armillary import exception

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def insert(
    session: Session, model: type[DeclarativeBase], rows: Sequence[DataclassInstance]
) -> None:
    """Insert ``rows``, all of one dataclass, in one statement."""
    if rows:
        session.execute(sa.insert(model), _columns(rows))


def insert_missing(
    session: Session, model: type[DeclarativeBase], rows: Sequence[DataclassInstance]
) -> None:
    """Insert ``rows``; a row whose primary key exists is left as it is. Safe under concurrency."""
    if rows:
        statement = _insert_missing(session.get_bind().dialect.name, model)
        session.execute(statement, _columns(rows))


def update(
    session: Session, model: type[DeclarativeBase], *where: sa.ColumnElement[bool], **values: Any
) -> bool:
    """Update the rows that match all conditions; return whether there are any.

    Loaded objects of the session are not updated.
    """
    result: sa.CursorResult[Any] = session.execute(  # type: ignore[assignment]
        sa.update(model).where(*where).values(**values).execution_options(synchronize_session=False)
    )
    return result.rowcount > 0


def delete(session: Session, model: type[DeclarativeBase], *where: sa.ColumnElement[bool]) -> None:
    """Delete the rows that match all conditions."""
    session.execute(sa.delete(model).where(*where))


def from_row(kind: type[T], row: DeclarativeBase, **other: Any) -> T:
    """Return a dataclass with the columns of a row, besides ``other`` fields."""
    names = {field.name for field in dataclasses.fields(kind)} - other.keys()
    return kind(**{name: getattr(row, name) for name in names}, **other)


@contextlib.contextmanager
def raise_if_duplicate(session: Session, error: exception.Exists) -> Iterator[None]:
    """Flush at the end of the block; raise ``error`` if another transaction was first."""
    try:
        yield
        session.flush()
    except DBDuplicateEntry as duplicate:
        raise error from duplicate


def _columns(rows: Sequence[DataclassInstance]) -> list[dict[str, Any]]:
    """Return the rows as SQLAlchemy takes them; ``dataclasses.asdict`` would copy all values."""
    names = [field.name for field in dataclasses.fields(rows[0])]
    values = operator.attrgetter(*names)
    return [dict(zip(names, values(row), strict=True)) for row in rows]


def _insert_missing(dialect: str, model: type[DeclarativeBase]) -> sa.Insert:
    if dialect == "postgresql":
        return postgresql.insert(model).on_conflict_do_nothing()
    if dialect == "sqlite":
        return sqlite.insert(model).on_conflict_do_nothing()
    first_key = sa.inspect(model).primary_key[0]
    # INSERT IGNORE would also accept invalid values.
    return mysql.insert(model).on_duplicate_key_update({first_key.name: first_key})
