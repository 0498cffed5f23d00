"""Queries on flavors: create, get, list, update, delete; and who may use the private ones."""

import uuid
from collections.abc import Mapping
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import raise_if_duplicate
from objects.flavor import Flavor

_COLUMNS = (
    "flavorid", "name", "vcpus", "memory_mb", "root_gb", "ephemeral_gb", "swap_mb", "rxtx_factor",
    "extra_specs", "is_public", "disabled", "description", "created_at", "updated_at",
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


def get_flavor(session: Session, flavor: str, context: RequestContext) -> Flavor:
    """Find by id, else by name. Raises FlavorNotFound, also if the caller may not use it."""
    return _to_object(_get_row(session, flavor, context))


def get_any_flavor(session: Session, flavor: str) -> Flavor:
    """Find by id, else by name, also one that the caller may not use. Raises FlavorNotFound."""
    return _to_object(_find_row(session, flavor))


def list_flavors(
    session: Session, context: RequestContext, *, is_public: bool | None = True
) -> list[Flavor]:
    """Return flavors ordered by id; see ``SuperConductorAPI.list_flavors``."""
    query = sa.select(models.Flavor).order_by(models.Flavor.flavorid)
    if is_public or not context.is_admin:
        query = query.where(sa.or_(models.Flavor.is_public, _is_of_project(context)))
    if is_public is False:
        query = query.where(sa.not_(models.Flavor.is_public))
    return [_to_object(row) for row in session.scalars(query)]


def change_extra_specs(
    session: Session, flavor: str, changes: Mapping[str, str | None], *, now: datetime
) -> Flavor:
    """Set extra specs, None deletes one, others are kept. Raises FlavorNotFound.

    The row is locked: of two requests at the same time, each one's changes stay.
    """
    row = _find_row(session, flavor, is_locked=True)
    changed = {**row.extra_specs, **changes}
    row.extra_specs = {key: value for key, value in changed.items() if value is not None}
    row.updated_at = now
    session.flush()
    return _to_object(row)


def set_description(
    session: Session, flavor: str, description: str | None, *, now: datetime
) -> Flavor:
    """Replace the description. Raises FlavorNotFound."""
    row = _find_row(session, flavor)
    row.description = description
    row.updated_at = now
    session.flush()
    return _to_object(row)


def list_access(session: Session, flavor: str) -> list[str]:
    """Return the projects that may use a private flavor. Raises FlavorNotFound."""
    return _projects(session, _find_row(session, flavor))


def add_access(session: Session, flavor: str, project_id: str) -> list[str]:
    """Grant a project access to a private flavor; return all projects with access.

    Raises FlavorNotFound, FlavorIsPublic, FlavorAccessExists.
    """
    row = _find_row(session, flavor)
    if row.is_public:
        raise exception.FlavorIsPublic(flavor=row.flavorid)
    exists = exception.FlavorAccessExists(flavor=row.flavorid, project_id=project_id)
    with raise_if_duplicate(session, exists):
        session.execute(
            sa.insert(models.FlavorAccess).values(flavorid=row.flavorid, project_id=project_id)
        )
    return _projects(session, row)


def remove_access(session: Session, flavor: str, project_id: str) -> list[str]:
    """Revoke a project's access to a private flavor; return all projects with access.

    Raises FlavorNotFound, FlavorAccessNotFound.
    """
    row = _find_row(session, flavor)
    access = session.get(models.FlavorAccess, (row.flavorid, project_id))
    if access is None:
        raise exception.FlavorAccessNotFound(flavor=row.flavorid, project_id=project_id)
    session.delete(access)
    session.flush()
    return _projects(session, row)


def delete_flavor(session: Session, flavor: str) -> None:
    """Delete a flavor; instances keep their copy. Raises FlavorNotFound."""
    session.delete(_find_row(session, flavor))
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


def _projects(session: Session, row: models.Flavor) -> list[str]:
    column = models.FlavorAccess.project_id
    of_flavor = models.FlavorAccess.flavorid == row.flavorid
    return list(session.scalars(sa.select(column).where(of_flavor).order_by(column)))


def _is_of_project(context: RequestContext) -> sa.ColumnElement[bool]:
    """Return the condition that the caller's project has access to a flavor."""
    return sa.exists().where(
        models.FlavorAccess.flavorid == models.Flavor.flavorid,
        models.FlavorAccess.project_id == context.project_id,
    )


def _get_row(session: Session, flavor: str, context: RequestContext) -> models.Flavor:
    row = _find_row(session, flavor)
    if row.is_public or context.is_admin or context.project_id in _projects(session, row):
        return row
    raise exception.FlavorNotFound(flavor=flavor)


def _find_row(session: Session, flavor: str, *, is_locked: bool = False) -> models.Flavor:
    named = sa.select(models.Flavor).where(models.Flavor.name == flavor)
    if is_locked:
        named = named.with_for_update()
    row = (
        session.get(models.Flavor, flavor, with_for_update=is_locked or None)
        or session.scalars(named).one_or_none()
    )
    if row is None:
        raise exception.FlavorNotFound(flavor=flavor)
    return row


def _to_object(row: models.Flavor) -> Flavor:
    return Flavor.from_values({name: getattr(row, name) for name in _COLUMNS})
