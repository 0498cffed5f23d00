"""A task: works under leases, each at a stage; a step does what its stage says and stores the next.

Every step may run twice, and late: it acts, then stores the outcome in one transaction that first
makes sure that the work is still its own. A step that cannot know its outcome gives its works back
with a pause; recovery takes them up again.
"""

from __future__ import annotations

import abc
import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

from oslo_config import cfg
from sqlalchemy.orm import InstrumentedAttribute, Session

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.cell_db import instances, models, services
from conductor.leases import Lease, Leases
from conductor.moments import Now, moment

LOG = logging.getLogger(__name__)

PAUSE_SECONDS_MAX = 60.0

Row = TypeVar("Row", models.InstanceBuild, models.InstanceDelete, models.InstanceOperation)
OUTCOME_UNKNOWN = (exception.Unavailable, exception.RpcFailed)


@dataclasses.dataclass(frozen=True)
class Work(Generic[Row]):
    """A row and its instance as they were read, and the lease by which they are ours."""

    lease: Lease
    row: Row
    instance: models.Instance

    @property
    def uuid(self) -> str:
        """The instance's UUID."""
        return self.row.instance_uuid


class Task(abc.ABC, Generic[Row]):
    """The works of one table."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        database: Database,
        table: type[Row],
        key: InstrumentedAttribute[str],
        now: Now,
        may_convict: Callable[[], bool],
    ) -> None:
        self._conf = conf
        self._may_convict = may_convict
        self._database = database
        self._now_seconds = now
        self.leases = Leases(
            table, key, owner=conf.host, lease_seconds=conf.conductor.lease_seconds, now=now
        )

    @property
    @abc.abstractmethod
    def steps(self) -> Mapping[str, Callable[[RequestContext, list[Work[Row]]], list[Lease]]]:
        """Return stage -> step; a step returns the leases of works that have a next step now."""

    @abc.abstractmethod
    def _stage(self, row: Row) -> str:
        """Return the stage of a work."""

    @abc.abstractmethod
    def _list_rows(self, session: Session, uuids: Sequence[str]) -> Sequence[Row]:
        """Return the rows of these instances."""

    @abc.abstractmethod
    def _lock_rows(self, session: Session, uuids: Sequence[str]) -> Mapping[str, Row]:
        """Lock the rows of these instances, and return them by UUID."""

    def run(self, context: RequestContext, leases: Sequence[Lease]) -> None:
        """Take works as far as they go. Raises nothing: what breaks is left to recovery."""
        try:
            works = self._load(leases)
            while works:
                works = self._load(self._run_once(context, works))
        except Exception:
            LOG.exception("%s of %d instances broke off", type(self).__name__, len(leases))

    def take_free(self, limit: int) -> list[Lease]:
        """Take works whose lease ran out, those that lie longest first."""
        with self._database.reader() as session:
            keys = self.leases.list_free(session, limit=limit)
        if not keys:
            return []

        def take(session: Session) -> list[Lease]:
            taken = [self.leases.take(session, key) for key in keys]
            return [lease for lease in taken if lease is not None]

        return self._database.run_in_writer(take)

    def put_off(self, leases: Sequence[Lease]) -> None:
        """Leave works to recovery, at once: nobody here has time for them."""
        self._database.run_in_writer(
            lambda session: [self.leases.let_go(session, lease) for lease in leases]
        )

    @property
    def _now(self) -> datetime:
        return moment(self._now_seconds())

    def _load(self, leases: Sequence[Lease]) -> list[Work[Row]]:
        """Return the works that are still ours."""
        if not leases:
            return []
        by_uuid = {lease.key: lease for lease in leases}
        with self._database.reader() as session:
            rows = [
                row
                for row in self._list_rows(session, list(by_uuid))
                if row.lease_owner == by_uuid[row.instance_uuid].owner
            ]
            found = instances.find_rows(session, [row.instance_uuid for row in rows])
        return [
            Work(by_uuid[row.instance_uuid], row, found[row.instance_uuid])
            for row in rows
            if row.instance_uuid in found
        ]

    def _run_once(self, context: RequestContext, works: Sequence[Work[Row]]) -> list[Lease]:
        going_on: list[Lease] = []
        for stage, step in self.steps.items():
            at_stage = [work for work in works if self._stage(work.row) == stage]
            if at_stage:
                going_on += self._guarded(step, context, at_stage)
        return going_on

    def _guarded(
        self,
        step: Callable[[RequestContext, list[Work[Row]]], list[Lease]],
        context: RequestContext,
        works: list[Work[Row]],
    ) -> list[Lease]:
        try:
            return step(context, works)
        except OUTCOME_UNKNOWN as error:
            LOG.warning("%s: step put off: %s", _names(works), error)
            self._give_back(works)
        except Exception:
            LOG.exception("%s: step broke", _names(works))
            if len(works) > 1:  # one of them may be to blame: the others go on without it
                return [lease for work in works for lease in self._guarded(step, context, [work])]
            self._give_back(works)
        return []

    def _give_back(self, works: Sequence[Work[Row]]) -> None:
        """Let go with a pause that grows with each failure in a row."""
        self._database.run_in_writer(
            lambda session: [
                self.leases.let_go(
                    session,
                    work.lease,
                    retry_in_seconds=self._pause_seconds(work.row.tries),
                    tries=work.row.tries + 1,
                )
                for work in works
            ]
        )

    def _pause_seconds(self, tries: int) -> float:
        pause: float = self._conf.conductor.retry_pause_seconds
        return max(pause, min(pause * 2 ** min(tries, 10), PAUSE_SECONDS_MAX))

    def _lock_ours(
        self, session: Session, works: Sequence[Work[Row]]
    ) -> list[tuple[Work[Row], models.Instance, Row]]:
        """Lock instances and rows; return those that nobody changed since they were read.

        Every change of a row's stage gives it a new holder, so the holder tells.
        """
        uuids = [work.uuid for work in works]
        locked = instances.lock_all(session, uuids)
        rows = self._lock_rows(session, uuids)
        return [
            (work, locked[work.uuid], rows[work.uuid])
            for work in works
            if work.uuid in rows and rows[work.uuid].lease_owner == work.lease.owner
        ]

    def _hold_anew(self, row: Row) -> Lease:
        """Give a locked row a new holder: us, whoever had it before."""
        lease = self.leases.held(row.instance_uuid)
        row.lease_owner, row.lease_expires_at = lease.owner, lease.expires_at
        return lease

    def _is_host_up(self, service: models.Service | None) -> bool:
        """Tell whether an agent can be asked; while we hear nobody, silence proves nothing."""
        if service is None or service.forced_down:
            return False
        if services.is_up(service, now=self._now, down_time_seconds=self._conf.service_down_time):
            return True
        return service.is_up and not self._may_convict()


def _names(works: Sequence[Work[Any]]) -> str:
    first = works[0].uuid
    return first if len(works) == 1 else f"{first} and {len(works) - 1} more"
