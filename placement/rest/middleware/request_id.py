"""Give every request an id, by which its answer and its log lines are found."""

from __future__ import annotations

import falcon
from oslo_context import context as oslo_context

HEADER = "x-openstack-request-id"


class RequestId:
    """Sets ``req.context.request_id`` and answers with it."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        req.context.request_id = oslo_context.generate_request_id()

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, req_succeeded: bool
    ) -> None:
        resp.set_header(HEADER, req.context.request_id)
