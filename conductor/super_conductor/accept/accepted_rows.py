"""Rows of accepted requests: reservations, build requests, request specs and mappings."""

import copy
import dataclasses
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from armillary.context import RequestContext
from armillary.db import idempotency
from armillary.db.database import note
from conductor.common.clock import moment
from conductor.common.leases import Lease
from conductor.super_conductor.accept.owners import owner_of
from conductor.super_conductor.accept.server_requests import ServerRequest
from conductor.super_conductor.db import (
    build_requests,
    instance_mappings,
    models,
    request_specs,
    reservations,
)
from conductor.super_conductor.db.build_requests import NewBuildRequest
from conductor.super_conductor.db.catalogue import server_groups
from conductor.super_conductor.db.instance_mappings import NewMapping
from conductor.super_conductor.db.request_specs import NewSpec
from conductor.super_conductor.db.reservations import NewReservation
from objects.base import ArmillaryObject, Primitive
from objects.instances.instance_group import InstanceGroup
from objects.instances.new_servers import NewServers
from objects.instances.server_answers import CreatedServers


@dataclasses.dataclass(frozen=True)
class AskedServers:
    """A request, and the lease under which it will be stored."""

    context: RequestContext
    servers: NewServers
    lease: Lease
    key: str
    """That of its idempotency record."""


@dataclasses.dataclass(frozen=True)
class WithinQuota:
    """A request within the quota, with the wire forms of its instances."""

    asked: AskedServers
    found: ServerRequest
    primitives: list[Primitive]


def store(session: Session, fitting: Sequence[WithinQuota], seconds: float) -> None:
    """Insert all rows with a fixed number of SQL statements for any number of requests.

    ``seconds`` is the time now.
    """
    now = moment(seconds)
    reservations.add_reservations(session, [_reservation(one, now) for one in fitting])
    build_requests.add_build_requests(
        session, [_build_request(each, now) for one in fitting for each in one.primitives]
    )
    request_specs.add_specs(session, [spec for one in fitting for spec in _specs(one)])
    instance_mappings.add_mappings(
        session, [_mapping(each, one.found, now) for one in fitting for each in one.primitives]
    )
    answers = {
        one.asked.key: (
            one.asked.context.request_id,
            json.dumps(dataclasses.asdict(answer_of(one))),
        )
        for one in fitting
    }
    idempotency.add_answers(session, models.IdempotencyRecord, answers, seconds)
    for one in fitting:
        if one.found.group is not None:
            _join(session, one, one.found.group)


def _join(session: Session, accepted: WithinQuota, group: InstanceGroup) -> None:
    members = [_uuid_of(primitive) for primitive in accepted.primitives]
    server_groups.add_members(session, group.uuid, members)
    joined = group.with_values(members=[*group.members, *members])
    context = accepted.asked.context
    note(session, lambda notifier: notifier.server_group(context, "add_member", joined))


def answer_of(accepted: WithinQuota) -> CreatedServers:
    """Return the answer to a request, which each repeat of it gets, too."""
    return CreatedServers(
        accepted.asked.lease.key, [_uuid_of(primitive) for primitive in accepted.primitives]
    )


def _reservation(accepted: WithinQuota, now: datetime) -> NewReservation:
    context = accepted.asked.context
    project_id = owner_of(context).project_id
    return NewReservation.under(
        accepted.asked.lease, context, project_id=project_id, accepted_at=now
    )


def _uuid_of(primitive: Primitive) -> str:
    return str(primitive[ArmillaryObject.primitive_key("data")]["uuid"])


def _build_request(primitive: Primitive, now: datetime) -> NewBuildRequest:
    data = primitive[ArmillaryObject.primitive_key("data")]
    return NewBuildRequest(
        data["uuid"], data["reservation_id"], data["project_id"], data["name"],
        data["launch_index"], primitive, now,
    )  # fmt: skip


def _specs(accepted: WithinQuota) -> Iterator[NewSpec]:
    spec = accepted.found.spec(
        accepted.asked.context, count=len(accepted.primitives)
    ).obj_to_primitive()
    for uuid_ in map(_uuid_of, accepted.primitives):
        yield NewSpec(uuid_, with_data(spec, instance_uuid=uuid_))


def _mapping(primitive: Primitive, asked: ServerRequest, now: datetime) -> NewMapping:
    data = primitive[ArmillaryObject.primitive_key("data")]
    return NewMapping(
        data["uuid"], data["reservation_id"], data["project_id"], data["user_id"],
        asked.flavor.vcpus, asked.flavor.memory_mb, now,
    )  # fmt: skip


def with_data(primitive: Primitive, **values: Any) -> Primitive:
    """Return the wire form of an object with some plain fields changed.

    Copying is much cheaper than serialising each of a thousand nearly identical objects.
    """
    made = copy.copy(primitive)
    key = ArmillaryObject.primitive_key("data")
    made[key] = {**primitive[key], **values}
    return made
