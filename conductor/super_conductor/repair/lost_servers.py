"""Lost servers: mappings that count against quota although no cell has their server."""

import logging
from collections.abc import Callable, Iterator
from datetime import timedelta

from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.db import Database
from conductor.common.clock import Clock, moment
from conductor.super_conductor.db import instance_mappings
from conductor.super_conductor.repair.orphaned_allocations import CONSUMERS_MAX, Orphans

LOG = logging.getLogger(__name__)

LOST_MAX, LOST_SHARE_MAX = 10, 0.1
"""More than these are not deleted: a cell's database may be an older copy."""


class LostServers:
    """Deletes what is left of servers that no cell, build request or cleanup has."""

    def __init__(
        self,
        database: Database,
        orphans: Orphans,
        delete: Callable[[RequestContext, str], None],
        now: Clock,
        *,
        min_age: timedelta,
    ) -> None:
        self._database = database
        self._orphans = orphans
        self._delete = delete
        self._now = now
        self._min_age = min_age

    def delete_all(self) -> int:
        """Delete them, and return their number. Raises Unavailable and RpcFailed.

        Servers that may be in a cell that does not answer are left alone.
        """
        lost: list[str] = []
        total = 0
        for uuids in self._pages():
            total += len(uuids)
            answer = self._orphans.find_orphans(admin_context(), dict.fromkeys(uuids, ()))
            lost += [*answer.orphans, *answer.foreign]
        if len(lost) > max(LOST_MAX, LOST_SHARE_MAX * total):
            LOG.error(
                "%d of %d servers, such as %s, count against quota and are in no cell. None of "
                "their mappings is deleted, because a cell's database may have been restored "
                "from an older copy; delete those that are not wanted by their UUIDs",
                len(lost), total, lost[0],
            )  # fmt: skip
            return 0
        for uuid in lost:
            LOG.warning("%s: counts against quota and is in no cell; deleting its mapping", uuid)
            try:
                self._delete(admin_context(), uuid)
            except exception.NotFound:
                LOG.debug("%s: was deleted meanwhile", uuid)
        return len(lost)

    def _pages(self) -> Iterator[list[str]]:
        before = moment(self._now()) - self._min_age
        after = ""
        while True:
            uuids = self._database.read(
                instance_mappings.list_counted,
                created_before=before,
                after=after,
                limit=CONSUMERS_MAX,
            )
            if not uuids:
                return
            yield uuids
            after = uuids[-1]
