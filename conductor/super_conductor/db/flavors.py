"""Queries on flavors: create, get, list, update, delete."""

import uuid
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import raise_if_duplicate
from objects.flavor import Flavor

_COLUMNS = (
    "flavorid", "name", "vcpus", "memory_mb", "root_gb", "ephemeral_gb", "swap_mb", "extra_specs",
    "is_public", "disabled", "description", "created_at", "updated_at",
)  # fmt: skip
_BOUNDS = (("vcpus", 1), ("memory_mb", 1), ("root_gb", 0), ("ephemeral_gb", 0), ("swap_mb", 0))
_INTEGER_MAX = 2**31 - 1


def create_flavor(session: Session, flavor: Flavor, *, now: datetime) -> Flavor:
    """Store a flavor; an empty flavorid gets a UUID. Raises FlavorExists, Invalid."""
    flavorid = flavor.flavorid or str(uuid.uuid4())
    _check(flavor)
    for field, value in (("ID", flavorid), ("name", flavor.name)):
        column = models.Flavor.flavorid if field == "ID" else models.Flavor.name
        if session.scalars(sa.select(column).where(column == value)).first() is not None:
            raise exception.FlavorExists(field=field, value=value)
    values = {name: getattr(flavor, name) for name in _COLUMNS}
    row = models.Flavor(**{**values, "flavorid": flavorid, "created_at": now, "updated_at": None})
    with raise_if_duplicate(session, exception.FlavorExists(field="name", value=flavor.name)):
        session.add(row)
    return _to_object(row)


def get_flavor(session: Session, flavor: str) -> Flavor:
    """Find by id, else by name. Raises FlavorNotFound."""
    return _to_object(_get_row(session, flavor))


def list_flavors(session: Session) -> list[Flavor]:
    """Return all flavors ordered by id."""
    rows = session.scalars(sa.select(models.Flavor).order_by(models.Flavor.flavorid))
    return [_to_object(row) for row in rows]


def set_extra_specs(
    session: Session, flavor: str, extra_specs: dict[str, str], *, now: datetime
) -> Flavor:
    """Replace the extra specs. Raises FlavorNotFound."""
    row = _get_row(session, flavor)
    row.extra_specs = extra_specs
    row.updated_at = now
    session.flush()
    return _to_object(row)


def delete_flavor(session: Session, flavor: str) -> None:
    """Delete a flavor; instances keep their copy. Raises FlavorNotFound."""
    session.delete(_get_row(session, flavor))
    session.flush()


def _check(flavor: Flavor) -> None:
    if not flavor.name.strip():
        raise exception.Invalid(reason="the name of a flavor must not be empty")
    for field, least in _BOUNDS:
        value = getattr(flavor, field)
        if not least <= value <= _INTEGER_MAX:
            raise exception.Invalid(
                reason=f"{field} of a flavor must be {least} to {_INTEGER_MAX}, not {value}"
            )


def _get_row(session: Session, flavor: str) -> models.Flavor:
    row = (
        session.get(models.Flavor, flavor)
        or session.scalars(
            sa.select(models.Flavor).where(models.Flavor.name == flavor)
        ).one_or_none()
    )
    if row is None:
        raise exception.FlavorNotFound(flavor=flavor)
    return row


def _to_object(row: models.Flavor) -> Flavor:
    return Flavor.from_values({name: getattr(row, name) for name in _COLUMNS})
