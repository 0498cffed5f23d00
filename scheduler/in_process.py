"""In-process scheduler: the same decisions without a queue or messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armillary.context import RequestContext, admin_context
from objects.aggregate import Aggregate
from objects.destinations import Destinations
from objects.packed.scheduling_batch import Answer, BatchedRequest
from objects.request_spec import RequestSpec
from objects.zones.zone_answer import ZoneAnswer
from objects.zones.zone_query import ZoneQuery
from scheduler.manager import SchedulerManager
from scheduler.request.scheduling_request import SchedulingRequest


class LocalScheduler:
    """The interface of ``SchedulerAPI`` for a super conductor in the same process.

    ``SchedulerAPI`` documents the methods and their errors. The creator of the manager starts it,
    runs its periodic tasks and stops it; ``[scheduler] in_process`` is on.
    """

    def __init__(self, manager: SchedulerManager) -> None:
        self._manager = manager

    def can_send(self, version: str) -> bool:
        """Return True: the scheduler has the same release."""
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
