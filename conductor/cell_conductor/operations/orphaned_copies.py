"""Garbage collection of instance copies whose move between cells has ended.

A message from the other cell may arrive after the end of a move, or after its instance was deleted,
and so create a copy that nothing else removes.
"""

import logging
from datetime import datetime, timedelta

from armillary import exception
from armillary.context import admin_context
from armillary.db import Database
from conductor.common.cell_db import copies
from conductor.common.clock import Clock, moment
from conductor.super_conductor.interface import SuperConductorAPI

LOG = logging.getLogger(__name__)

BATCH_SIZE = 100
AGE_SECONDS = 60.0
"""Seconds that a copy must be unchanged before the super conductor is asked about its move."""


class OrphanedCopies:
    """Checks copies, the oldest first; any number of conductors may do so concurrently."""

    def __init__(self, *, database: Database, top: SuperConductorAPI, now: Clock) -> None:
        self._database = database
        self._top = top
        self._now_seconds = now
        self._after: datetime | None = None

    def drop(self) -> int:
        """Check one batch; return how many copies were deleted."""
        limit = moment(self._now_seconds()) - timedelta(seconds=AGE_SECONDS)
        found = self._database.read(
            copies.list_unchanged, after=self._after, before=limit, limit=BATCH_SIZE
        )
        self._after = found[-1].updated_at if len(found) == BATCH_SIZE else None
        if not found:
            return 0
        try:
            known = set(
                self._top.list_cell_changes(admin_context(), [one.migration_uuid for one in found])
            )
        except (exception.Unavailable, exception.RpcFailed) as error:
            LOG.debug("Cannot look up the moves of copies (%d): %s", len(found), error)
            return 0
        leftover = [one for one in found if one.migration_uuid not in known]
        for one in leftover:
            LOG.warning(
                "%s: its move %s between cells has ended; deleting the copy",
                one.instance_uuid, one.migration_uuid,
            )  # fmt: skip
            self._delete(one)
        return len(leftover)

    def _delete(self, copy: copies.UnchangedCopy) -> None:
        now = moment(self._now_seconds())
        self._database.run_in_writer(copies.drop, copy.instance_uuid, copy.migration_uuid, now=now)
