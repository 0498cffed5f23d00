"""Error documents of the console: a message."""

import falcon

from api import errors


def write(
    req: falcon.Request, resp: falcon.Response, status: int, detail: str | None, error: Exception
) -> None:
    """Write an error response."""
    errors.respond(req, resp, status, detail, lambda _status, message: {"message": message})
