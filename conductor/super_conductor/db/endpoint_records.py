"""Shared base of cells' and child zones' records: names and transport URLs.

Each record has a UUID, a name unique in its table, a transport URL and a disabled flag. Every
change increments ``facts_seq``.
"""

from __future__ import annotations

import dataclasses
import enum
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Generic, NoReturn, TypeVar

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.db import metadata_seq, models
from conductor.super_conductor.db.duplicate_keys import raise_if_duplicate

Row = TypeVar("Row", models.Cell, models.Zone)

CHANGEABLE = ("name", "transport_url", "disabled")


@dataclasses.dataclass(frozen=True)
class RecordTable(Generic[Row]):
    """A table of such records, with the noun and the exceptions for its errors.

    ``check`` raises Invalid for a bad name or transport_url. ``taken`` are reserved UUIDs that have
    no row.
    """

    model: type[Row]
    noun: str
    not_found: type[exception.NotFound]
    exists: type[exception.Exists]
    in_use: type[exception.InUse]
    check: Callable[..., None]
    taken: frozenset[str] = frozenset()

    def create(
        self,
        session: Session,
        *,
        name: str,
        transport_url: str,
        disabled: bool,
        chosen_uuid: str | None,
        now: datetime,
    ) -> Row:
        """Store a record. Raises ``exists`` for a taken name or UUID, and what ``check`` raises."""
        own_uuid = chosen_uuid or str(uuid.uuid4())
        self.check(name=name, transport_url=transport_url)
        if own_uuid in self.taken or session.get(self.model, own_uuid) is not None:
            raise self.exists(field="UUID", value=own_uuid)
        self._check_name_is_free(session, name)
        row = self.model(
            uuid=own_uuid, name=name, transport_url=transport_url, disabled=disabled,
            created_at=now, updated_at=None,
        )  # fmt: skip
        with raise_if_duplicate(session, self.exists(field="name", value=name)):
            session.add(row)
        metadata_seq.increment_seq(session)
        return row

    def list_all(self, session: Session) -> Sequence[Row]:
        """Return all records, ordered by name."""
        return session.scalars(sa.select(self.model).order_by(self.model.name)).all()

    def get(self, session: Session, wanted: str) -> Row:
        """Find by UUID, else by name. Raises ``not_found``."""
        row = (
            session.get(self.model, wanted)
            or session.scalars(sa.select(self.model).where(self.model.name == wanted)).one_or_none()
        )
        if row is None:
            raise self.not_found(**{self.noun: wanted})
        return row

    def update(
        self,
        session: Session,
        wanted: str,
        values: dict[str, Any],
        *,
        now: datetime,
        before_rename: Callable[[Row], None] = lambda row: None,
    ) -> Row:
        """Change fields of ``CHANGEABLE``; ``before_rename`` may refuse a new name.

        Raises ``not_found``, ``exists``, Invalid.
        """
        if unknown := sorted(values.keys() - set(CHANGEABLE)):
            raise exception.Invalid(
                reason=f"a {self.noun} has no {', '.join(unknown)}; "
                f"allowed: {', '.join(CHANGEABLE)}"
            )
        row = self.get(session, wanted)
        self.check(**{key: value for key, value in values.items() if key != "disabled"})
        if values.get("name", row.name) != row.name:
            self._check_name_is_free(session, values["name"])
            before_rename(row)
        for key, value in values.items():
            setattr(row, key, value)
        row.updated_at = now
        with raise_if_duplicate(session, self.exists(field="name", value=row.name)):
            session.add(row)
        metadata_seq.increment_seq(session)
        return row

    def remove(self, session: Session, row: Row) -> None:
        """Delete a record that is no longer referenced."""
        session.delete(row)
        session.flush()
        metadata_seq.increment_seq(session)

    def refuse(self, row: Row, because: enum.Enum, reason: str) -> NoReturn:
        """Raise ``in_use`` with ``kwargs["because"]`` as a code and a sentence as the reason."""
        raise self.in_use(**{self.noun: row.name}, reason=reason, because=because.value)

    def _check_name_is_free(self, session: Session, name: str) -> None:
        if session.scalars(sa.select(self.model.uuid).where(self.model.name == name)).first():
            raise self.exists(field="name", value=name)


def count(session: Session, *where: sa.ColumnElement[bool]) -> int:
    """Return the number of rows that match the conditions, which are all of one table."""
    return session.scalars(sa.select(sa.func.count()).where(*where)).one()
