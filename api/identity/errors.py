"""Error documents of the identity API, in Keystone's form."""

import json
from http import HTTPStatus

import falcon

from api.errors import MESSAGE_OF_STATUS
from armillary.http.errors import request_id


def write(
    req: falcon.Request, resp: falcon.Response, status: int, detail: str | None, error: Exception
) -> None:
    """Write an error response."""
    title = HTTPStatus(status).phrase
    template = detail or MESSAGE_OF_STATUS.get(status, title)
    message = template if detail else template.format(request_id=request_id(req))
    resp.status = falcon.code_to_http_status(status)
    resp.content_type = falcon.MEDIA_JSON
    document = {"error": {"code": status, "title": title, "message": message}}
    resp.data = json.dumps(document).encode()
