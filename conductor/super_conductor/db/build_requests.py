"""Queries on build requests: instances that no cell has accepted yet."""

import dataclasses
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.common import name_search
from conductor.common.cell_db import instance_columns
from conductor.common.cell_db.stored_object import stored_flag, stored_number, stored_text
from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import delete, insert, insert_missing, update
from objects.base import Primitive
from objects.instance import Instance
from objects.instances.build_request import BuildRequest
from objects.instances.server_answers import InstanceMarker
from objects.instances.server_filters import DELETED, ServerFilters
from objects.request_spec import RequestSpec
from objects.selection import Selection


@dataclasses.dataclass(frozen=True)
class Pending:
    """A build request without its large columns, to decide what to do with it."""

    instance_uuid: str
    cell_uuid: str | None
    """The cell it was scheduled to, which may know of it; None before scheduling."""
    is_deleting: bool


@dataclasses.dataclass(frozen=True, slots=True)
class NewBuildRequest:
    """A build request to insert; ``instance`` is in wire form."""

    instance_uuid: str
    reservation_id: str
    project_id: str
    name: str
    launch_index: int
    instance: Primitive
    created_at: datetime
    is_deleting: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class NewSelections:
    """The scheduler's selections for an instance, the host first, in wire form."""

    instance_uuid: str
    cell_uuid: str
    fence: int
    selections: list[Any]


def add_build_requests(session: Session, rows: Sequence[NewBuildRequest]) -> None:
    """Insert build requests."""
    insert(session, models.BuildRequest, rows)


def find_instance(session: Session, instance_uuid: str) -> Instance | None:
    """Return the instance of a build request; None if there is none or it is being deleted."""
    row = session.get(models.BuildRequest, instance_uuid)
    if row is None or row.is_deleting:
        return None
    return Instance.obj_from_primitive(row.instance)


def known(session: Session, instance_uuids: Collection[str]) -> set[str]:
    """Return those of these instances that have a build request, even one being deleted."""
    row = models.BuildRequest.instance_uuid
    return set(session.scalars(sa.select(row).where(row.in_(instance_uuids))))


def list_page(
    session: Session, *, filters: ServerFilters, limit: int, marker: InstanceMarker | None = None
) -> list[Instance]:
    """Return instances being built, in the same order as a cell's ``list_page``."""
    row, sort = models.BuildRequest, filters.sort
    query = (
        sa.select(models.BuildRequest)
        .where(models.BuildRequest.is_deleting.is_(False), *_conditions(filters))
        .order_by(
            *instance_columns.order_by(_COLUMNS, sort),
            row.created_at.desc(),
            row.instance_uuid.desc(),
        )
        .limit(limit)
    )
    if marker is not None:
        is_older = sa.or_(
            row.created_at < marker.created_at,
            sa.and_(row.created_at == marker.created_at, row.instance_uuid < marker.uuid),
        )
        query = query.where(instance_columns.comes_after(_COLUMNS, sort, marker.values, is_older))
    return [Instance.obj_from_primitive(row.instance) for row in session.scalars(query)]


def list_pending(session: Session, reservation_id: str) -> list[Pending]:
    """Return the pending build requests of a reservation, in request order."""
    return list_pending_of(session, [reservation_id]).get(reservation_id, [])


def list_pending_of(session: Session, reservation_ids: Collection[str]) -> dict[str, list[Pending]]:
    """Return reservation -> pending build requests in request order; absent if there are none."""
    row = models.BuildRequest
    query = (
        sa.select(
            row.reservation_id, row.instance_uuid, models.BuildSelection.cell_uuid, row.is_deleting
        )
        .outerjoin_from(row, models.BuildSelection)
        .where(row.reservation_id.in_(reservation_ids))
        .order_by(row.reservation_id, row.launch_index)
    )
    found: dict[str, list[Pending]] = {}
    for reservation_id, uuid, cell_uuid, is_deleting in session.execute(query):
        found.setdefault(reservation_id, []).append(Pending(uuid, cell_uuid, is_deleting))
    return found


def list_build_requests(session: Session, instance_uuids: Collection[str]) -> list[BuildRequest]:
    """Return build requests with instance, spec and selections, in request order."""
    query = (
        sa.select(models.BuildRequest, models.RequestSpec, models.BuildSelection)
        .join(
            models.RequestSpec,
            models.RequestSpec.instance_uuid == models.BuildRequest.instance_uuid,
        )
        .outerjoin(
            models.BuildSelection,
            models.BuildSelection.instance_uuid == models.BuildRequest.instance_uuid,
        )
        .where(models.BuildRequest.instance_uuid.in_(instance_uuids))
        .order_by(models.BuildRequest.launch_index)
    )
    return [_to_object(row, spec, chosen) for row, spec, chosen in session.execute(query)]


