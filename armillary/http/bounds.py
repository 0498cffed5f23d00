"""Size limits of requests, checked before any work is done."""

import falcon


class Bounds:
    """Middleware: checks the lengths of query string and body, which is read later.

    ``max_query_bytes`` None leaves the query string to the server's limit for the whole head.
    """

    def __init__(self, *, max_body_bytes: int, max_query_bytes: int | None = None) -> None:
        self._max_body_bytes = max_body_bytes
        self._max_query_bytes = max_query_bytes

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        query_bytes = len(req.query_string)
        if self._max_query_bytes is not None and query_bytes > self._max_query_bytes:
            raise falcon.HTTPUriTooLong(
                description=f"The query string has {query_bytes} bytes; at most "
                f"{self._max_query_bytes} are allowed."
            )
        if req.get_header("Transfer-Encoding"):
            raise falcon.HTTPLengthRequired(
                description="Send the body in one piece with a Content-Length, not chunked."
            )
        if (req.content_length or 0) > self._max_body_bytes:
            raise falcon.HTTPContentTooLarge(
                description=f"The body has {req.content_length} bytes; "
                f"at most {self._max_body_bytes} are allowed."
            )
