"""Zones as operators see them: this zone and its child zones."""

from __future__ import annotations

from typing import Any

from armillary.context import RequestContext
from conductor.super_conductor.zones.overview import Overview


class ZonesEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, overview: Overview) -> None:
        self._overview = overview

    def list_zones(self, context: RequestContext) -> dict[str, Any]:
        return self._overview.list_zones(context)

    def get_zone(self, context: RequestContext, zone: str) -> dict[str, Any]:
        return self._overview.get_zone(context, zone)

    def refresh_zones(self, context: RequestContext) -> None:
        self._overview.refresh(context)
