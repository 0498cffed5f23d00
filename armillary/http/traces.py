"""Traces of HTTP requests."""

import falcon

from armillary import tracing


class Traces:
    """Middleware that makes a request the first span of its trace, or continues the client's."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        if not tracing.is_on():
            return
        span = tracing.span(
            req.method, tracing.SERVER, req.get_header(tracing.HEADER),
            http_request_method=req.method, armillary_request=req.context.request_id,
        )  # fmt: skip
        req.context.trace = span
        req.context.span = span.__enter__()

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, req_succeeded: bool
    ) -> None:
        span = getattr(req.context, "span", None)
        if span is None:
            return
        span.update_name(f"{req.method} {req.uri_template or 'unknown path'}")
        span.set_attribute("http.response.status_code", resp.status_code)
        req.context.trace.__exit__(None, None, None)