def selected_hosts(session: Session, instance_uuids: Collection[str]) -> list[str]:
    """Return the hosts selected for those of these instances that are not mapped to a cell yet."""
    query = sa.select(models.BuildSelection.selections).where(
        models.BuildSelection.instance_uuid.in_(instance_uuids)
    )
    return [Selection.obj_from_primitive(found[0]).service_host for found in session.scalars(query)]


def instances_selected_for(session: Session, hosts: Collection[str]) -> dict[str, str]:
    """Return host -> an instance that no cell has confirmed and for which the host was selected.

    Alternates count.
    """
    if not hosts:
        return {}
    query = sa.select(models.BuildSelection.instance_uuid, models.BuildSelection.selections)
    return {
        host: uuid
        for uuid, selections in session.execute(query)
        for one in selections
        if (host := Selection.obj_from_primitive(one).service_host) in hosts
    }


def lock(session: Session, reservation_ids: Collection[str]) -> None:
    """Lock the build requests of reservations against deletes until the transaction ends."""
    query = (
        sa.select(models.BuildRequest.instance_uuid)
        .where(models.BuildRequest.reservation_id.in_(reservation_ids))
        .order_by(models.BuildRequest.instance_uuid)
        .with_for_update()
    )
    session.execute(query).all()


def store_selections(session: Session, rows: Sequence[NewSelections]) -> None:
    """Store the scheduler's selections, unless an instance has some."""
    insert_missing(session, models.BuildSelection, rows)


def mark_deleting(session: Session, instance_uuid: str) -> bool:
    """Mark a build request as deleted by its user; False if there is none, or no longer."""
    return (
        update(
            session,
            models.BuildRequest,
            models.BuildRequest.instance_uuid == instance_uuid,
            is_deleting=True,
        )
        > 0
    )


def delete_build_requests(session: Session, instance_uuids: Collection[str]) -> None:
    """Remove the build requests of instances that were mapped or deleted."""
    delete(session, models.BuildRequest, models.BuildRequest.instance_uuid.in_(instance_uuids))


class _Requests:
    """Instances in build requests, for ``instance_columns``."""

    def text(self, *path: str) -> sa.ColumnElement[Any]:
        return stored_text(models.BuildRequest.instance, *path)

    def flag(self, *path: str) -> sa.ColumnElement[Any]:
        return stored_flag(models.BuildRequest.instance, *path)

    def number(self, name: str) -> sa.ColumnElement[Any]:
        return stored_number(models.BuildRequest.instance, name)

    def moment(self, name: str) -> sa.ColumnElement[Any]:
        """Return the only time that is set before a cell has the instance."""
        return sa.type_coerce(
            models.BuildRequest.created_at if name == "created_at" else sa.null(), sa.DateTime
        )


_REQUESTS = _Requests()
_COLUMNS = instance_columns.columns_of(_REQUESTS)


def _conditions(filters: ServerFilters) -> list[sa.ColumnElement[bool]]:
    row = models.BuildRequest
    conditions: list[sa.ColumnElement[bool]] = []
    needs_host = filters.host or filters.ip or filters.ip6
    is_building = filters.status is None or "BUILD" in filters.status.split(",")
    if not is_building or needs_host or filters.existence == DELETED:
        conditions.append(sa.false())
    conditions += instance_columns.conditions(_REQUESTS, _COLUMNS, filters)
    if filters.description is not None:
        description = stored_text(row.instance, "settings", "description")
        conditions.append(name_search.matches(description, filters.description))
    if filters.name:
        conditions.append(name_search.matches(row.name, filters.name))
    if filters.project_id:
        conditions.append(row.project_id == filters.project_id)
    if filters.reservation_id:
        conditions.append(row.reservation_id == filters.reservation_id)
    in_objects = (
        (("user_id",), filters.user_id),
        (("availability_zone",), filters.availability_zone),
        (("vm_state",), filters.vm_state),
        (("flavor", "flavorid"), filters.flavor),
        (("image", "id"), filters.image),
    )
    conditions += [
        stored_text(row.instance, *path) == value for path, value in in_objects if value is not None
    ]
    if filters.uuid:
        conditions.append(row.instance_uuid == filters.uuid)
    if filters.created_before is not None:
        conditions.append(row.created_at < filters.created_before)
    if filters.changed_since is not None:
        conditions.append(row.created_at >= filters.changed_since)
    if filters.changed_before is not None:
        conditions.append(row.created_at <= filters.changed_before)
    return conditions


def _to_object(
    row: models.BuildRequest, spec: models.RequestSpec, chosen: models.BuildSelection | None
) -> BuildRequest:
    selections = [] if chosen is None else chosen.selections
    return BuildRequest.from_values(
        instance_uuid=row.instance_uuid,
        reservation_id=row.reservation_id,
        project_id=row.project_id,
        instance=Instance.obj_from_primitive(row.instance),
        request_spec=RequestSpec.obj_from_primitive(spec.spec),
        selections=[Selection.obj_from_primitive(found) for found in selections],
        fence=0 if chosen is None else chosen.fence,
        created_at=row.created_at,
    )
