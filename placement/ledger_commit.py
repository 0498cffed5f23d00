"""Commit work on the ledger: in one order, in transactions that callers of one time share."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from oslo_utils import timeutils
from sqlalchemy.orm import Session

from armillary import exception
from armillary.combining import Combiner
from armillary.db import Database
from placement.db import allocations
from placement.ledger import Ledger


class Work(Protocol):
    """What one call wants of the ledger: whom and what it names, and what it does then."""

    @property
    def consumers(self) -> Sequence[str]: ...

    @property
    def providers(self) -> Sequence[str]: ...

    @property
    def classes(self) -> Sequence[str]:
        """The resource classes of which it has to know whether they are there."""
        ...

    def apply(self, ledger: Ledger) -> Any: ...


class LedgerCommit:
    """Commits work of concurrent callers; each gets its own outcome.

    Each writer of the database takes the epoch row's lock first, so what is checked here cannot
    change before it is committed, and no lock is waited for in another order.
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
        self._group_commit = Combiner[Work, Any](
            self._commit, weight_max=batch_size_max, waiting_max=queue_size_max
        )

    def check_size(self, what: str, size: int) -> None:
        """Raise ``Invalid`` when one call names more than a transaction may have."""
        if size > self._batch_size_max:
            raise exception.Invalid(
                reason=f"{what}: {size} were given, one call may have {self._batch_size_max} "
                "([placement] claim_batch_size_max)"
            )

    def submit(self, work: Work) -> Any:
        """Return what the work made, committed; raise what it, or the commit, raised."""
        weight = len(work.consumers) or len(work.providers)
        if not weight:
            return work.apply(Ledger({}, {}, {}))
        outcome = self._group_commit.submit(work, weight=weight)
        if isinstance(outcome, exception.ArmillaryError):
            raise outcome
        return outcome

    def _commit(self, group: Sequence[Work]) -> list[Any]:
        return self._database.run_in_writer(lambda session: self._write(session, group))

    def _write(self, session: Session, group: Sequence[Work]) -> list[Any]:
        epoch, ledger = allocations.open_ledger(
            session,
            consumers={uuid for work in group for uuid in work.consumers},
            providers={uuid for work in group for uuid in work.providers},
            classes={name for work in group for name in work.classes},
        )
        outcomes = [_outcome(work, ledger) for work in group]
        allocations.store(session, ledger, epoch, self._clock())
        return outcomes


def _outcome(work: Work, ledger: Ledger) -> Any:
    """Return what the work made, or why it could not be done: others share its transaction."""
    try:
        return work.apply(ledger)
    except exception.ArmillaryError as error:
        return error
