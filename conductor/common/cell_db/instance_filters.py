"""Filters and order of lists of instances, as one query."""

from datetime import UTC

import sqlalchemy as sa

from conductor.common import name_search
from conductor.common.cell_db import compute_nodes, instance_columns, models
from conductor.common.cell_db.stored_object import stored_text
from objects.instances.server_answers import InstanceMarker
from objects.instances.server_filters import ALIVE, ANY, ServerFilters

STATUS_TO_VM_STATE = {
    "BUILD": "building",
    "ACTIVE": "active",
    "SHUTOFF": "stopped",
    "VERIFY_RESIZE": "resized",
    "SHELVED": "shelved",
    "SHELVED_OFFLOADED": "shelved_offloaded",
    "SOFT_DELETED": "soft-delete",
    "PAUSED": "paused",
    "SUSPENDED": "suspended",
    "RESCUE": "rescued",
    "ERROR": "error",
}

STATUS_TO_TASK_STATES = {
    "REBOOT": ("rebooting",),
    "HARD_REBOOT": ("rebooting_hard",),
    "REBUILD": ("rebuilding",),
    "RESIZE": ("resize_prep", "resize_migrating", "resize_finish"),
    "REVERT_RESIZE": ("resize_reverting",),
    "MIGRATING": ("migrating",),
}
"""Statuses of servers while something is being done to them."""

_IS_ALIVE = models.Instance.deleted_at.is_(None)


def page_of(filters: ServerFilters, marker: InstanceMarker | None) -> sa.Select[models.Instance]:
    """Return the query for the instances after a marker, or for the first ones."""
    columns, sort = instance_columns.COLUMNS, filters.sort
    query = sa.select(models.Instance).where(*_existence(filters), *_conditions(filters))
    if marker is not None:
        query = query.where(
            instance_columns.comes_after(columns, sort, marker.values, _is_older(marker))
        )
    return query.order_by(
        *instance_columns.order_by(columns, sort),
        models.Instance.created_at.desc(),
        models.Instance.uuid.desc(),
    )


def _existence(filters: ServerFilters) -> list[sa.ColumnElement[bool]]:
    """Return the conditions about when an instance was created and deleted."""
    row = models.Instance
    conditions: list[sa.ColumnElement[bool]] = []
    if filters.existence != ANY:
        is_alive: sa.ColumnElement[bool] = _IS_ALIVE
        if filters.soft_deleted_is_deleted:
            is_alive = sa.and_(is_alive, row.vm_state != STATUS_TO_VM_STATE["SOFT_DELETED"])
        conditions.append(is_alive if filters.existence == ALIVE else sa.not_(is_alive))
    if filters.existed_since is not None:
        conditions.append(sa.or_(_IS_ALIVE, row.deleted_at >= filters.existed_since))
    if filters.created_before is not None:
        conditions.append(row.created_at < filters.created_before)
    return conditions


def _conditions(filters: ServerFilters) -> list[sa.ColumnElement[bool]]:
    row = models.Instance
    equal = (
        (row.project_id, filters.project_id),
        (row.reservation_id, filters.reservation_id),
        (row.host, filters.host),
        (row.uuid, filters.uuid),
        (row.user_id, filters.user_id),
        (row.availability_zone, filters.availability_zone),
        (row.vm_state, filters.vm_state),
        (stored_text(row.flavor, "flavorid"), filters.flavor),
        (stored_text(row.image, "id"), filters.image),
    )
    conditions = [column == value for column, value in equal if value is not None]
    conditions += instance_columns.conditions(
        instance_columns.ROWS, instance_columns.COLUMNS, filters
    )
    if filters.name is not None:
        conditions.append(name_search.matches(row.name, filters.name))
    if filters.description is not None:
        description = stored_text(row.settings, "description")
        conditions.append(name_search.matches(description, filters.description))
    for address, separator in ((filters.ip, "."), (filters.ip6, ":")):
        if address is not None:
            hosts = compute_nodes.with_address(address, separator)
            known = sa.cast(row.addresses, sa.String)
            own = sa.and_(known.contains(separator), name_search.matches(known, address))
            conditions.append(sa.or_(own, sa.tuple_(row.host, row.node).in_(hosts)))
    if filters.status is not None:
        conditions.append(sa.or_(*map(_has_status, filters.status.split(","))))
    changed_at = sa.func.coalesce(row.updated_at, row.created_at)
    if filters.changed_since is not None:
        conditions.append(changed_at >= filters.changed_since)
    if filters.changed_before is not None:
        conditions.append(changed_at <= filters.changed_before)
    return conditions


def _has_status(status: str) -> sa.ColumnElement[bool]:
    if status in STATUS_TO_TASK_STATES:
        return models.Instance.task_state.in_(STATUS_TO_TASK_STATES[status])
    return models.Instance.vm_state == STATUS_TO_VM_STATE.get(status, status)


def _is_older(marker: InstanceMarker) -> sa.ColumnElement[bool]:
    created_at = marker.created_at
    if created_at.tzinfo is None:
        created_at = created_at.replace(tzinfo=UTC)
    created_at = created_at.replace(microsecond=0)
    return sa.or_(
        models.Instance.created_at < created_at,
        sa.and_(models.Instance.created_at == created_at, models.Instance.uuid < marker.uuid),
    )
