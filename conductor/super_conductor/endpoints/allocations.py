"""Allocations of all consumers, and usage totals, from placement."""

from __future__ import annotations

from typing import Any

from armillary.context import RequestContext
from placement.interface import PlacementAPI


class AllocationsEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, placement: PlacementAPI) -> None:
        self._placement = placement

    def list_allocations(
        self, context: RequestContext, marker: str | None = None, limit: int = 1000
    ) -> dict[str, Any]:
        found = self._placement.list_allocations(context, marker=marker, limit=limit)
        return {"allocations": found, "totals": self._placement.get_usage_totals(context)}
