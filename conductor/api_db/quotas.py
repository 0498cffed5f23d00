"""Queries on quotas: a project's own limits, and what it uses, counted from the mappings."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.api_db import models, server_groups
from conductor.api_db.insert_missing import insert_missing


def lock_project(session: Session, project_id: str) -> None:
    """Make others who change what this project uses wait until the end of the transaction.

    Without it two requests would both count before either is counted.
    """
    insert_missing(session, models.Project, [{"project_id": project_id, "changes": 0}])
    session.execute(
        sa.update(models.Project)
        .where(models.Project.project_id == project_id)
        .values(changes=models.Project.changes + 1)
    )


def get_limits(session: Session, project_id: str) -> dict[str, int]:
    """Return resource -> limit, for those that were set for this project."""
    query = sa.select(models.QuotaLimit).where(models.QuotaLimit.project_id == project_id)
    return {row.resource: row.limit for row in session.scalars(query)}


def set_limits(session: Session, project_id: str, limits: Mapping[str, int]) -> None:
    """Set limits of a project; those not named stay."""
    for resource, limit in limits.items():
        session.merge(models.QuotaLimit(project_id=project_id, resource=resource, limit=limit))
    session.flush()


def count_usage(session: Session, project_id: str) -> dict[str, int]:
    """Return resource -> amount that the project has now."""
    mapping = models.InstanceMapping
    instances, cores, ram = session.execute(
        sa.select(
            sa.func.count(),
            sa.func.coalesce(sa.func.sum(mapping.vcpus), 0),
            sa.func.coalesce(sa.func.sum(mapping.memory_mb), 0),
        ).where(
            mapping.project_id == project_id,
            mapping.queued_for_delete.is_(False),
            ~_is_counted_already(),
        )
    ).one()
    return {
        "instances": int(instances),
        "cores": int(cores),
        "ram": int(ram),
        "server_groups": server_groups.count_groups(session, project_id),
    }


def _is_counted_already() -> sa.ColumnElement[bool]:
    """Tell whether a mapping is of an attempt of this zone's own, whose server has another one."""
    guest = models.ZoneGuest
    is_own: sa.ColumnElement[bool] = sa.exists().where(
        guest.local_uuid == models.InstanceMapping.instance_uuid, guest.origin == ""
    )
    return is_own
