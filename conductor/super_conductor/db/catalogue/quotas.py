"""Queries on quotas: a project's limits, and its usage counted from the mappings."""

import dataclasses
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.orm import Session, aliased

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


Amounts = Mapping[str, tuple[int, int]]
"""Server -> its vCPUs and MiB."""


@dataclasses.dataclass(frozen=True, slots=True)
class PlacedUsage:
    """Usage of a project's servers as placement counts it, without those being scheduled here.

    ``unplaced`` are those and the servers of other zones, ``changes`` is how often the project had
    been locked; both were read before. ``is_last``: it is not read again if another request has
    locked the project since.
    """

    cores: int
    ram: int
    unplaced: Amounts
    changes: int
    is_last: bool = True


class UsageChanged(Exception):
    """Another request of the project was accepted since its usage was read from placement."""


def lock_owner(session: Session, owner_id: str) -> None:
    """Lock the usage of a project, or of a user, until the transaction ends.

    Without it two concurrent requests could both pass the check and exceed the quota. What users
    have in all their projects, key pairs, is counted under the lock of the user.
    """
    insert_missing(session, models.Project, [_Project(owner_id, changes=0)])
    session.execute(
        sa.update(models.Project)
        .where(models.Project.project_id == owner_id)
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
    """Return the servers that count by their flavor.

    They have no cell of this zone, nor has this zone's own attempt at them, or they are being
    unshelved.
    """
    mapping = models.InstanceMapping
    has_no_cell = mapping.cell_uuid.is_(None) & ~_has_placed_attempt()
    rows = session.execute(
        sa.select(mapping.instance_uuid, mapping.vcpus, mapping.memory_mb).where(
            *_is_counted(project_id), sa.or_(has_no_cell, _is_being_unshelved())
        )
    )
    return {uuid: (vcpus, memory_mb) for uuid, vcpus, memory_mb in rows}


def list_scheduled(session: Session, project_id: str) -> list[str]:
    """Return the servers for which a host of this zone is being looked for."""
    mapping = models.InstanceMapping
    is_new = mapping.cell_uuid.is_(None) & mapping.zone_path.is_(None)
    return list(
        session.scalars(
            sa.select(mapping.instance_uuid).where(
                *_is_living(project_id), sa.or_(is_new, _is_being_unshelved())
            )
        )
    )


def count_usage(
    session: Session, project_id: str, placed: PlacedUsage | None = None
) -> dict[str, int]:
    """Return resource -> amount that the project uses now.

    With ``placed`` cores and memory are those of placement, and of servers that are not placed yet.
    Raises UsageChanged if ``placed`` has to be read again.
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
    """Return cores and memory as placement has them, and those of servers that it does not have.

    If the project was locked by another request since placement was read, that request's servers
    may be missing, or be counted twice: then the larger of both counts holds, the last time.
    """
    is_changed = count_changes(session, project_id) > placed.changes + 1
    if is_changed and not placed.is_last:
        raise UsageChanged
    sizes = {**placed.unplaced, **list_unplaced(session, project_id)}.values()
    cores = placed.cores + sum(vcpus for vcpus, _ in sizes)
    ram = placed.ram + sum(memory_mb for _, memory_mb in sizes)
    return (max(cores, recorded[0]), max(ram, recorded[1])) if is_changed else (cores, ram)


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
    return *_is_living(project_id), ~_is_counted_elsewhere()


def _is_living(project_id: str) -> tuple[sa.ColumnElement[bool], ...]:
    mapping = models.InstanceMapping
    return mapping.project_id == project_id, mapping.queued_for_delete.is_(False)


def _is_counted_elsewhere() -> sa.ColumnElement[bool]:
    """Return whether a mapping is a zone's own attempt at a server that has another mapping."""
    attempt = models.ZoneAttempt
    is_own: sa.ColumnElement[bool] = sa.exists().where(
        attempt.local_uuid == models.InstanceMapping.instance_uuid, attempt.origin == ""
    )
    return is_own


def _has_placed_attempt() -> sa.ColumnElement[bool]:
    """Return whether this zone's own attempt at the server of a mapping has a cell."""
    attempt, own = models.ZoneAttempt, aliased(models.InstanceMapping)
    has_one: sa.ColumnElement[bool] = sa.exists().where(
        attempt.instance_uuid == models.InstanceMapping.instance_uuid,
        attempt.origin == "",
        own.instance_uuid == attempt.local_uuid,
        own.cell_uuid.is_not(None),
        own.queued_for_delete.is_(False),
    )
    return has_one


def _is_being_unshelved() -> sa.ColumnElement[bool]:
    """Return whether a host is being looked for, for the offloaded server of a mapping."""
    move = models.Move
    is_moved: sa.ColumnElement[bool] = sa.exists().where(
        move.instance_uuid == models.InstanceMapping.instance_uuid, move.operation == "unshelve"
    )
    return is_moved
