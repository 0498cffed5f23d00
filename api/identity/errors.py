"""Error documents of the identity API, in Keystone's form."""

from http import HTTPStatus

import falcon

from api import errors
from armillary.http.call import Document


def write(
    req: falcon.Request, resp: falcon.Response, status: int, detail: str | None, error: Exception
) -> None:
    """Write an error response."""
    errors.respond(req, resp, status, detail, _document)


def _document(status: int, message: str) -> Document:
    return {"error": {"code": status, "title": HTTPStatus(status).phrase, "message": message}}
