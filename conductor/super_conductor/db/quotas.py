"""Queries on quotas: a project's limits, and its usage counted from the mappings."""

import dataclasses
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.super_conductor.db import models, server_groups
from conductor.super_conductor.db.statements import insert_missing

OF_ALL_PROJECTS = ""
"""In place of a project's id: the limits of projects that have no own."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Project:
    project_id: str
    changes: int


def lock_project(session: Session, project_id: str) -> None:
    """Lock a project's usage against concurrent changes until the transaction ends.

    Without it two concurrent requests could both pass the check and exceed the quota.
    """
    insert_missing(session, models.Project, [_Project(project_id, changes=0)])
    session.execute(
        sa.update(models.Project)
        .where(models.Project.project_id == project_id)
        .values(changes=models.Project.changes + 1)
    )


def get_limits(session: Session, project_id: str) -> dict[str, int]:
    """Return resource -> limit for the limits set for this project, or as defaults for all."""
    of_both = models.QuotaLimit.project_id.in_((OF_ALL_PROJECTS, project_id))
    rows = session.scalars(sa.select(models.QuotaLimit).where(of_both)).all()
    own = {row.resource: row.limit for row in rows if row.project_id == project_id}
    return {row.resource: own.get(row.resource, row.limit) for row in rows}


def set_limits(session: Session, project_id: str, limits: Mapping[str, int]) -> None:
    """Set limits of a project; other limits are unchanged."""
    for resource, limit in limits.items():
        session.merge(models.QuotaLimit(project_id=project_id, resource=resource, limit=limit))
    session.flush()


def delete_limits(session: Session, project_id: str) -> None:
    """Delete the limits set for a project: the defaults are its limits again."""
    of_project = models.QuotaLimit.project_id == project_id
    session.execute(sa.delete(models.QuotaLimit).where(of_project))


def count_usage(session: Session, project_id: str) -> dict[str, int]:
    """Return resource -> amount that the project uses now."""
    mapping = models.InstanceMapping
    instances, cores, ram = session.execute(
        sa.select(
            sa.func.count(),
            sa.func.coalesce(sa.func.sum(mapping.vcpus), 0),
            sa.func.coalesce(sa.func.sum(mapping.memory_mb), 0),
        ).where(
            mapping.project_id == project_id,
            mapping.queued_for_delete.is_(False),
            ~_is_counted_elsewhere(),
        )
    ).one()
    return {
        "instances": int(instances),
        "cores": int(cores),
        "ram": int(ram),
        "server_groups": server_groups.count_groups(session, project_id),
    }


def _is_counted_elsewhere() -> sa.ColumnElement[bool]:
    """Return whether a mapping is a zone's own attempt at a server that has another mapping."""
    guest = models.ZoneAttempt
    is_own: sa.ColumnElement[bool] = sa.exists().where(
        guest.local_uuid == models.InstanceMapping.instance_uuid, guest.origin == ""
    )
    return is_own
