"""Bury copies of instances whose move between cells nobody knows any more.

A message of the other cell may come after the end of a move, and after the delete of its instance.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from armillary import exception
from armillary.context import admin_context
from armillary.db import Database
from conductor.cell_db import copies
from conductor.moments import Now, moment
from conductor.rpcapi import SuperConductorAPI

LOG = logging.getLogger(__name__)

BATCH_SIZE = 100
AGE_SECONDS = 60.0
"""So long nobody touched a copy before the super conductor is asked what it is for."""


class LeftoverCopies:
    """Looks at copies, the oldest first; any number of conductors may do so at once."""

    def __init__(self, *, database: Database, top: SuperConductorAPI, now: Now) -> None:
        self._database = database
        self._top = top
        self._now_seconds = now
        self._after: datetime | None = None

    def drop(self) -> int:
        """Have one look; return how many were buried."""
        limit = moment(self._now_seconds()) - timedelta(seconds=AGE_SECONDS)
        with self._database.reader() as session:
            found = copies.list_untouched(
                session, after=self._after, before=limit, limit=BATCH_SIZE
            )
        self._after = found[-1].updated_at if len(found) == BATCH_SIZE else None
        if not found:
            return 0
        try:
            known = set(
                self._top.list_cell_changes(admin_context(), [one.migration_uuid for one in found])
            )
        except (exception.Unavailable, exception.RpcFailed) as error:
            LOG.debug("%d copies were not asked for: %s", len(found), error)
            return 0
        leftover = [one for one in found if one.migration_uuid not in known]
        for one in leftover:
            LOG.warning(
                "%s: its move %s is over elsewhere; the copy is buried",
                one.instance_uuid, one.migration_uuid,
            )  # fmt: skip
            self._bury(one)
        return len(leftover)

    def _bury(self, one: copies.Untouched) -> None:
        now = moment(self._now_seconds())
        self._database.run_in_writer(
            lambda session: copies.drop(session, one.instance_uuid, one.migration_uuid, now=now)
        )
