"""RPC topic ``zone``: requests of parent zones, handled here or forwarded to a child zone."""

from __future__ import annotations

from typing import Any

from armillary.context import RequestContext
from conductor.super_conductor.zones.queries import ZoneQueries
from conductor.super_conductor.zones.routes import Attempts, Routes
from objects.zones.zone_answer import ZoneAnswer
from objects.zones.zone_query import ZoneOrder, ZoneQuery


class ZoneEndpoint:
    """See ``ZoneAPI``."""

    def __init__(self, zones: Routes, questions: ZoneQueries) -> None:
        self._zones = zones
        self._questions = questions

    def select_hosts(self, context: RequestContext, query: ZoneQuery) -> ZoneAnswer:
        return self._questions.select_hosts(context, query)

    def create(self, context: RequestContext, path: list[str], order: ZoneOrder) -> None:
        self._zones.create(context, path, order).wait()

    def get_attempts(
        self, context: RequestContext, path: list[str], instance_uuids: list[str]
    ) -> Attempts:
        return self._zones.get_attempts(context, path, instance_uuids).wait()

    def cancel(
        self, context: RequestContext, path: list[str], attempts: dict[str, int]
    ) -> Attempts:
        return self._zones.cancel(context, path, attempts).wait()

    def forward(
        self, context: RequestContext, path: list[str], operation: str, arguments: dict[str, Any]
    ) -> Any:
        return self._zones.forward(context, path, operation, arguments).wait()

    def refresh(self, context: RequestContext) -> None:
        self._questions.refresh(context)
