"""Queries on cells and how to reach them, for the super conductor and ``armillary-manage``."""

from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.db import models
from conductor.super_conductor.db.endpoint_records import RecordTable, Use, count
from conductor.super_conductor.db.host_mappings import HostMapping
from conductor.super_conductor.db.statements import delete
from objects.cell_mapping import CELL0_UUID, CellMapping


def _count_hosts(session: Session, row: models.Cell) -> int:
    return count(session, models.HostMapping.cell_uuid == row.uuid)


def _count_living(session: Session, row: models.Cell) -> int:
    mapping = models.InstanceMapping
    return count(
        session, mapping.cell_uuid == row.uuid, mapping.queued_for_delete.is_(False)
    ) + count(session, models.BuildSelection.cell_uuid == row.uuid)


def _count_mapped(session: Session, row: models.Cell) -> int:
    return count(session, models.InstanceMapping.cell_uuid == row.uuid)


def _remove_mappings(session: Session, row: models.Cell) -> None:
    for model in (models.HostMapping, models.InstanceMapping, models.Cleanup):
        delete(session, model, model.cell_uuid == row.uuid)


def _check_values(**values: str) -> None:
    for field, value in values.items():
        if not value or not value.strip():
            raise exception.Invalid(reason=f"the {field} of a cell must not be empty")
    if len(values.get("name", "")) > models.NAME_LENGTH:
        raise exception.Invalid(
            reason=f"the name of a cell must have at most {models.NAME_LENGTH} characters"
        )


def _to_object(row: models.Cell) -> CellMapping:
    return CellMapping(row.uuid, row.name, row.transport_url, row.disabled)


_USES = (
    Use(
        "hosts", "it has mapped hosts ({count}); delete their services, or force it",
        _count_hosts, is_forcible=True,
    ),
    Use("instances", "it has servers ({count}); delete them first", _count_living, False),
    Use(
        "leftovers", "it has mappings of deleted servers ({count}); force it",
        _count_mapped, is_forcible=True,
    ),
)  # fmt: skip

_CELLS = RecordTable(
    models.Cell,
    "cell",
    _to_object,
    not_found=exception.CellNotFound,
    exists=exception.CellExists,
    in_use=exception.CellInUse,
    check=_check_values,
    uses=_USES,
    remove_mappings=_remove_mappings,
    taken=frozenset({CELL0_UUID}),
)
"""All cells except cell0, which has no row."""

create_cell = _CELLS.create
list_cells = _CELLS.list
get_cell = _CELLS.get
update_cell = _CELLS.update
delete_cell = _CELLS.delete
check_removable = _CELLS.check_removable


def check_enabled(session: Session, mapping: HostMapping) -> None:
    """Check that a host may get servers that its cell does not have. Raises CellDisabled."""
    cell = session.get(models.Cell, mapping.cell_uuid)
    if cell is not None and cell.disabled:
        raise exception.CellDisabled(host=mapping.host, cell=cell.name)
