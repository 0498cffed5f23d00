"""Size limits and content type of requests, checked before any work is done."""

from __future__ import annotations

import falcon

from armillary.http import bounds
from placement.rest import errors


class Bounds(bounds.Bounds):
    """Middleware: the limits of all APIs; and a body must have a content type."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        try:
            super().process_request(req, resp)
        except falcon.HTTPInvalidHeader:
            raise errors.bad_request("content-length header must be an integer") from None
        if req.content_length and not req.content_type:
            raise errors.bad_request("content-type header required when content-length > 0")
