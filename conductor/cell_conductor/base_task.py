"""Base of a cell conductor's tasks: leased work items that move from stage to stage.

Every step may run twice, and late. It acts, then stores the outcome in one transaction that first
checks that the lease is still its own. A step that cannot know its outcome releases its work items
with a backoff; recovery takes them again.
"""

import abc
import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Generic

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.backoff import Backoff
from armillary.context import RequestContext, admin_context, log_context
from armillary.db import Database
from conductor.common import leased_work
from conductor.common.cell_db import instances, models, services
from conductor.common.cell_db.leased_rows import LeasedRows, Row
from conductor.common.clock import Clock, moment
from conductor.common.leased_work import LeasedWork, Release, Step
from conductor.common.leases import Lease, Leases

LOG = logging.getLogger(__name__)

BACKOFF_SECONDS_MAX = 60.0

UNKNOWN_OUTCOME_ERRORS = (exception.Unavailable, exception.RpcFailed)


@dataclasses.dataclass(frozen=True)
class WorkItem(Generic[Row]):
    """A row and its instance as read, with the lease under which they are processed."""

    lease: Lease
    row: Row
    instance: models.Instance

    @property
    def uuid(self) -> str:
        return self.row.instance_uuid


@dataclasses.dataclass(frozen=True)
class Batch(Generic[Row]):
    """Work items at the same stage, which are processed together."""

    context: RequestContext
    works: list[WorkItem[Row]]


StageStep = Step[Batch[Row], list[Lease]]
"""Step of a stage; it returns the leases of items that can continue now."""


@dataclasses.dataclass(frozen=True, slots=True)
class Environment:
    """Configuration, database and clock of a cell conductor.

    ``may_mark_down`` is the isolation guard's: whether a missing heartbeat means that a host is
    down.
    """

    conf: cfg.ConfigOpts
    database: Database
    now: Clock
    may_mark_down: Callable[[], bool]


