"""RPC interfaces of zones: of a child zone, and of the parents that receive its summaries.

Both use the child's broker: the parent connects there, the child connects to no other zone. Topic
``zone`` is served by the child's super conductors.
"""

from collections.abc import Sequence
from typing import Any

from armillary.context import RequestContext
from objects.zones.zone_answer import ZoneAnswer
from objects.zones.zone_attempt import Attempts
from objects.zones.zone_query import ZoneOrder, ZoneQuery
from objects.zones.zone_request import ZoneRequest
from objects.zones.zone_summary import ZoneSummary
from rpc.callers import PARENT_ZONE, ZONE_OF_SUMMARY
from rpc.interface import Idempotent, Interface, call, fanout


class ZoneAPI(Interface):
    """A zone, on its broker. Any of its super conductors can answer any call.

    ``path`` lists the zones below the called one, down to the target zone; empty means the called
    zone itself. Zones before the last one only forward. Besides the errors of every call, raises
    ZoneNotFound for an unknown path and ZoneUnavailable (outcome unknown) if a zone on the path did
    not answer.
    """

    TOPIC = "zone"
    SERVED_BY = "child_zone"

    @call(PARENT_ZONE)
    def select_hosts(
        self, context: RequestContext, query: ZoneQuery, *, timeout_seconds: float
    ) -> ZoneAnswer:
        """Return the best hosts of the zone's sub-tree, unclaimed; no host is an empty answer."""

    @call(PARENT_ZONE)
    def create(
        self,
        context: RequestContext,
        path: Sequence[str],
        order: ZoneOrder,
        *,
        timeout_seconds: float,
    ) -> None:
        """Store instances to build, each on its one host; return once they are stored.

        Idempotent by instance and attempt. Raises StaleZoneAttempt, without storing anything, for
        an attempt that was cancelled before it arrived, or that is older than a known one.
        """

    @call(PARENT_ZONE)
    def get_attempts(
        self,
        context: RequestContext,
        path: Sequence[str],
        instance_uuids: Sequence[str],
        *,
        timeout_seconds: float,
    ) -> Attempts:
        """Return the newest attempt of each instance there."""

    @call(PARENT_ZONE)
    def cancel(
        self,
        context: RequestContext,
        path: Sequence[str],
        attempts: dict[str, int],
        *,
        timeout_seconds: float,
    ) -> Attempts:
        """Cancel attempts (instance -> attempt); those that have not arrived will be refused.

        Answers as ``get_attempts``. Idempotent.
        """

    @call(PARENT_ZONE)
    def forward(
        self,
        context: RequestContext,
        path: Sequence[str],
        request: ZoneRequest,
        *,
        timeout_seconds: float,
    ) -> Any:
        """Run a user's request that changes nothing in the owning zone: show, list, explain.

        Returns the answer in wire form. Raises Invalid for an operation that zones do not offer
        their parents; see ``conductor.super_conductor.zones``.
        """

    @call(PARENT_ZONE, idempotent=Idempotent.BY_RECORD)
    def forward_change(
        self,
        context: RequestContext,
        path: Sequence[str],
        request: ZoneRequest,
        *,
        timeout_seconds: float,
    ) -> Any:
        """Run a user's change as ``forward``; a repeated message changes nothing again."""

    @call(PARENT_ZONE)
    def refresh(self, context: RequestContext, *, timeout_seconds: float) -> None:
        """Have the zone push its summary now, and request those of its children."""


class ZoneSummariesAPI(Interface):
    """A zone's parents, on that zone's broker. There may be no listener."""

    TOPIC = "zone_summaries"
    SERVED_BY = "parent_zone"

    @fanout(ZONE_OF_SUMMARY)
    def update_summary(self, context: RequestContext, summary: ZoneSummary) -> None:
        """Push a summary to every process of every parent."""
