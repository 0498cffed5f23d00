"""Queries on child zones, for the super conductor and ``armillary-manage``: how each is reached."""

from __future__ import annotations

import enum
import re
import uuid
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from conductor.api_db import facts_seq, models
from conductor.api_db.unique import unique_or
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
    chosen = zone_uuid or str(uuid.uuid4())
    _check_values(name=name, transport_url=transport_url)
    if session.get(models.Zone, chosen) is not None:
        raise exception.ZoneExists(field="UUID", value=chosen)
    _check_name_is_free(session, name)
    row = models.Zone(
        uuid=chosen, name=name, transport_url=transport_url, disabled=disabled, created_at=now,
        updated_at=None,
    )  # fmt: skip
    with unique_or(session, exception.ZoneExists(field="name", value=name)):
        session.add(row)
    facts_seq.raise_seq(session)
    return _to_object(row)


def list_zones(session: Session) -> list[ChildZone]:
    """Return all child zones ordered by name, disabled ones too."""
    rows = session.scalars(sa.select(models.Zone).order_by(models.Zone.name))
    return [_to_object(row) for row in rows]


def get_zone(session: Session, zone: str) -> ChildZone:
    """Find by UUID, else by name. Raises ZoneNotFound."""
    return _to_object(_get_row(session, zone))


def update_zone(session: Session, zone: str, values: dict[str, Any], *, now: datetime) -> ChildZone:
    """Change name, transport_url, disabled. Raises ZoneNotFound, ZoneExists, ZoneInUse, Invalid.

    A zone keeps its name as long as servers live there: their mappings have it.
    """
    if unknown := sorted(values.keys() - {"name", "transport_url", "disabled"}):
        raise exception.Invalid(
            reason=f"a zone has no {', '.join(unknown)}; allowed: name, transport_url, disabled"
        )
    row = _get_row(session, zone)
    _check_values(**{key: value for key, value in values.items() if key != "disabled"})
    if values.get("name", row.name) != row.name:
        _check_name_is_free(session, values["name"])
        _refuse_if(row, DeleteRefused.SERVERS, _count_living(session, row.name))
        _refuse_if(row, DeleteRefused.LEFTOVERS, _count_mapped(session, row.name))
    for key, value in values.items():
        setattr(row, key, value)
    row.updated_at = now
    with unique_or(session, exception.ZoneExists(field="name", value=row.name)):
        session.add(row)
    facts_seq.raise_seq(session)
    return _to_object(row)


def delete_zone(session: Session, zone: str, *, force: bool = False) -> None:
    """Remove a zone and, with ``force``, the mappings of deleted servers there.

    Raises ZoneNotFound, and ZoneInUse with the reason in ``kwargs["because"]``: servers live there
    or are on their way (always), or mappings of deleted ones are left (unless forced).
    """
    row = _get_row(session, zone)
    _refuse_if(row, DeleteRefused.SERVERS, _count_living(session, row.name))
    if not force:
        _refuse_if(row, DeleteRefused.LEFTOVERS, _count_mapped(session, row.name))
    for model in (models.InstanceMapping, models.Cleanup):
        session.execute(
            sa.delete(model)
            .where(_is_below(model.zone_path, row.name))
            .execution_options(synchronize_session=False)
        )
    session.delete(row)
    session.flush()
    facts_seq.raise_seq(session)


_REASONS = {
    DeleteRefused.SERVERS: "{count} servers live there or are on their way; delete them first",
    DeleteRefused.LEFTOVERS: "{count} mappings of deleted servers are left",
}


def _refuse_if(row: models.Zone, because: DeleteRefused, count: int) -> None:
    if count:
        raise exception.ZoneInUse(
            zone=row.name, reason=_REASONS[because].format(count=count), because=because.value
        )


def _count_living(session: Session, name: str) -> int:
    mapping, walk = models.InstanceMapping, models.ZoneWalk
    return _count(
        session, _is_below(mapping.zone_path, name), mapping.queued_for_delete.is_(False)
    ) + _count(session, _is_below(walk.path, name))


def _count_mapped(session: Session, name: str) -> int:
    return _count(session, _is_below(models.InstanceMapping.zone_path, name))


def _count(session: Session, *where: sa.ColumnElement[bool]) -> int:
    return session.scalars(sa.select(sa.func.count()).where(*where)).one()


def _is_below(path: Any, name: str) -> sa.ColumnElement[bool]:
    """Tell whether a path leads to or through a child."""
    below: sa.ColumnElement[bool] = sa.or_(
        path == name, path.startswith(f"{name}/", autoescape=True)
    )
    return below


def _get_row(session: Session, zone: str) -> models.Zone:
    row = (
        session.get(models.Zone, zone)
        or session.scalars(sa.select(models.Zone).where(models.Zone.name == zone)).one_or_none()
    )
    if row is None:
        raise exception.ZoneNotFound(zone=zone)
    return row


def _check_name_is_free(session: Session, name: str) -> None:
    if session.scalars(sa.select(models.Zone.uuid).where(models.Zone.name == name)).first():
        raise exception.ZoneExists(field="name", value=name)


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
