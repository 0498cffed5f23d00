"""Queries on unfinished builds, and their stages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.orm import Session

from conductor.common.cell_db import models
from conductor.common.leases import Lease
from objects.instances.build_request import BuildRequest


class Stage:
    """Next step of a build."""

    CLAIM = "claim"
    """Claim the current attempt's host, an alternate, in placement."""
    BUILD = "build"
    """The host is claimed: its agent has to build and to report."""
    EXHAUSTED = "exhausted"
    """No alternate is left: release the claims and end in ERROR."""
    ABORTED = "aborted"
    """The error is not specific to the host: release the claims and end in ERROR."""


def insert(
    session: Session,
    requests: Sequence[BuildRequest],
    leases: Mapping[str, Lease],
    *,
    now: datetime,
) -> None:
    """Insert builds at their first attempt, each under its instance's lease; one statement."""
    values = [
        {
            "instance_uuid": request.instance_uuid,
            "stage": Stage.BUILD,
            "attempt": 1,
            "position": 0,
            "fence": request.fence,
            "selections": [selection.obj_to_primitive() for selection in request.selections],
            "request_spec": request.request_spec.obj_to_primitive(),
            "tries": 0,
            "created_at": now,
            **leases[request.instance_uuid].columns,
        }
        for request in requests
    ]
    if values:
        session.execute(sa.insert(models.InstanceBuild), values)


def list_by_uuids(
    session: Session, instance_uuids: Collection[str]
) -> Sequence[models.InstanceBuild]:
    """Return the unfinished builds of these instances."""
    query = sa.select(models.InstanceBuild).where(
        models.InstanceBuild.instance_uuid.in_(instance_uuids)
    )
    return session.scalars(query).all()


def lock(session: Session, instance_uuid: str) -> models.InstanceBuild | None:
    """Lock a build, after its instance; None if it has ended."""
    return lock_all(session, [instance_uuid]).get(instance_uuid)


def lock_all(session: Session, instance_uuids: Collection[str]) -> dict[str, models.InstanceBuild]:
    """Lock builds, after their instances; return them by instance."""
    return {row.instance_uuid: row for row in session.scalars(_locking(instance_uuids))}


def lock_without_specs(
    session: Session, instance_uuids: Collection[str]
) -> dict[str, models.InstanceBuild]:
    """As :func:`lock_all`, but load selections and request specs only on access."""
    row = models.InstanceBuild
    query = _locking(instance_uuids).options(orm.defer(row.selections), orm.defer(row.request_spec))
    return {found.instance_uuid: found for found in session.scalars(query)}


def _locking(instance_uuids: Collection[str]) -> sa.Select[models.InstanceBuild]:
    return (
        sa.select(models.InstanceBuild)
        .where(models.InstanceBuild.instance_uuid.in_(instance_uuids))
        .order_by(models.InstanceBuild.instance_uuid)
        .with_for_update()
        .execution_options(populate_existing=True)
    )


def delete_all(session: Session, rows: Sequence[models.InstanceBuild]) -> None:
    """Delete ended builds in one statement; the rows must not be used afterwards."""
    uuids = [row.instance_uuid for row in rows]
    session.execute(
        sa.delete(models.InstanceBuild)
        .where(models.InstanceBuild.instance_uuid.in_(uuids))
        .execution_options(synchronize_session=False)
    )
    for row in rows:
        session.expunge(row)


def list_building(
    session: Session, attempts: Mapping[str, int], hosts: Collection[str]
) -> list[str]:
    """Return those of these instances that are being built here in exactly these attempts."""
    query = (
        sa.select(models.InstanceBuild.instance_uuid, models.InstanceBuild.attempt)
        .join(models.Instance, models.Instance.uuid == models.InstanceBuild.instance_uuid)
        .where(
            models.InstanceBuild.instance_uuid.in_(list(attempts)),
            models.InstanceBuild.stage == Stage.BUILD,
            models.Instance.host.in_(hosts),
        )
    )
    return [uuid for uuid, attempt in session.execute(query) if attempts[uuid] == attempt]
