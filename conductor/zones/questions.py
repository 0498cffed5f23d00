"""What a zone above asks this one's scheduler, with what only a conductor knows."""

from __future__ import annotations

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor import group_members
from conductor.cells import Cells
from objects.zone_answer import ZoneAnswer
from objects.zone_query import ZoneQuery
from scheduler.rpcapi import SchedulerAPI

_PATIENCE = 1.25
"""A scheduler takes all of its time when a zone below is late, and answers after that; whoever asks
waits that much longer."""


class Questions:
    """Passes questions on to the schedulers of this zone."""

    def __init__(self, database: Database, cells: Cells, scheduler: SchedulerAPI) -> None:
        self._database = database
        self._cells = cells
        self._scheduler = scheduler

    def select_hosts(self, context: RequestContext, query: ZoneQuery) -> ZoneAnswer:
        """Return the best hosts of this sub-tree. See ``ZoneAPI.select_hosts``."""
        group = query.request_spec.instance_group
        if group is not None:
            group_members.refresh(group, self._database, self._cells, request_id=context.request_id)
        return self._scheduler.select_for_zone(
            context, query, timeout_seconds=query.time_limit_seconds * _PATIENCE
        )

    def refresh(self, context: RequestContext) -> None:
        """Have the schedulers push what this zone can do. Where there is none, nobody does."""
        try:
            self._scheduler.refresh_zones(context)
        except exception.Unavailable as error:
            raise exception.ZoneUnavailable(zone="(asked)", reason=error.message) from error
