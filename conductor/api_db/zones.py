"""Queries on child zones, for the super conductor and ``armillary-manage``: how each is reached."""

from __future__ import annotations

import enum
import re
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from conductor.api_db import models, reached
from objects.child_zone import ChildZone

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,64}")


class DeleteRefused(enum.Enum):
    """Why a zone cannot be removed: ``ZoneInUse.kwargs["because"]`` is one of these values."""

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
    """Return all child zones ordered by name, disabled ones too."""
    return [_to_object(row) for row in _ZONES.list_all(session)]


def get_zone(session: Session, zone: str) -> ChildZone:
    """Find by UUID, else by name. Raises ZoneNotFound."""
    return _to_object(_ZONES.get(session, zone))


def update_zone(session: Session, zone: str, values: dict[str, Any], *, now: datetime) -> ChildZone:
    """Change name, transport_url, disabled. Raises ZoneNotFound, ZoneExists, ZoneInUse, Invalid.

    A zone keeps its name as long as servers live there: their mappings have it.
    """

    def refuse_if_used(row: models.Zone) -> None:
        _refuse_if(row, DeleteRefused.SERVERS, _count_living(session, row.name))
        _refuse_if(row, DeleteRefused.LEFTOVERS, _count_mapped(session, row.name))

    return _to_object(_ZONES.update(session, zone, values, now=now, before_rename=refuse_if_used))


def delete_zone(session: Session, zone: str, *, force: bool = False) -> None:
    """Remove a zone and, with ``force``, the mappings of deleted servers there.

    Raises ZoneNotFound, and ZoneInUse with the reason in ``kwargs["because"]``: servers live there
    or are on their way (always), or mappings of deleted ones are left (unless forced).
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
    DeleteRefused.SERVERS: "{count} servers live there or are on their way; delete them first",
    DeleteRefused.LEFTOVERS: "{count} mappings of deleted servers are left",
}


def _refuse_if(row: models.Zone, because: DeleteRefused, count: int) -> None:
    if count:
        _ZONES.refuse(row, because, _REASONS[because].format(count=count))


def _count_living(session: Session, name: str) -> int:
    mapping, walk = models.InstanceMapping, models.ZoneWalk
    return reached.count(
        session, _is_below(mapping.zone_path, name), mapping.queued_for_delete.is_(False)
    ) + reached.count(session, _is_below(walk.path, name))


def _count_mapped(session: Session, name: str) -> int:
    return reached.count(session, _is_below(models.InstanceMapping.zone_path, name))


def _is_below(path: Any, name: str) -> sa.ColumnElement[bool]:
    """Tell whether a path leads to or through a child."""
    below: sa.ColumnElement[bool] = sa.or_(
        path == name, path.startswith(f"{name}/", autoescape=True)
    )
    return below


def _check_values(**values: str) -> None:
    if "name" in values and not _NAME.fullmatch(values["name"]):
        raise exception.Invalid(
            reason="the name of a zone has 1 to 64 letters, digits, '.', '_' and '-', "
            f"as its [zones] name; this is {values['name']!r:.80}"
        )
    if "transport_url" in values and not values["transport_url"].strip():
        raise exception.Invalid(reason="the transport_url of a zone must not be empty")


def _to_object(row: models.Zone) -> ChildZone:
    return ChildZone.from_values(
        uuid=row.uuid, name=row.name, transport_url=row.transport_url, disabled=row.disabled,
        created_at=row.created_at, updated_at=row.updated_at,
    )  # fmt: skip


_ZONES = reached.Kind(
    models.Zone,
    "zone",
    not_found=exception.ZoneNotFound,
    exists=exception.ZoneExists,
    in_use=exception.ZoneInUse,
    check=_check_values,
)
