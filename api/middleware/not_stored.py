"""Response headers that keep caches and browsers from keeping, or guessing at, what they get."""

from typing import Any

CACHE_CONTROL = "private, no-store"


class NotStored:
    """Says that a response is for its client alone, unless its handler says otherwise.

    A cache in front of the API does not know that ``X-Auth-Token`` decides what is shown.
    """

    def process_response(
        self, req: object, resp: Any, resource: object, req_succeeded: bool
    ) -> None:
        if resp.get_header("Cache-Control") is None:
            resp.set_header("Cache-Control", CACHE_CONTROL)
        resp.set_header("X-Content-Type-Options", "nosniff")
