"""Acceptance of requests for servers: check, count against the quota and store, in one transaction.

Concurrent requests of one project would wait one by one for a lock on the project's row. So
requests that arrive while another one of the project is being stored are stored together after it.
Each request is checked separately.
"""

import dataclasses
import json
import logging
import random
import string
import uuid
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.concurrency.group_commit import KeyedGroupCommit
from armillary.context import RequestContext
from armillary.db import Database, idempotency
from armillary.idempotency import digest
from conductor.common.clock import Clock, moment
from conductor.common.leases import Lease, Leases
from conductor.super_conductor.accept import accepted_rows, quotas, server_requests
from conductor.super_conductor.accept.accepted_rows import (
    AskedServers,
    WithinQuota,
    answer_of,
    with_data,
)
from conductor.super_conductor.accept.owners import owner_of
from conductor.super_conductor.accept.placed_usage import PlacedUsageReader
from conductor.super_conductor.accept.project_usage import ProjectUsage
from conductor.super_conductor.accept.server_requests import ServerRequest
from conductor.super_conductor.db import models
from conductor.super_conductor.db.catalogue import quotas as quotas_db
from conductor.super_conductor.db.catalogue import server_groups
from conductor.super_conductor.db.catalogue.quotas import PlacedUsage, UsageChanged
from objects.base import Primitive
from objects.flavor import Flavor
from objects.instance import Instance
from objects.instances.new_servers import NewServers
from objects.instances.server_answers import CreatedServers

LOG = logging.getLogger(__name__)

_ID_ALPHABET = string.ascii_lowercase + string.digits
_ID_LENGTH = 8
_INSTANCES_MAX = 500  # in one transaction, unless one request has more
_WAITING_MAX = 10_000


@dataclasses.dataclass(frozen=True)
class Accepted:
    """Stored instances, and the ``lease`` under which their builds are started.

    A repeated request gets its first ``answer`` again; it has no instances and no lease.
    """

    answer: CreatedServers
    instances: list[Instance] = dataclasses.field(default_factory=list)
    lease: Lease | None = None


