"""A scheduler in the caller's own process: no queue, no message, the same decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armillary.context import RequestContext, admin_context
from objects.aggregate import Aggregate
from objects.destinations import Destinations
from objects.request_spec import RequestSpec
from objects.scheduling_batch import Answer, BatchedRequest
from objects.zone_answer import ZoneAnswer
from objects.zone_query import ZoneQuery
from scheduler.manager import SchedulerManager
from scheduler.scheduling_request import SchedulingRequest


class LocalScheduler:
    """What ``SchedulerAPI`` offers to a super conductor, by a scheduler beside it.

    The methods, what they promise and what they raise are described there. The manager is started,
    given its periodic tasks and stopped by whoever made it; ``[scheduler] in_process`` is on.
    """

    def __init__(self, manager: SchedulerManager) -> None:
        self._manager = manager

    def can_send(self, version: str) -> bool:
        """Tell whether the scheduler knows a version: it is of this very release."""
        return True

    def select_destinations(
        self,
        context: RequestContext,
        request_spec: RequestSpec,
        instance_uuids: Sequence[str],
        *,
        fences: Sequence[int],
        return_alternates: bool = True,
        dry_run: bool = False,
        takes_zones: bool = False,
        timeout_seconds: float | None = None,
    ) -> Destinations:
        return self._manager.decide(
            SchedulingRequest(
                context,
                request_spec,
                instance_uuids,
                fences,
                return_alternates,
                dry_run,
                takes_zones,
            )
        )

    def select_destinations_many(
        self,
        context: RequestContext,
        requests: Sequence[BatchedRequest],
        *,
        timeout_seconds: float | None = None,
    ) -> list[Answer]:
        return self._manager.decide_many(
            [
                SchedulingRequest(
                    admin_context(each.request_id),
                    each.request_spec,
                    each.instance_uuids,
                    each.fences,
                    each.return_alternates,
                    takes_zones=each.takes_zones,
                )
                for each in requests
            ]
        )

    def get_ways_to_hold(
        self, context: RequestContext, requests: Sequence[RequestSpec]
    ) -> list[list[dict[str, int]]] | None:
        return self._manager.get_ways_to_hold(context, requests)

    def select_for_zone(
        self,
        context: RequestContext,
        query: ZoneQuery,
        *,
        timeout_seconds: float | None = None,
    ) -> ZoneAnswer:
        return self._manager.answer_parent(context, query)

    def get_zones(self, context: RequestContext) -> dict[str, Any]:
        return self._manager.get_zones(context)

    def refresh_zones(self, context: RequestContext) -> None:
        self._manager.refresh_zones(context)

    def update_facts(self, context: RequestContext, facts: dict[str, Any]) -> None:
        self._manager.update_facts(context, facts)

    def update_aggregates(
        self, context: RequestContext, aggregates: Sequence[Aggregate], *, seq: int | None = None
    ) -> None:
        self._manager.update_aggregates(context, list(aggregates), seq)

    def delete_aggregate(
        self, context: RequestContext, aggregate: str, *, seq: int | None = None
    ) -> None:
        self._manager.delete_aggregate(context, aggregate, seq)
