"""GET /healthcheck: whether this process can do its work, which is whether its database answers."""

from __future__ import annotations

import falcon

from placement.engine import PlacementEngine


class Health:
    """Status 200, or 503 in the API's error shape."""

    def __init__(self, engine: PlacementEngine) -> None:
        self._engine = engine

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        self._engine.ping()
        resp.media = {"status": "ok"}
