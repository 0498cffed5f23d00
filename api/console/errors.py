"""Error documents of the console: a message."""

from __future__ import annotations

import json
from http import HTTPStatus

import falcon

from api.errors import MESSAGE_OF_STATUS
from armillary.http.errors import request_id


def write(
    req: falcon.Request, resp: falcon.Response, status: int, detail: str | None, error: Exception
) -> None:
    """Write an error response."""
    message = detail or MESSAGE_OF_STATUS.get(status) or HTTPStatus(status).phrase
    shown = message if detail else message.format(request_id=request_id(req))
    resp.status = falcon.code_to_http_status(status)
    resp.data = json.dumps({"message": shown}).encode()
    resp.content_type = falcon.MEDIA_JSON
