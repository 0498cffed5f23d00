"""Queries on child zones and how to reach them, for conductors and ``armillary-manage``."""

from __future__ import annotations

import enum
import re
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.db import endpoint_records, models
from objects.zones.child_zone import ChildZone

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,64}")


class DeleteRefused(enum.Enum):
    """Reason why a zone cannot be removed, in ``ZoneInUse.kwargs["because"]``."""

    SERVERS = "servers"
    LEFTOVERS = "leftovers"


def create_zone(
    session: Session,
    *,
    name: str,
    transport_url: str,
    now: datetime,
    disabled: bool = False,
    zone_uuid: str | None = None,
) -> ChildZone:
    """Store a zone. Raises ZoneExists for a taken name or UUID, Invalid for a bad value."""
    row = _ZONES.create(
        session, name=name, transport_url=transport_url, disabled=disabled, chosen_uuid=zone_uuid,
        now=now,
    )  # fmt: skip
    return _to_object(row)


def list_zones(session: Session) -> list[ChildZone]:
    """Return all child zones ordered by name, including disabled ones."""
    return [_to_object(row) for row in _ZONES.list_all(session)]


def get_zone(session: Session, zone: str) -> ChildZone:
    """Find by UUID, else by name. Raises ZoneNotFound."""
    return _to_object(_ZONES.get(session, zone))


def update_zone(session: Session, zone: str, values: dict[str, Any], *, now: datetime) -> ChildZone:
    """Change name, transport_url, disabled. Raises ZoneNotFound, ZoneExists, ZoneInUse, Invalid.

    A zone with servers cannot be renamed: their mappings contain its name.
    """

    def refuse_if_used(row: models.Zone) -> None:
        _refuse_if(row, DeleteRefused.SERVERS, _count_living(session, row.name))
        _refuse_if(row, DeleteRefused.LEFTOVERS, _count_mapped(session, row.name))

    return _to_object(_ZONES.update(session, zone, values, now=now, before_rename=refuse_if_used))


def delete_zone(session: Session, zone: str, *, force: bool = False) -> None:
    """Delete a zone and, with ``force``, the mappings of deleted servers there.

    Raises ZoneNotFound. Raises ZoneInUse with the reason in ``kwargs["because"]`` if the zone has
    servers or servers on their way there (always), or mappings of deleted servers (unless forced).
    """
    row = _ZONES.get(session, zone)
    _refuse_if(row, DeleteRefused.SERVERS, _count_living(session, row.name))
    if not force:
        _refuse_if(row, DeleteRefused.LEFTOVERS, _count_mapped(session, row.name))
    for model in (models.InstanceMapping, models.Cleanup):
        session.execute(
            sa.delete(model)
            .where(_is_below(model.zone_path, row.name))
            .execution_options(synchronize_session=False)
        )
    _ZONES.remove(session, row)


_REASONS = {
    DeleteRefused.SERVERS: "servers are there or on their way ({count}); delete them first",
    DeleteRefused.LEFTOVERS: "mappings of deleted servers are left ({count})",
}


def _refuse_if(row: models.Zone, because: DeleteRefused, count: int) -> None:
    if count:
        _ZONES.refuse(row, because, _REASONS[because].format(count=count))


def _count_living(session: Session, name: str) -> int:
    mapping, walk = models.InstanceMapping, models.ZoneWalk
    return endpoint_records.count(
        session, _is_below(mapping.zone_path, name), mapping.queued_for_delete.is_(False)
    ) + endpoint_records.count(session, _is_below(walk.path, name))


def _count_mapped(session: Session, name: str) -> int:
    return endpoint_records.count(session, _is_below(models.InstanceMapping.zone_path, name))


def _is_below(path: Any, name: str) -> sa.ColumnElement[bool]:
    """Return whether a path leads to or through a child zone."""
    below: sa.ColumnElement[bool] = sa.or_(
        path == name, path.startswith(f"{name}/", autoescape=True)
    )
    return below


def _check_values(**values: str) -> None:
    if "name" in values and not _NAME.fullmatch(values["name"]):
        raise exception.Invalid(
            reason="the name of a zone must have 1 to 64 letters, digits, '.', '_' and '-', "
            f"as its [zones] name does, not {values['name']!r:.80}"
        )
    if "transport_url" in values and not values["transport_url"].strip():
        raise exception.Invalid(reason="the transport_url of a zone must not be empty")


def _to_object(row: models.Zone) -> ChildZone:
    return ChildZone.from_values(
        uuid=row.uuid, name=row.name, transport_url=row.transport_url, disabled=row.disabled,
        created_at=row.created_at, updated_at=row.updated_at,
    )  # fmt: skip


_ZONES = endpoint_records.RecordTable(
    models.Zone,
    "zone",
    not_found=exception.ZoneNotFound,
    exists=exception.ZoneExists,
    in_use=exception.ZoneInUse,
    check=_check_values,
)
