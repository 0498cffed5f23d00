"""Traces of HTTP requests.

A client with a ``traceparent`` header decides which trace a request belongs to, and whether it is
sampled. So the header counts only from clients that ``[tracing] continue_traces_of`` names.
"""

import time

import falcon
from oslo_config import cfg

from armillary.http.trusted_hosts import UNAUTHENTICATED
from armillary.metrics import tracing


class Traces:
    """Middleware that makes a request the first span of its trace, or continues the client's.

    It stands after authentication; the span begins with the request nevertheless.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._continued = conf.tracing.continue_traces_of
        self._proves_callers = conf.api.auth_strategy not in UNAUTHENTICATED

    def process_resource(
        self, req: falcon.Request, resp: falcon.Response, resource: object, params: object
    ) -> None:
        if tracing.is_on():
            self._start(req)

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, req_succeeded: bool
    ) -> None:
        if tracing.is_on() and not hasattr(req.context, "span"):  # refused, or an unknown path
            self._start(req)
        span = getattr(req.context, "span", None)
        if span is None:
            return
        span.update_name(f"{req.method} {req.uri_template or 'unknown path'}")
        span.set_attribute("http.response.status_code", resp.status_code)
        req.context.trace.__exit__(None, None, None)

    def _start(self, req: falcon.Request) -> None:
        parent = req.get_header(tracing.HEADER) if self._may_continue(req) else None
        span = tracing.span(
            req.method, tracing.SERVER, parent,
            seconds_ago=time.monotonic() - req.context.started_at,
            http_request_method=req.method, armillary_request=req.context.request_id,
        )  # fmt: skip
        req.context.trace = span
        req.context.span = span.__enter__()

    def _may_continue(self, req: falcon.Request) -> bool:
        if self._continued != "authenticated":
            return bool(self._continued == "all")
        return self._proves_callers and getattr(req.context, "caller", None) is not None
