"""Size limits and content type of requests, checked before any work is done."""

from __future__ import annotations

import falcon

from placement.rest import errors


class Bounds:
    """Check the lengths of query string and body; the body is read after authentication."""

    def __init__(self, *, max_body_bytes: int, max_query_bytes: int) -> None:
        self._max_body_bytes = max_body_bytes
        self._max_query_bytes = max_query_bytes

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        if len(req.query_string) > self._max_query_bytes:
            raise falcon.HTTPUriTooLong(
                description=f"The query string has {len(req.query_string)} bytes; at most "
                f"{self._max_query_bytes} are allowed."
            )
        if req.get_header("Transfer-Encoding"):
            raise falcon.HTTPLengthRequired(
                description="Send the body in one piece with a Content-Length, not chunked."
            )
        length = _content_length(req)
        if length > self._max_body_bytes:
            raise falcon.HTTPContentTooLarge(
                description=f"The body has {length} bytes; "
                f"at most {self._max_body_bytes} are allowed."
            )
        if length and not req.content_type:
            raise errors.bad_request("content-type header required when content-length > 0")


def _content_length(req: falcon.Request) -> int:
    try:
        return req.content_length or 0
    except falcon.HTTPInvalidHeader:
        raise errors.bad_request("content-length header must be an integer") from None
