"""Scheduling queries from parent zones, completed with data that only a conductor has."""

from __future__ import annotations

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.build import group_members
from conductor.super_conductor.hosts.cells import Cells
from objects.zones.zone_answer import ZoneAnswer
from objects.zones.zone_query import ZoneQuery
from scheduler.interface import SchedulerAPI

_TIMEOUT_FACTOR = 1.25
"""A scheduler uses its whole time limit when a child zone is late, and answers only after that. The
call to it therefore times out this much later."""


class ZoneQueries:
    """Passes queries on to this zone's schedulers."""

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
            context, query, timeout_seconds=query.time_limit_seconds * _TIMEOUT_FACTOR
        )

    def refresh(self, context: RequestContext) -> None:
        """Have the schedulers push this zone's summary. Raises ZoneUnavailable if there is none."""
        try:
            self._scheduler.refresh_zones(context)
        except exception.Unavailable as error:
            raise exception.ZoneUnavailable(zone="(asked)", reason=error.message) from error
