"""Error documents of the Compute API, and the messages of all APIs on its port."""

import json
from collections.abc import Callable, Iterator
from http import HTTPStatus

import falcon

from api.formats.host_details import without_host_details
from armillary import exception
from armillary.context import RequestContext
from armillary.http.call import Document
from armillary.http.errors import request_id

NAME_OF_STATUS = {
    400: "badRequest",
    401: "unauthorized",
    403: "forbidden",
    404: "itemNotFound",
    405: "badMethod",
    406: "notAcceptable",
    409: "conflictingRequest",
    411: "lengthRequired",
    413: "overLimit",
    415: "badMediaType",
    501: "notImplemented",
    503: "serviceUnavailable",
}
OTHER_NAME = "computeFault"
_HOST_FACTS = ("host", "node")

# Internal details are logged; the client learns what the error means for the request.
MESSAGE_OF_STATUS = {
    404: "There is nothing at this path.",
    405: "The path does not support this method; the header Allow lists those that it supports.",
    500: "An unexpected error occurred. Report the request id {request_id} to the administrators.",
    503: "A part of the service is unavailable{which}. Try again later. Request id: {request_id}.",
    504: "The request timed out{why}: it may have been executed or not. Check before you repeat "
    "it. Request id: {request_id}.",
}
READ_TIMED_OUT = (
    "The request timed out{why}; it changes nothing. Try again. Request id: {request_id}."
)
SERVICE_OF_TOPIC = {
    "cell_conductor": "the conductor of a cell",
    "compute": "the agent of a host",
    "conductor": "the super conductor",
    "placement": "placement",
    "scheduler": "the scheduler",
    "zone": "a zone",
}
"""Names of services that did not answer, by the topic of the message."""
READS = frozenset({"GET", "HEAD"})


def fault(status: int, message: str) -> Document:
    """Return the body of an error: one field, named after the status."""
    name = NAME_OF_STATUS.get(status, OTHER_NAME)
    return {name: {"code": status, "message": message}}


def refusal(status: int, detail: str) -> tuple[dict[str, str], bytes]:
    """Return headers and body of an error response made outside the application."""
    return {"Content-Type": falcon.MEDIA_JSON}, json.dumps(fault(status, detail)).encode()


def write(
    req: falcon.Request, resp: falcon.Response, status: int, detail: str | None, error: Exception
) -> None:
    """Write an error response.

    A path that ends with a slash lacks the name of its object, which is then not found. Only
    administrators are told which host an error is about, and paths of it.
    """
    if detail is not None and not _is_admin(req):
        hosts = list(_hosts_of(error))
        # Only messages about a host contain paths of it; in others, paths are those of the API.
        detail = without_host_details(detail, hosts) if hosts else detail
    if status == 405 and req.env["PATH_INFO"].endswith("/"):
        status, detail = 404, None
    respond(req, resp, status, detail, error, fault)


def _hosts_of(error: BaseException | None) -> Iterator[str]:
    """Yield the hosts among the facts of an error and of what caused it."""
    while error is not None:
        facts = error.kwargs if isinstance(error, exception.ArmillaryError) else {}
        yield from (facts[name] for name in _HOST_FACTS if isinstance(facts.get(name), str))
        error = error.__cause__


def _is_admin(req: falcon.Request) -> bool:
    caller: RequestContext | None = getattr(req.context, "caller", None)
    return caller is not None and bool(caller.is_admin)


def respond(
    req: falcon.Request,
    resp: falcon.Response,
    status: int,
    detail: str | None,
    error: Exception,
    document: Callable[[int, str], Document],
) -> None:
    """Write an error response, whose document is made of its status and message."""
    resp.status = falcon.code_to_http_status(status)
    resp.data = json.dumps(document(status, detail or _message(req, status, error))).encode()
    resp.content_type = falcon.MEDIA_JSON


def _message(req: falcon.Request, status: int, error: Exception) -> str:
    message = MESSAGE_OF_STATUS.get(status) or HTTPStatus(status).phrase
    if status == HTTPStatus.GATEWAY_TIMEOUT and req.method in READS:
        message = READ_TIMED_OUT
    service = _silent_service(error, names_all=_is_admin(req))
    return message.format(
        request_id=request_id(req),
        which=f": {service}" if service else "",
        why=f" because {service} did not answer" if service else "",
    )


def _silent_service(error: Exception, *, names_all: bool) -> str | None:
    """Return the name of the service that did not answer, None if the error does not tell it.

    Only administrators are told which cell or zone it was.
    """
    match error:
        case exception.Unavailable(kwargs={"topic": topic}) if topic in SERVICE_OF_TOPIC:
            return SERVICE_OF_TOPIC[topic]
        case exception.CellUnavailable(kwargs={"cell": cell}):
            return f"cell {cell}" if names_all else "a cell"
        case exception.ZoneUnavailable(kwargs={"zone": zone}):
            return f"zone {zone}" if names_all else "a zone"
    return None
