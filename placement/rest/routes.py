"""The routes of the REST API."""

from __future__ import annotations

from collections.abc import Mapping

from placement.engine import PlacementEngine
from placement.rest.handlers.health import Health
from placement.rest.handlers.root import Root


def routes(engine: PlacementEngine) -> Mapping[str, object]:
    """Return path -> handler."""
    return {
        "/": Root(),
        "/healthcheck": Health(engine),
    }
