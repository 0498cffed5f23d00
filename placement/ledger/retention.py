"""Pruning of fences of released consumers, and of tombstones of deleted providers."""

import datetime as dt
import logging
from collections.abc import Callable

from oslo_utils import timeutils
from sqlalchemy.orm import Session

from armillary.db import Database, idempotency
from placement.db import consumers, epochs, providers
from placement.db.models import IdempotencyRecord

LOG = logging.getLogger(__name__)


class Pruner:
    """Prune both after the same time. A reader that was inactive for longer reloads everything."""

    def __init__(
        self,
        database: Database,
        *,
        keep_seconds: int,
        clock: Callable[[], dt.datetime] = timeutils.utcnow,
    ) -> None:
        self._database = database
        self._keep_seconds = keep_seconds
        self._clock = clock

    def prune(self) -> None:
        """Delete expired records; safe to run in any number of processes."""
        before = self._clock() - dt.timedelta(seconds=self._keep_seconds)

        def write(session: Session) -> tuple[int, int]:
            epochs.lock(session)
            return (
                consumers.prune_fences(session, before),
                providers.prune_tombstones(session, before),
            )

        now = self._clock().replace(tzinfo=dt.UTC).timestamp()
        idempotency.delete_old(self._database, IdempotencyRecord, now=now)
        fences, tombstones = self._database.run_in_writer(write)
        if fences or tombstones:
            LOG.info("Pruned %d fences and %d provider tombstones", fences, tombstones)
