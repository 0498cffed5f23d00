"""Queries on cells and how to reach them, for the super conductor and ``armillary-manage``."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.db import endpoint_records, models
from objects.cell_mapping import CELL0_UUID, CellMapping


class DeleteRefused(enum.Enum):
    """Reason why a cell cannot be deleted, in ``CellInUse.kwargs["because"]``."""

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
    row = _CELLS.create(
        session, name=name, transport_url=transport_url, disabled=disabled, chosen_uuid=cell_uuid,
        now=now,
    )  # fmt: skip
    return _to_object(row)


def list_cells(session: Session) -> list[CellMapping]:
    """Return all cells except cell0, ordered by name."""
    return [_to_object(row) for row in _CELLS.list_all(session)]


def get_cell(session: Session, cell: str) -> CellMapping:
    """Find by UUID, else by name. Raises CellNotFound."""
    return _to_object(_CELLS.get(session, cell))


def update_cell(
    session: Session, cell: str, values: dict[str, Any], *, now: datetime
) -> CellMapping:
    """Change name, transport_url, disabled. Raises CellNotFound, CellExists, Invalid."""
    return _to_object(_CELLS.update(session, cell, values, now=now))


def delete_cell(session: Session, cell: str, *, force: bool = False) -> None:
    """Delete a cell and, with ``force``, the mappings of its hosts and deleted instances.

    Raises CellNotFound. Raises CellInUse with the reason in ``kwargs["because"]`` if the cell has
    hosts (unless forced), existing instances (always), or mappings of deleted instances (unless
    forced).
    """
    row = _CELLS.get(session, cell)
    if not force:
        _refuse_if(row, DeleteRefused.HOSTS, _count_hosts(session, row.uuid))
    _refuse_if(row, DeleteRefused.INSTANCES, _count_living(session, row.uuid))
    if not force:
        _refuse_if(row, DeleteRefused.LEFTOVERS, _count_mapped(session, row.uuid))
    for model in (models.HostMapping, models.InstanceMapping, models.Cleanup):
        session.execute(sa.delete(model).where(model.cell_uuid == row.uuid))
    _CELLS.remove(session, row)


_REASONS = {
    DeleteRefused.HOSTS: "it has mapped hosts ({count}); delete their services, or force it",
    DeleteRefused.INSTANCES: "it has servers ({count}); delete them first",
    DeleteRefused.LEFTOVERS: "it has mappings of deleted servers ({count}); force it",
}


def _refuse_if(row: models.Cell, because: DeleteRefused, count: int) -> None:
    if count:
        _CELLS.refuse(row, because, _REASONS[because].format(count=count))


def _count_hosts(session: Session, cell_uuid: str) -> int:
    return endpoint_records.count(session, models.HostMapping.cell_uuid == cell_uuid)


def _count_living(session: Session, cell_uuid: str) -> int:
    return endpoint_records.count(
        session,
        models.InstanceMapping.cell_uuid == cell_uuid,
        models.InstanceMapping.queued_for_delete.is_(False),
    ) + endpoint_records.count(session, models.BuildSelection.cell_uuid == cell_uuid)


def _count_mapped(session: Session, cell_uuid: str) -> int:
    return endpoint_records.count(session, models.InstanceMapping.cell_uuid == cell_uuid)


def _check_values(**values: str) -> None:
    for field, value in values.items():
        if not value or not value.strip():
            raise exception.Invalid(reason=f"the {field} of a cell must not be empty")
    if len(values.get("name", "")) > models.NAME_LENGTH:
        raise exception.Invalid(
            reason=f"the name of a cell must have at most {models.NAME_LENGTH} characters"
        )


def _to_object(row: models.Cell) -> CellMapping:
    return CellMapping.from_values(
        uuid=row.uuid, name=row.name, transport_url=row.transport_url, disabled=row.disabled
    )


_CELLS = endpoint_records.RecordTable(
    models.Cell,
    "cell",
    not_found=exception.CellNotFound,
    exists=exception.CellExists,
    in_use=exception.CellInUse,
    check=_check_values,
    taken=frozenset({CELL0_UUID}),
)
