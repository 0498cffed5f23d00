"""Queries on request specs, which are kept as long as their instances."""

import dataclasses
from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from conductor.common.cell_db.stored_object import stored_json, stored_text
from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import delete, insert, insert_missing
from objects.base import Primitive
from objects.cell_mapping import CELL0_UUID
from objects.request_spec import RequestSpec


@dataclasses.dataclass(frozen=True, slots=True)
class NewSpec:
    """The request spec of an instance, in wire form."""

    instance_uuid: str
    spec: Primitive


def add_specs(session: Session, rows: Sequence[NewSpec]) -> None:
    """Insert specs."""
    insert(session, models.RequestSpec, rows)


def add_missing_specs(session: Session, rows: Sequence[NewSpec]) -> None:
    """Insert those of these specs that do not exist."""
    insert_missing(session, models.RequestSpec, rows)


def get_spec(session: Session, instance_uuid: str) -> RequestSpec:
    """Return the spec of an instance. Raises InstanceNotFound."""
    row = session.get(models.RequestSpec, instance_uuid)
    if row is None:
        raise exception.InstanceNotFound(instance_uuid=instance_uuid)
    spec: RequestSpec = RequestSpec.obj_from_primitive(row.spec)
    return spec


def replace_spec(session: Session, instance_uuid: str, spec: RequestSpec) -> None:
    """Replace the spec of an instance."""
    session.execute(
        sa.update(models.RequestSpec)
        .where(models.RequestSpec.instance_uuid == instance_uuid)
        .values(spec=spec.obj_to_primitive())
    )


def find_spec(session: Session, instance_uuids: Sequence[str]) -> RequestSpec | None:
    """Return the spec of the instances of one request; None if there are none, or no spec."""
    for uuid in instance_uuids:
        row = session.get(models.RequestSpec, uuid)
        if row is not None:
            found: RequestSpec = RequestSpec.obj_from_primitive(row.spec)
            found.num_instances = len(instance_uuids)
            return found
    return None


def asked_of(
    session: Session, instance_uuids: Collection[str]
) -> dict[str, tuple[str | None, dict[str, list[str]]]]:
    """Return instance -> availability zone and hints that were asked for."""
    spec = models.RequestSpec.spec
    query = sa.select(
        models.RequestSpec.instance_uuid,
        stored_text(spec, "availability_zone"),
        stored_json(spec, "scheduler_hints"),
    ).where(models.RequestSpec.instance_uuid.in_(instance_uuids))
    return {uuid: (zone, hints or {}) for uuid, zone, hints in session.execute(query)}


def find_pinned(session: Session, availability_zone: str) -> str | None:
    """Return a living instance of a cell of this zone that asked for this availability zone."""
    mapping = models.InstanceMapping
    query = (
        sa.select(models.RequestSpec.instance_uuid)
        .join(mapping, mapping.instance_uuid == models.RequestSpec.instance_uuid)
        .where(
            mapping.queued_for_delete.is_(False),
            mapping.cell_uuid.is_not(None),
            mapping.cell_uuid != CELL0_UUID,
            stored_text(models.RequestSpec.spec, "availability_zone") == availability_zone,
        )
        .limit(1)
    )
    return session.scalars(query).first()


def delete_specs(session: Session, instance_uuids: Collection[str]) -> None:
    """Delete the specs of purged instances."""
    delete(session, models.RequestSpec, models.RequestSpec.instance_uuid.in_(instance_uuids))
