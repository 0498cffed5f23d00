"""Commits of ledger work: serialised, with concurrent callers sharing a transaction."""

import calendar
import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from oslo_utils import timeutils
from sqlalchemy.orm import Session

from armillary import exception
from armillary.concurrency.group_commit import GroupCommit
from armillary.db import Database
from armillary.db.changes_once import ChangeOnce
from placement.db import allocations
from placement.ledger.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one call: what it applies to the ledger, and the names it refers to.

    ``classes`` are the resource classes whose existence it must know, ``groups`` the server groups
    whose members it must know beside those of the consumers; ``hosts`` are names whose providers'
    owners it must know; ``is_by_cell`` means that it needs to know which providers without an owner
    share. What was done ``once`` is not done again; its result is None.
    """

    apply: Callable[[Ledger], Any]
    consumers: Sequence[str]
    providers: Sequence[str] = ()
    classes: Iterable[str] = ()
    groups: Iterable[str] = ()
    hosts: Iterable[str] = ()
    is_by_cell: bool = False
    once: ChangeOnce | None = None


class LedgerCommit:
    """Commit work of concurrent callers; each gets its own outcome.

    Each writer of the database first takes the lock of the epoch row. So what is checked here
    cannot change before the commit, and locks are never taken in a different order.
    """

    def __init__(
        self,
        database: Database,
        *,
        batch_size_max: int,
        queue_size_max: int,
        clock: Callable[[], dt.datetime] = timeutils.utcnow,
    ) -> None:
        self._database = database
        self._batch_size_max = batch_size_max
        self._clock = clock
        self._group_commit = GroupCommit[Work, Any](
            self._commit, weight_max=batch_size_max, waiting_max=queue_size_max
        )

    def check_size(self, what: str, size: int) -> None:
        """Raise ``Invalid`` if one call names more items than a transaction may have."""
        if size > self._batch_size_max:
            raise exception.Invalid(
                reason=f"{what}: {size} given, at most {self._batch_size_max} allowed per call "
                "([placement] claim_batch_size_max)"
            )

    def submit(self, work: Work) -> Any:
        """Return the result of the work after the commit; raise its error or that of the commit."""
        weight = len(work.consumers) or len(work.providers)
        if not weight:
            return work.apply(Ledger({}, {}, {}))
        outcome = self._group_commit.submit(work, weight=weight)
        if isinstance(outcome, exception.ArmillaryError):
            raise outcome
        return outcome

    def _commit(self, group: Sequence[Work]) -> list[Any]:
        return self._database.run_in_writer(self._write, group)

    def _write(self, session: Session, group: Sequence[Work]) -> list[Any]:
        epoch, ledger = allocations.open_ledger(
            session,
            consumers={uuid for work in group for uuid in work.consumers},
            providers={uuid for work in group for uuid in work.providers},
            classes={name for work in group for name in work.classes},
            groups={uuid for work in group for uuid in work.groups},
            hosts={name for work in group for name in work.hosts},
            is_by_cell=any(work.is_by_cell for work in group),
        )
        now = self._clock()
        outcomes = [_outcome(session, work, ledger, now) for work in group]
        allocations.store(session, ledger, epoch, now)
        return outcomes


def _outcome(session: Session, work: Work, ledger: Ledger, now: dt.datetime) -> Any:
    """Return the result of the work, or its error, so that the others continue."""
    once = work.once
    if once is not None and once.find(session) is not None:
        return None
    try:
        result = work.apply(ledger)
    except exception.ArmillaryError as error:
        return error
    if once is not None:
        once.note(session, "", now=calendar.timegm(now.timetuple()))
    return result
