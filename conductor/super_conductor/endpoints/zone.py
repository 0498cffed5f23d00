"""RPC topic ``zone``: requests of parent zones, handled here or forwarded to a child zone."""

from typing import Any

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.builds import group_members
from conductor.super_conductor.peers import Peers
from conductor.super_conductor.zones import parents
from conductor.super_conductor.zones.hidden_hosts import HiddenHosts
from objects.zones.zone_answer import ZoneAnswer
from objects.zones.zone_attempt import Attempts
from objects.zones.zone_query import ZoneOrder, ZoneQuery
from objects.zones.zone_request import ZoneRequest

_TIME_LIMIT_SECONDS_MAX = 300.0
"""What ``[zones] select_timeout_seconds`` may be in the zone that asks first."""
_TIMEOUT_FACTOR = 1.25
"""A scheduler uses its whole time limit when a child zone is late, and answers only after that. The
call to it therefore times out this much later."""


class ZoneEndpoint:
    """See ``ZoneAPI``."""

    def __init__(self, database: Database, peers: Peers, *, hides_hosts: bool = False) -> None:
        self._hosts = HiddenHosts(database, is_on=hides_hosts)
        self._database = database
        self._peers = peers
        self._zones = peers.zones

    def select_hosts(self, context: RequestContext, query: ZoneQuery) -> ZoneAnswer:
        """Ask this zone's schedulers, with the group members that only a conductor knows.

        Their reasons name no host, if names are hidden.
        Raises Invalid for a time limit in which the threads here would be kept too long.
        """
        if not 0 < query.time_limit_seconds <= _TIME_LIMIT_SECONDS_MAX:
            raise exception.Invalid(
                reason=f"the time limit of a query must be above 0 and at most "
                f"{_TIME_LIMIT_SECONDS_MAX} s"
            )
        context = parents.with_parent(context)
        group = query.request_spec.instance_group
        if group is not None:
            parents.check_group(self._database, context, group)
            group_members.refresh(
                group, self._database, self._peers.cells, request_id=context.request_id
            )
        try:
            answer = self._peers.scheduler.select_for_zone(
                context, query, timeout_seconds=query.time_limit_seconds * _TIMEOUT_FACTOR
            )
        except exception.ArmillaryError as error:
            if self._hosts.is_on:
                raise self._hosts.in_error(error) from None
            raise
        if self._hosts.is_on:
            answer.zones = self._hosts.in_answer(answer.zones)
        return answer

    def create(self, context: RequestContext, path: list[str], order: ZoneOrder) -> None:
        context = parents.with_parent(context)
        self._zones.create(context, path, order).wait()

    def get_attempts(
        self, context: RequestContext, path: list[str], instance_uuids: list[str]
    ) -> Attempts:
        context = parents.with_parent(context)
        return self._zones.get_attempts(context, path, instance_uuids).wait()

    def cancel(
        self, context: RequestContext, path: list[str], attempts: dict[str, int]
    ) -> Attempts:
        context = parents.with_parent(context)
        return self._zones.cancel(context, path, attempts).wait()

    def forward(self, context: RequestContext, path: list[str], request: ZoneRequest) -> Any:
        context = parents.with_parent(context)
        return self._zones.forward(context, path, request).wait()

    def forward_change(self, context: RequestContext, path: list[str], request: ZoneRequest) -> Any:
        return self.forward(context, path, request)

    def refresh(self, context: RequestContext) -> None:
        """Have the schedulers push this zone's summary. Raises ZoneUnavailable if there is none."""
        try:
            self._peers.scheduler.refresh_zones(context)
        except exception.Unavailable as error:
            raise exception.ZoneUnavailable(zone="(asked)", reason=error.message) from error
