"""Queries on request specs: what was asked for, kept as long as the instance lives."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from conductor.api_db import models
from conductor.api_db.insert_missing import insert_missing
from objects.request_spec import RequestSpec


def add_specs(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Store specs: dicts with instance_uuid and spec (primitive)."""
    session.execute(sa.insert(models.RequestSpec), rows)


def add_missing_specs(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Store those of these specs that are not there."""
    insert_missing(session, models.RequestSpec, rows)


def get_spec(session: Session, instance_uuid: str) -> RequestSpec:
    """Return what was asked for. Raises InstanceNotFound."""
    row = session.get(models.RequestSpec, instance_uuid)
    if row is None:
        raise exception.InstanceNotFound(instance_uuid=instance_uuid)
    spec: RequestSpec = RequestSpec.obj_from_primitive(row.spec)
    return spec


def delete_specs(session: Session, instance_uuids: Collection[str]) -> None:
    """Forget the specs of instances that are gone."""
    session.execute(
        sa.delete(models.RequestSpec).where(models.RequestSpec.instance_uuid.in_(instance_uuids))
    )
