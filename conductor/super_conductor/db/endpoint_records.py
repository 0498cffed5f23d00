"""Shared base of cells' and child zones' records: names and transport URLs.

Each record has a UUID, a name unique in its table, a transport URL and a disabled flag. Every
change increments ``metadata_seq``.
"""

import dataclasses
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.db import metadata_seq, models
from conductor.super_conductor.db.statements import raise_if_duplicate

Row = TypeVar("Row", models.Cell, models.Zone)
Record = TypeVar("Record")

CHANGEABLE = ("name", "transport_url", "disabled")


@dataclasses.dataclass(frozen=True)
class Use(Generic[Row]):
    """A use of a record that prevents its removal, or only that without force.

    ``code`` is the reason in ``kwargs["because"]`` of the error; ``reason`` has a ``{count}``.
    """

    code: str
    reason: str
    count: Callable[[Session, Row], int]
    is_forcible: bool


@dataclasses.dataclass(frozen=True)
class RecordTable(Generic[Row, Record]):
    """A table of such records, with the noun and the exceptions for its errors.

    ``check`` raises Invalid for a bad name or transport_url. ``uses`` prevent a removal, in this
    order. ``remove_mappings`` deletes what a removed record leaves. ``is_name_stored``: its name is
    stored where it is used, and cannot be changed then. ``taken`` are reserved UUIDs without a row.
    ``defaults`` are the values of fields that only this table has.
    """

    model: type[Row]
    noun: str
    to_object: Callable[[Row], Record]
    not_found: type[exception.NotFound]
    exists: type[exception.Exists]
    in_use: type[exception.InUse]
    check: Callable[..., None]
    uses: Sequence[Use[Row]]
    remove_mappings: Callable[[Session, Row], None]
    is_name_stored: bool = False
    taken: frozenset[str] = frozenset()
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def create(
        self,
        session: Session,
        /,
        *,
        name: str,
        transport_url: str,
        now: datetime,
        disabled: bool = False,
        chosen_uuid: str | None = None,
        **more: Any,
    ) -> Record:
        """Store a record. Raises ``exists`` for a taken name or UUID, Invalid for a bad value."""
        own_uuid = chosen_uuid or str(uuid.uuid4())
        values = {**self.defaults, **more}
        self.check(name=name, transport_url=transport_url, **values)
        if own_uuid in self.taken or session.get(self.model, own_uuid) is not None:
            raise self.exists(field="UUID", value=own_uuid)
        self._check_name_is_free(session, name)
        row = self.model(
            uuid=own_uuid, name=name, transport_url=transport_url, disabled=disabled,
            created_at=now, updated_at=None, **values,
        )  # fmt: skip
        return self._store(session, row)

    def list(self, session: Session) -> list[Record]:
        """Return all records, ordered by name, including disabled ones."""
        rows = session.scalars(sa.select(self.model).order_by(self.model.name))
        return [self.to_object(row) for row in rows]

    def get(self, session: Session, wanted: str) -> Record:
        """Find by UUID, else by name. Raises ``not_found``."""
        return self.to_object(self._get_row(session, wanted))

    def update(
        self, session: Session, wanted: str, values: dict[str, Any], *, now: datetime
    ) -> Record:
        """Change fields of ``CHANGEABLE`` or own ones.

        Raises as ``create``, and ``not_found``, ``in_use``.
        """
        allowed = [*CHANGEABLE, *self.defaults]
        if unknown := sorted(values.keys() - set(allowed)):
            raise exception.Invalid(
                reason=f"a {self.noun} has no {', '.join(unknown)}; allowed: {', '.join(allowed)}"
            )
        row = self._get_row(session, wanted)
        self.check(**{key: value for key, value in values.items() if key != "disabled"})
        if values.get("name", row.name) != row.name:
            self._check_name_is_free(session, values["name"])
            if self.is_name_stored:
                self._check_unused(session, row, force=False)
        for key, value in values.items():
            setattr(row, key, value)
        row.updated_at = now
        return self._store(session, row)

    def delete(self, session: Session, wanted: str, *, force: bool = False) -> None:
        """Delete a record and, with ``force``, what is left of its use.

        Raises ``not_found``, and ``in_use`` with the reason in ``kwargs["because"]``.
        """
        row = self._get_row(session, wanted)
        self._check_unused(session, row, force=force)
        self.remove_mappings(session, row)
        session.delete(row)
        session.flush()
        metadata_seq.increment_seq(session)

    def check_removable(self, session: Session, wanted: str, *, force: bool = False) -> None:
        """Raise what ``delete`` would raise."""
        self._check_unused(session, self._get_row(session, wanted), force=force)

    def _check_unused(self, session: Session, row: Row, *, force: bool) -> None:
        for use in self.uses:
            found = 0 if force and use.is_forcible else use.count(session, row)
            if found:
                reason = use.reason.format(count=found)
                raise self.in_use(**{self.noun: row.name}, reason=reason, because=use.code)

    def _store(self, session: Session, row: Row) -> Record:
        with raise_if_duplicate(session, self.exists(field="name", value=row.name)):
            session.add(row)
        metadata_seq.increment_seq(session)
        return self.to_object(row)

    def _get_row(self, session: Session, wanted: str) -> Row:
        row = (
            session.get(self.model, wanted)
            or session.scalars(sa.select(self.model).where(self.model.name == wanted)).one_or_none()
        )
        if row is None:
            raise self.not_found(**{self.noun: wanted})
        return row

    def _check_name_is_free(self, session: Session, name: str) -> None:
        if session.scalars(sa.select(self.model.uuid).where(self.model.name == name)).first():
            raise self.exists(field="name", value=name)


def count(session: Session, *where: sa.ColumnElement[bool]) -> int:
    """Return the number of rows that match the conditions, which are all of one table."""
    return session.scalars(sa.select(sa.func.count()).where(*where)).one()
