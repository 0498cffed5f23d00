"""Queries on cells, for the super conductor and ``armillary-manage``: how each is reached."""

from __future__ import annotations

import enum
import uuid
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from conductor.api_db import facts_seq, models
from conductor.api_db.unique import unique_or
from objects.cell_mapping import CELL0_UUID, CellMapping


class DeleteRefused(enum.Enum):
    """Why a cell cannot be deleted: ``CellInUse.kwargs["because"]`` is one of these values."""

    HOSTS = "hosts"
    INSTANCES = "instances"
    LEFTOVERS = "leftovers"


def create_cell(
    session: Session,
    *,
    name: str,
    transport_url: str,
    now: datetime,
    disabled: bool = False,
    cell_uuid: str | None = None,
) -> CellMapping:
    """Store a cell. Raises CellExists for a taken name or UUID, Invalid for a bad value."""
    chosen = cell_uuid or str(uuid.uuid4())
    _check_values(name=name, transport_url=transport_url)
    if chosen == CELL0_UUID or session.get(models.Cell, chosen) is not None:
        raise exception.CellExists(field="UUID", value=chosen)
    _check_name_is_free(session, name)
    row = models.Cell(
        uuid=chosen, name=name, transport_url=transport_url, disabled=disabled, created_at=now,
        updated_at=None,
    )  # fmt: skip
    with unique_or(session, exception.CellExists(field="name", value=name)):
        session.add(row)
    facts_seq.raise_seq(session)
    return _to_object(row)


def list_cells(session: Session) -> list[CellMapping]:
    """Return all cells ordered by name; cell0 is not among them."""
    rows = session.scalars(sa.select(models.Cell).order_by(models.Cell.name))
    return [_to_object(row) for row in rows]


def get_cell(session: Session, cell: str) -> CellMapping:
    """Find by UUID, else by name. Raises CellNotFound."""
    return _to_object(_get_row(session, cell))


def update_cell(
    session: Session, cell: str, values: dict[str, Any], *, now: datetime
) -> CellMapping:
    """Change name, transport_url, disabled. Raises CellNotFound, CellExists, Invalid."""
    if unknown := sorted(values.keys() - {"name", "transport_url", "disabled"}):
        raise exception.Invalid(
            reason=f"a cell has no {', '.join(unknown)}; allowed: name, transport_url, disabled"
        )
    row = _get_row(session, cell)
    _check_values(**{key: value for key, value in values.items() if key != "disabled"})
    if values.get("name", row.name) != row.name:
        _check_name_is_free(session, values["name"])
    for key, value in values.items():
        setattr(row, key, value)
    row.updated_at = now
    with unique_or(session, exception.CellExists(field="name", value=row.name)):
        session.add(row)
    facts_seq.raise_seq(session)
    return _to_object(row)


def delete_cell(session: Session, cell: str, *, force: bool = False) -> None:
    """Remove a cell and, with ``force``, the mappings of its hosts and deleted instances.

    Raises CellNotFound, and CellInUse with the reason in ``kwargs["because"]``: it has hosts
    (unless forced), it has living instances (always), or mappings of deleted ones are left (unless
    forced).
    """
    row = _get_row(session, cell)
    if not force:
        _refuse_if(row, DeleteRefused.HOSTS, _count_hosts(session, row.uuid))
    _refuse_if(row, DeleteRefused.INSTANCES, _count_living(session, row.uuid))
    if not force:
        _refuse_if(row, DeleteRefused.LEFTOVERS, _count_mapped(session, row.uuid))
    for model in (models.HostMapping, models.InstanceMapping, models.Cleanup):
        session.execute(sa.delete(model).where(model.cell_uuid == row.uuid))
    session.delete(row)
    session.flush()
    facts_seq.raise_seq(session)


_REASONS = {
    DeleteRefused.HOSTS: "{count} hosts are mapped to it; delete their services, or force it",
    DeleteRefused.INSTANCES: "{count} servers live in it; delete them first",
    DeleteRefused.LEFTOVERS: "{count} mappings of deleted servers are left; force it",
}


def _refuse_if(row: models.Cell, because: DeleteRefused, count: int) -> None:
    if count:
        raise exception.CellInUse(
            cell=row.name, reason=_REASONS[because].format(count=count), because=because.value
        )


def _count_hosts(session: Session, cell_uuid: str) -> int:
    return _count(session, models.HostMapping.cell_uuid == cell_uuid)


def _count_living(session: Session, cell_uuid: str) -> int:
    return _count(
        session,
        models.InstanceMapping.cell_uuid == cell_uuid,
        models.InstanceMapping.queued_for_delete.is_(False),
    ) + _count(session, models.BuildSelection.cell_uuid == cell_uuid)


def _count_mapped(session: Session, cell_uuid: str) -> int:
    return _count(session, models.InstanceMapping.cell_uuid == cell_uuid)


def _count(session: Session, *where: sa.ColumnElement[bool]) -> int:
    return session.scalars(sa.select(sa.func.count()).where(*where)).one()


def _get_row(session: Session, cell: str) -> models.Cell:
    row = (
        session.get(models.Cell, cell)
        or session.scalars(sa.select(models.Cell).where(models.Cell.name == cell)).one_or_none()
    )
    if row is None:
        raise exception.CellNotFound(cell=cell)
    return row


def _check_name_is_free(session: Session, name: str) -> None:
    if session.scalars(sa.select(models.Cell.uuid).where(models.Cell.name == name)).first():
        raise exception.CellExists(field="name", value=name)


def _check_values(**values: str) -> None:
    for field, value in values.items():
        if not value or not value.strip():
            raise exception.Invalid(reason=f"the {field} of a cell must not be empty")
    if len(values.get("name", "")) > models.NAME_LENGTH:
        raise exception.Invalid(
            reason=f"the name of a cell has at most {models.NAME_LENGTH} characters"
        )


def _to_object(row: models.Cell) -> CellMapping:
    return CellMapping.from_values(
        uuid=row.uuid, name=row.name, transport_url=row.transport_url, disabled=row.disabled
    )
