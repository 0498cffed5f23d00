"""Mapping of instances to the cell that accepted them: one transaction for many reservations."""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence

from sqlalchemy.orm import Session

from armillary.context import RequestContext
from conductor.common.leases import Lease, Leases
from conductor.super_conductor.db import (
    build_requests,
    cleanups,
    host_mappings,
    instance_mappings,
    reservations,
)
from conductor.super_conductor.db.build_requests import Pending
from conductor.super_conductor.db.cleanups import Cleanup, CleanupKind
from objects.instances.build_request import BuildRequest


@dataclasses.dataclass(frozen=True)
class HeldReservation:
    """A leased reservation, and its request's context."""

    lease: Lease
    context: RequestContext


@dataclasses.dataclass(frozen=True)
class MappingResult:
    """Reservations that are ``closed`` (no instances left) or ``lost`` (taken over by others).

    ``deleted`` are instances that their user deleted meanwhile; their cell must delete them.
    """

    deleted: list[str]
    closed: set[str]
    lost: set[str]


def map_to_cell(
    session: Session,
    leases: Leases,
    held: Mapping[str, HeldReservation],
    cell_uuid: str,
    taken: Sequence[BuildRequest],
    *,
    may_have: Callable[[str, str], bool],
) -> MappingResult:
    """Map accepted instances, of the reservations in ``held`` (by ID), to a cell.

    So are their hosts, if ``may_have`` lets the cell have them; see ``CellEnrolments``.
    A reservation whose lease was lost is left unchanged.
    """
    build_requests.lock(session, held.keys())
    ours = leases.renew_each(session, [one.lease for one in held.values()])
    theirs = [one for one in taken if one.reservation_id in ours]
    chosen = [one.selections[0] for one in theirs]
    host_mappings.map_hosts(
        session,
        cell_uuid,
        {
            one.service_host: [one.compute_node_uuid]
            for one in chosen
            if may_have(cell_uuid, one.service_host)
        },
    )
    uuids = {one.instance_uuid for one in theirs}
    deleted: list[str] = []
    moved: list[Pending] = []
    for reservation_id, pending in build_requests.list_pending_of(session, ours).items():
        here = [one for one in pending if one.instance_uuid in uuids]
        moved += here
        deleted += _delete_later(session, here, cell_uuid, held[reservation_id].context)
    _move(session, [one.instance_uuid for one in moved], cell_uuid)
    closed = reservations.delete_empty(session, ours)
    return MappingResult(deleted, closed, held.keys() - ours)


def move_to(
    session: Session, moved: Sequence[Pending], cell_uuid: str, context: RequestContext
) -> list[str]:
    """Map instances of one reservation to a cell (or cell0); return those to delete."""
    deleted = _delete_later(session, moved, cell_uuid, context)
    _move(session, [one.instance_uuid for one in moved], cell_uuid)
    return deleted


def _delete_later(
    session: Session, moved: Sequence[Pending], cell_uuid: str, context: RequestContext
) -> list[str]:
    deleted = [one.instance_uuid for one in moved if one.is_deleting]
    kind = CleanupKind.DELETE
    cleanups.add(session, *(Cleanup(uuid, kind, context, cell_uuid) for uuid in deleted))
    return deleted


def _move(session: Session, instance_uuids: Collection[str], cell_uuid: str) -> None:
    instance_mappings.map_to_cell(session, instance_uuids, cell_uuid)
    build_requests.delete_build_requests(session, instance_uuids)
