"""GET /: which versions of the API there are."""

from __future__ import annotations

import falcon

MIN_VERSION = "1.0"
MAX_VERSION = "1.0"


class Root:
    """The versions document."""

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        resp.media = {
            "versions": [
                {
                    "id": "v1.0",
                    "min_version": MIN_VERSION,
                    "max_version": MAX_VERSION,
                    "status": "CURRENT",
                    "links": [{"rel": "self", "href": ""}],
                }
            ]
        }
