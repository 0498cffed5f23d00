"""Queries on quotas: a project's limits, and its usage counted from the mappings."""

import dataclasses
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.super_conductor.db import models
from conductor.super_conductor.db.catalogue import server_groups
from conductor.super_conductor.db.statements import insert_missing, update

OF_ALL_PROJECTS = ""
"""In place of a project's id: the limits of projects that have no own."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Project:
    project_id: str
    changes: int


@dataclasses.dataclass(frozen=True, slots=True)
class _Limit:
    project_id: str
    resource: str
    limit: int


@dataclasses.dataclass(frozen=True, slots=True)
class PlacedUsage:
    """Usage of a project's servers as placement counts it.

    ``unplaced`` has the vCPUs and MiB of servers that no cell had before that was read,
    ``changes`` is how often the project had been locked by then.
    """

    cores: int
    ram: int
    unplaced: Mapping[str, tuple[int, int]]
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
    """Set limits of a project; other limits are unchanged. Safe under concurrency."""
    rows = [_Limit(project_id, resource, limit) for resource, limit in sorted(limits.items())]
    insert_missing(session, models.QuotaLimit, rows)
    for row in rows:
        is_it = (models.QuotaLimit.project_id == project_id) & (
            models.QuotaLimit.resource == row.resource
        )
        update(session, models.QuotaLimit, is_it, limit=row.limit)


def delete_limits(session: Session, project_id: str) -> None:
    """Delete the limits set for a project: the defaults are its limits again."""
    of_project = models.QuotaLimit.project_id == project_id
    session.execute(sa.delete(models.QuotaLimit).where(of_project))


def count_changes(session: Session, project_id: str) -> int:
    """Return how often a project was locked."""
    query = sa.select(models.Project.changes).where(models.Project.project_id == project_id)
    return session.scalar(query) or 0


def list_unplaced(session: Session, project_id: str) -> dict[str, tuple[int, int]]:
    """Return server -> vCPUs and MiB of those that no cell of this zone has."""
    mapping = models.InstanceMapping
    rows = session.execute(
        sa.select(mapping.instance_uuid, mapping.vcpus, mapping.memory_mb).where(
            *_is_counted(project_id), mapping.cell_uuid.is_(None)
        )
    )
    return {uuid: (vcpus, memory_mb) for uuid, vcpus, memory_mb in rows}


def count_usage(
    session: Session, project_id: str, placed: PlacedUsage | None = None
) -> dict[str, int]:
    """Return resource -> amount that the project uses now.

    With ``placed`` cores and memory are those of placement, and of servers that are not placed yet.
    """
    count, cores, ram = _sums(session, *_is_counted(project_id))
    if placed is not None:
        cores, ram = _with_placed(session, project_id, placed, (cores, ram))
    return {
        "instances": count,
        "cores": cores,
        "ram": ram,
        "server_groups": server_groups.count_groups(session, project_id),
    }


def _with_placed(
    session: Session, project_id: str, placed: PlacedUsage, recorded: tuple[int, int]
) -> tuple[int, int]:
    """Return cores and memory as placement has them, without those counted for other zones.

    If the project was locked by another request since placement was read, that request's servers
    may be missing; then the larger of both counts holds.
    """
    sizes = {**placed.unplaced, **list_unplaced(session, project_id)}.values()
    _, guest_cores, guest_ram = _sums(
        session,
        models.InstanceMapping.project_id == project_id,
        models.InstanceMapping.queued_for_delete.is_(False),
        _is_counted_elsewhere(),
    )
    cores = max(0, placed.cores - guest_cores) + sum(vcpus for vcpus, _ in sizes)
    ram = max(0, placed.ram - guest_ram) + sum(memory_mb for _, memory_mb in sizes)
    if count_changes(session, project_id) > placed.changes + 1:
        return max(cores, recorded[0]), max(ram, recorded[1])
    return cores, ram


def _sums(session: Session, *where: sa.ColumnElement[bool]) -> tuple[int, int, int]:
    """Return number, vCPUs and MiB of the mappings that match."""
    mapping = models.InstanceMapping
    count, cores, ram = session.execute(
        sa.select(
            sa.func.count(),
            sa.func.coalesce(sa.func.sum(mapping.vcpus), 0),
            sa.func.coalesce(sa.func.sum(mapping.memory_mb), 0),
        ).where(*where)
    ).one()
    return int(count), int(cores), int(ram)


def _is_counted(project_id: str) -> tuple[sa.ColumnElement[bool], ...]:
    """Return the conditions of mappings that count against a project's quota here."""
    mapping = models.InstanceMapping
    return (
        mapping.project_id == project_id,
        mapping.queued_for_delete.is_(False),
        ~_is_counted_elsewhere(),
    )


def _is_counted_elsewhere() -> sa.ColumnElement[bool]:
    """Return whether a mapping is a zone's own attempt at a server that has another mapping."""
    attempt = models.ZoneAttempt
    is_own: sa.ColumnElement[bool] = sa.exists().where(
        attempt.local_uuid == models.InstanceMapping.instance_uuid, attempt.origin == ""
    )
    return is_own
