"""Queries on unfinished builds, and their stages."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.orm import Session

from conductor.common.cell_db import models
from conductor.common.cell_db.leased_rows import LeasedRows
from conductor.common.cell_db.stored_object import StoredObject
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
            "request_spec": StoredObject.of(request.request_spec),
            "tries": 0,
            "created_at": now,
            **leases[request.instance_uuid].columns,
        }
        for request in requests
    ]
    if values:
        session.execute(sa.insert(models.InstanceBuild), values)


ROWS = LeasedRows(models.InstanceBuild)
lock = ROWS.lock


def lock_without_specs(
    session: Session, instance_uuids: Collection[str]
) -> dict[str, models.InstanceBuild]:
    """Lock builds as ``lock`` does, but load selections and request specs only on access."""
    row = models.InstanceBuild
    return ROWS.lock_all(
        session, instance_uuids, orm.defer(row.selections), orm.defer(row.request_spec)
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
