"""Accept a request for servers: check, count against the quota and store, in one transaction."""

from __future__ import annotations

import copy
import dataclasses
import logging
import random
import string
import uuid
from datetime import datetime
from typing import Any

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary.context import RequestContext
from armillary.db import Database
from armillary.db.database import note
from conductor import quotas, server_requests, stored_contexts
from conductor.api_db import (
    build_requests,
    instance_mappings,
    request_specs,
    reservations,
    server_groups,
)
from conductor.api_db import quotas as quotas_db
from conductor.leases import Lease, Leases
from conductor.moments import Now, moment
from conductor.owners import owner_of
from conductor.server_requests import ServerRequest
from conductor.tasks.build import FIRST_FENCE
from objects.base import ArmillaryObject
from objects.instance import Instance

LOG = logging.getLogger(__name__)

_ID_ALPHABET = string.ascii_lowercase + string.digits
_ID_LENGTH = 8


@dataclasses.dataclass(frozen=True)
class Accepted:
    """What was stored; ``lease`` is for whoever works on it."""

    instances: list[Instance]
    lease: Lease


class Acceptance:
    """Writes requests down. From then on nothing of them is lost."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        database: Database,
        leases: Leases,
        *,
        now: Now,
        dice: random.Random | None = None,
    ) -> None:
        self._conf = conf
        self._database = database
        self._leases = leases
        self._now = now
        self._dice = dice or random.SystemRandom()

    def accept(self, context: RequestContext, request: dict[str, Any]) -> Accepted:
        """Store a request, held by a lease. Raises what ``create_servers`` promises.

        The number of statements does not depend on the number of servers.
        """
        lease = self._leases.held(self._new_reservation_id())
        accepted = self._database.run_in_writer(
            lambda session: self._accept(session, context, request, lease)
        )
        LOG.info(
            "%s %s: accepted %d servers %s of project %s",
            context.request_id,
            lease.key,
            len(accepted.instances),
            request["name"],
            context.project_id,
        )
        return accepted

    def _accept(
        self, session: Session, context: RequestContext, request: dict[str, Any], lease: Lease
    ) -> Accepted:
        asked = server_requests.resolve(session, self._conf, context, request)
        project_id = owner_of(context).project_id
        quotas_db.lock_project(session, project_id)
        if asked.group is not None:  # an administrator's request may be of another project
            server_groups.lock_group(session, asked.group.uuid)
        count = self._fitting_count(session, project_id, asked)
        primitives = self._instances(context, asked, lease.key, count)
        self._store(session, context, asked, lease, primitives)
        made = [Instance.obj_from_primitive(primitive) for primitive in primitives]
        return Accepted(instances=made, lease=lease)

    def _fitting_count(self, session: Session, project_id: str, asked: ServerRequest) -> int:
        limits = {name: self._conf.quota[name] for name in quotas.RESOURCES}
        limits.update(quotas_db.get_limits(session, project_id))
        used = quotas_db.count_usage(session, project_id)
        per_server = {
            "instances": 1, "cores": asked.flavor.vcpus, "ram": asked.flavor.memory_mb,
        }  # fmt: skip
        if asked.group is not None:
            used["server_group_members"] = len(
                server_groups.list_members(session, asked.group.uuid)
            )
            per_server["server_group_members"] = 1
        return quotas.fitting_count(
            limits, used, per_server, min_count=asked.min_count, max_count=asked.max_count
        )

    def _instances(
        self, context: RequestContext, asked: ServerRequest, reservation_id: str, count: int
    ) -> list[dict[str, Any]]:
        """Return the wire forms of the instances, made from one: they differ in little."""
        template = Instance.from_values(
            uuid=str(uuid.uuid4()),
            name=asked.name,
            project_id=context.project_id,
            user_id=context.user_id,
            reservation_id=reservation_id,
            request_id=context.request_id,
            flavor=asked.flavor,
            image=asked.image,
            metadata=asked.metadata,
            availability_zone=asked.zone.zone,
            vm_state="building",
            task_state="scheduling",
            group_uuid=None if asked.group is None else asked.group.uuid,
            created_at=self._moment(),
        ).obj_to_primitive()
        return [
            _with_data(
                template,
                uuid=str(uuid.uuid4()),
                name=asked.name if count == 1 else f"{asked.name}-{index + 1}",
                launch_index=index,
            )
            for index in range(count)
        ]

    def _store(
        self,
        session: Session,
        context: RequestContext,
        asked: ServerRequest,
        lease: Lease,
        primitives: list[dict[str, Any]],
    ) -> None:
        now = self._moment()
        spec = asked.spec(context, count=len(primitives)).obj_to_primitive()
        reservations.add_reservation(
            session,
            reservation_id=lease.key,
            project_id=owner_of(context).project_id,
            fence=FIRST_FENCE,
            context=stored_contexts.to_plain(context),
            accepted_at=now,
            lease=lease.columns,
        )
        rows = [_rows(primitive, spec, asked, now) for primitive in primitives]
        build_requests.add_build_requests(session, [row[0] for row in rows])
        request_specs.add_specs(session, [row[1] for row in rows])
        instance_mappings.add_mappings(session, [row[2] for row in rows])
        if asked.group is not None:
            members = [row[1]["instance_uuid"] for row in rows]
            server_groups.add_members(session, asked.group.uuid, members)
            joined = asked.group.with_values(members=[*asked.group.members, *members])
            note(session, lambda notifier: notifier.server_group(context, "add_member", joined))

    def _moment(self) -> datetime:
        return moment(self._now())

    def _new_reservation_id(self) -> str:
        return "r-" + "".join(self._dice.choices(_ID_ALPHABET, k=_ID_LENGTH))


def _rows(
    primitive: dict[str, Any], spec: dict[str, Any], asked: ServerRequest, now: datetime
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the columns of one instance's build request, request spec and mapping."""
    data = primitive[ArmillaryObject.primitive_key("data")]
    both = {
        "instance_uuid": data["uuid"],
        "reservation_id": data["reservation_id"],
        "project_id": data["project_id"],
    }
    build_request = {
        **both, "name": data["name"], "launch_index": data["launch_index"],
        "instance": primitive, "is_deleting": False, "created_at": now,
    }  # fmt: skip
    request_spec = {
        "instance_uuid": data["uuid"], "spec": _with_data(spec, instance_uuid=data["uuid"]),
    }  # fmt: skip
    mapping = {
        **both, "user_id": data["user_id"], "cell_uuid": None, "vcpus": asked.flavor.vcpus,
        "memory_mb": asked.flavor.memory_mb, "queued_for_delete": False, "deleted_at": None,
    }  # fmt: skip
    return build_request, request_spec, mapping


def _with_data(primitive: dict[str, Any], **values: Any) -> dict[str, Any]:
    """Return the wire form of an object with some plain fields changed.

    A thousand objects that differ in their names are made for little more than the price of one.
    """
    made = copy.copy(primitive)
    key = ArmillaryObject.primitive_key("data")
    made[key] = {**primitive[key], **values}
    return made