class Task(LeasedWork, Generic[Row]):
    """A kind of leased work, with its rows in one table."""

    def __init__(
        self, env: Environment, rows: LeasedRows[Row], *, lease_seconds_min: float = 0.0
    ) -> None:
        self._conf = env.conf
        self._may_mark_down = env.may_mark_down
        self._now_seconds = env.now
        self._rows: LeasedRows[Row] = rows
        leases = Leases(
            rows.model, rows.model.instance_uuid, owner=env.conf.host,
            lease_seconds=max(env.conf.conductor.lease_seconds, lease_seconds_min), now=env.now,
        )  # fmt: skip
        super().__init__(env.database, leases)

    @property
    @abc.abstractmethod
    def steps(self) -> Mapping[str, StageStep[Row]]:
        """Return stage -> step."""

    @abc.abstractmethod
    def _stage(self, row: Row) -> str:
        """Return the stage of a row."""

    def run(self, context: RequestContext, leases: Sequence[Lease]) -> None:
        """Run items until none can continue. Raises nothing: failures are left to recovery."""
        with log_context(context):
            self._run(context, leases)

    def _run(self, context: RequestContext, leases: Sequence[Lease]) -> None:
        try:
            works = self._load(leases)
            while works:
                works = self._load(self._run_once(context, works))
        except exception.DatabaseUnavailable as error:
            name, count = type(self).__name__, len(leases)
            LOG.warning("%s are left to recovery; instances: %d: %s", name, count, error)
        except Exception:
            LOG.exception("%s failed unexpectedly; instances: %d", type(self).__name__, len(leases))

    def resume(self, keys: Sequence[str]) -> list[Lease]:
        leases = self.take(keys)
        if leases:
            LOG.info("%s: resuming abandoned work; items: %d", type(self).__name__, len(leases))
        by_request: dict[str | None, list[Lease]] = {}
        for work in self._load(leases):
            by_request.setdefault(_request_of(work), []).append(work.lease)
        for request_id, theirs in by_request.items():
            self.run(admin_context(request_id), theirs)
        return leases

    @property
    def _now(self) -> datetime:
        return moment(self._now_seconds())

    def _load(self, leases: Sequence[Lease]) -> list[WorkItem[Row]]:
        """Return the items whose lease is still ours."""
        if not leases:
            return []
        by_uuid = {lease.key: lease for lease in leases}
        with self._database.reader() as session:
            rows = [
                row
                for row in self._rows.list_by_uuids(session, list(by_uuid))
                if row.lease_owner == by_uuid[row.instance_uuid].owner
            ]
            found = instances.find_rows(session, [row.instance_uuid for row in rows])
        return [
            WorkItem(by_uuid[row.instance_uuid], row, found[row.instance_uuid])
            for row in rows
            if row.instance_uuid in found
        ]

    def _run_once(self, context: RequestContext, works: Sequence[WorkItem[Row]]) -> list[Lease]:
        by_stage: dict[str, list[WorkItem[Row]]] = {}
        for work in works:
            by_stage.setdefault(self._stage(work.row), []).append(work)
        going_on: list[Lease] = []
        for stage, at_stage in by_stage.items():
            going_on += self._run_step(self.steps[stage], Batch(context, at_stage))
        return going_on

    def _run_step(self, step: StageStep[Row], batch: Batch[Row]) -> list[Lease]:
        works = batch.works
        try:
            return leased_work.run_step(batch, step)
        except UNKNOWN_OUTCOME_ERRORS as error:
            LOG.warning("%s: step postponed: %s", _names(works), error)
            self._release_with_backoff(works)
        except Exception:
            LOG.exception("%s: step failed unexpectedly", _names(works))
            if len(works) > 1:  # one item may be the cause: retry each alone
                alone = [Batch(batch.context, [work]) for work in works]
                return [lease for each in alone for lease in self._run_step(step, each)]
            self._release_with_backoff(works)
        return []

    def _release_with_backoff(self, works: Sequence[WorkItem[Row]]) -> None:
        """Release the leases; the backoff grows with each consecutive failure."""
        self.release(
            [
                Release(
                    work.lease, self._backoff_seconds(work.row.tries), {"tries": work.row.tries + 1}
                )
                for work in works
            ]
        )

    def _backoff_seconds(self, tries: int) -> float:
        first = self._conf.conductor.retry_pause_seconds
        return Backoff(first, max(first, BACKOFF_SECONDS_MAX)).seconds(tries)

    def _lock_ours(
        self, session: Session, works: Sequence[WorkItem[Row]]
    ) -> list[tuple[WorkItem[Row], models.Instance, Row]]:
        """Lock instances and rows; return those unchanged since they were read.

        Every change of a row's stage gives it a new lease owner, so comparing owners suffices.
        """
        uuids = [work.uuid for work in works]
        locked = instances.lock_all(session, uuids)
        rows = self._rows.lock_all(session, uuids)
        return [
            (work, locked[work.uuid], rows[work.uuid])
            for work in works
            if work.uuid in rows and rows[work.uuid].lease_owner == work.lease.owner
        ]

    def _take_lease(self, row: Row) -> Lease:
        """Give a locked row a new lease of ours, whatever its owner was."""
        lease = self.leases.held(row.instance_uuid)
        row.lease_owner, row.lease_expires_at = lease.owner, lease.expires_at
        return lease

    def _is_host_up(self, service: models.Service | None) -> bool:
        """Return whether an agent can be reached.

        While this conductor may be isolated itself, a missing heartbeat proves nothing.
        """
        if service is None or service.forced_down:
            return False
        if services.is_up(service, now=self._now, down_time_seconds=self._conf.service_down_time):
            return True
        return service.is_up and not self._may_mark_down()


def _request_of(work: WorkItem[Any]) -> str | None:
    """Return the ID of the request that caused an item."""
    row = work.row
    if isinstance(row, models.InstanceOperation):
        return str(row.context["request_id"])
    own: str | None = getattr(row, "request_id", None)
    return own or work.instance.request_id


def _names(works: Sequence[WorkItem[Any]]) -> str:
    first = works[0].uuid
    return first if len(works) == 1 else f"{first} and {len(works) - 1} more"