class Acceptance:
    """Stores requests durably; once stored, a request is never lost."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        database: Database,
        leases: Leases,
        *,
        now: Clock,
        placed_usage: PlacedUsageReader,
        rng: random.Random | None = None,
    ) -> None:
        self._conf = conf
        self._database = database
        self._leases = leases
        self._now = now
        self._placed_usage = placed_usage
        self._rng = rng or random.SystemRandom()
        self._group_commit = KeyedGroupCommit[AskedServers, Accepted | Exception](
            self._accept_all, weight_max=_INSTANCES_MAX, waiting_max=_WAITING_MAX
        )

    def accept(self, context: RequestContext, servers: NewServers) -> Accepted:
        """Store a request under a lease. Raises what ``create_servers`` promises.

        The number of SQL statements does not depend on the number of servers.
        """
        lease = self._leases.held(self._new_reservation_id())
        key = digest(context.request_id, "create_servers", str(_without_password(servers)))
        accepted = self._group_commit.submit(
            owner_of(context).project_id,
            AskedServers(context, servers, lease, key),
            weight=max(1, servers.count_max),
        )
        if isinstance(accepted, Exception):
            raise accepted
        if accepted.lease is None:
            LOG.info(
                "%s %s: the request was repeated; answered as before",
                context.request_id,
                accepted.answer.reservation_id,
            )
            return accepted
        LOG.info(
            "%s %s: servers accepted: %d (name %s, project %s)",
            context.request_id,
            lease.key,
            len(accepted.instances),
            servers.name,
            context.project_id,
        )
        return accepted

    def _accept_all(self, group: Sequence[AskedServers]) -> list[Accepted | Exception]:
        """Return the result of each request of one project."""
        context = group[0].context
        return self._placed_usage.store_within(
            context, owner_of(context).project_id, lambda placed: self._accept_group(group, placed)
        )

    def _accept_group(
        self, group: Sequence[AskedServers], placed: PlacedUsage | None
    ) -> list[Accepted | Exception]:
        try:
            return self._database.run_in_writer(self._accept, group, placed)
        except (exception.DatabaseUnavailable, UsageChanged):
            raise
        except Exception:
            LOG.info("Storing %d requests one by one after an error", len(group), exc_info=True)
            return [self._accept_one(asked) for asked in group]  # one of them may cause the error

    def _accept_one(self, asked: AskedServers) -> Accepted | Exception:
        try:
            (accepted,) = self._placed_usage.store_within(
                asked.context,
                owner_of(asked.context).project_id,
                lambda placed: self._database.run_in_writer(self._accept, [asked], placed),
            )
        except Exception as error:
            return error
        return accepted

    def _accept(
        self, session: Session, group: Sequence[AskedServers], placed: PlacedUsage | None
    ) -> list[Accepted | Exception]:
        """Store the requests that can be accepted, and nothing of the others.

        A request that is there twice, here or with another conductor, makes the insert of its
        record fail; stored one by one, the second one then finds the first one's answer.
        """
        answers = idempotency.answers_of(
            session, models.IdempotencyRecord, [asked.key for asked in group]
        )
        new = [asked for asked in group if asked.key not in answers]
        stored = iter(self._accept_new(session, new, placed) if new else ())
        return [
            Accepted(CreatedServers(**json.loads(answers[asked.key])))
            if asked.key in answers
            else next(stored)
            for asked in group
        ]

    def _accept_new(
        self, session: Session, group: Sequence[AskedServers], placed: PlacedUsage | None
    ) -> list[Accepted | Exception]:
        found = self._resolve(session, group)
        checked = self._check_quotas(session, group, found, placed)
        fitting = [one for one in checked if isinstance(one, WithinQuota)]
        if fitting:
            accepted_rows.store(session, fitting, self._now())
        return [_accepted(one) if isinstance(one, WithinQuota) else one for one in checked]

    def _resolve(
        self, session: Session, group: Sequence[AskedServers]
    ) -> list[ServerRequest | exception.ArmillaryError]:
        known_flavors: dict[str, Flavor] = {}
        found: list[ServerRequest | exception.ArmillaryError] = []
        for asked in group:
            try:
                found.append(
                    server_requests.resolve(
                        session, self._conf, asked.context, asked.servers, known_flavors
                    )
                )
            except exception.ArmillaryError as error:
                found.append(error)
        return found

    def _check_quotas(
        self,
        session: Session,
        group: Sequence[AskedServers],
        found: Sequence[ServerRequest | exception.ArmillaryError],
        placed: PlacedUsage | None,
    ) -> list[WithinQuota | exception.ArmillaryError]:
        """Lock the project and the groups; count each request on top of the previous ones."""
        resolved = [one for one in found if isinstance(one, ServerRequest)]
        if not resolved:
            return [one for one in found if isinstance(one, exception.ArmillaryError)]
        project_id = owner_of(group[0].context).project_id
        quotas_db.lock_owner(session, project_id)
        gone = self._lock_groups(session, resolved)
        usage = self._usage(session, project_id, resolved, placed, but=gone.keys())
        return [
            one if isinstance(one, exception.ArmillaryError)
            else self._check_quota_of(asked, one, usage, gone)
            for asked, one in zip(group, found, strict=True)
        ]  # fmt: skip

    def _check_quota_of(
        self,
        asked: AskedServers,
        found: ServerRequest,
        usage: ProjectUsage,
        gone: dict[str, exception.ArmillaryError],
    ) -> WithinQuota | exception.ArmillaryError:
        if found.group is not None and found.group.uuid in gone:
            return gone[found.group.uuid]
        try:
            count = usage.take(found)
        except exception.ArmillaryError as error:
            return error
        return WithinQuota(
            asked, found, self._instances(asked.context, found, asked.lease.key, count)
        )

    @staticmethod
    def _lock_groups(
        session: Session, resolved: Iterable[ServerRequest]
    ) -> dict[str, exception.ArmillaryError]:
        """Lock the named groups; return an error for each group that was deleted meanwhile."""
        gone: dict[str, exception.ArmillaryError] = {}
        for group_uuid in _groups_of(resolved):  # of another project, for an administrator
            try:
                server_groups.lock_group(session, group_uuid)
            except exception.ServerGroupNotFound as error:
                gone[group_uuid] = error
        return gone

    def _usage(
        self,
        session: Session,
        project_id: str,
        resolved: Iterable[ServerRequest],
        placed: PlacedUsage | None,
        *,
        but: Collection[str],
    ) -> ProjectUsage:
        limits = quotas.limits_of(session, self._conf, project_id)
        members = {
            group_uuid: len(server_groups.list_members(session, group_uuid))
            for group_uuid in _groups_of(resolved)
            if group_uuid not in but
        }
        return ProjectUsage(limits, quotas_db.count_usage(session, project_id, placed), members)

    def _instances(
        self, context: RequestContext, asked: ServerRequest, reservation_id: str, count: int
    ) -> list[Primitive]:
        """Return the wire forms of the instances, copied from one template.

        Several instances of one request (multi-create) get their number as a suffix of the name.
        """
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
            settings=asked.settings,
            availability_zone=asked.zone.zone,
            vm_state="building",
            task_state="scheduling",
            group_uuid=None if asked.group is None else asked.group.uuid,
            created_at=self._moment(),
        ).obj_to_primitive()
        return [
            with_data(
                template,
                uuid=str(uuid.uuid4()),
                name=asked.name if count == 1 else f"{asked.name}-{index + 1}",
                launch_index=index,
            )
            for index in range(count)
        ]

    def _moment(self) -> datetime:
        return moment(self._now())

    def _new_reservation_id(self) -> str:
        return "r-" + "".join(self._rng.choices(_ID_ALPHABET, k=_ID_LENGTH))


def _without_password(servers: NewServers) -> NewServers:
    """Return a request as it is repeated: a new password does not make it another one."""
    settings = servers.settings
    if settings is None or settings.admin_password is None:
        return servers
    return dataclasses.replace(servers, settings=settings.without_password())


def _accepted(accepted: WithinQuota) -> Accepted:
    made = [Instance.obj_from_primitive(primitive) for primitive in accepted.primitives]
    return Accepted(answer_of(accepted), made, accepted.asked.lease)


def _groups_of(resolved: Iterable[ServerRequest]) -> list[str]:
    """Return the named groups, sorted, so that all transactions lock them in the same order."""
    return sorted({one.group.uuid for one in resolved if one.group is not None})
