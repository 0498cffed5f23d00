"""Request IDs: one per request, the client's own as global id, and an access log line."""

import logging
import re
import time

import falcon
from oslo_context import context as oslo_context

from armillary.context import RequestContext

LOG = logging.getLogger(__name__)

HEADER = "x-openstack-request-id"

_FORM = re.compile(r"req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class RequestId:
    """Sets ``req.context.request_id`` and ``global_request_id``; the response has the former.

    A client's id of the form ``req-UUID`` is passed on as the global request id: one id for a
    request through several services. Anything else in the header is ignored. ``other_headers`` are
    response headers with the same id.
    """

    def __init__(self, *other_headers: str) -> None:
        self._headers = (HEADER, *other_headers)

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        req.context.started_at = time.monotonic()
        req.context.request_id = oslo_context.generate_request_id()
        theirs = req.get_header(HEADER) or ""
        req.context.global_request_id = theirs if _FORM.fullmatch(theirs) else None
        # Context for log lines before authentication: they would show this thread's last request.
        RequestContext(
            request_id=req.context.request_id,
            global_request_id=req.context.global_request_id,
            overwrite=True,
        )

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, req_succeeded: bool
    ) -> None:
        for name in self._headers:
            resp.set_header(name, req.context.request_id)
        LOG.info(
            "%s %s %s %s: %s in %.3f s",
            req.context.request_id,
            req.remote_addr,
            req.method,
            falcon.uri.encode(req.path),
            resp.status,
            time.monotonic() - req.context.started_at,
        )
