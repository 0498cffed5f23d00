"""Microversion negotiation: sets ``req.context.version`` and the response headers."""

from __future__ import annotations

import falcon

from placement.rest import versions


class Microversion:
    """Reject an unsupported version with 406, and an invalid one with 400."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        wanted = versions.wanted(req.get_header(versions.HEADER))
        version = versions.parse(wanted)
        if version is None:
            raise falcon.HTTPBadRequest(description=f"invalid version string: {wanted[:40]}")
        if not versions.MIN <= version <= versions.MAX:
            raise falcon.HTTPNotAcceptable(
                description=f"Unacceptable version header: {versions.to_text(version)}"
            )
        req.context.version = version

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, req_succeeded: bool
    ) -> None:
        version = getattr(req.context, "version", None)
        if version is not None:
            resp.set_header(versions.HEADER, f"{versions.SERVICE} {versions.to_text(version)}")
        resp.append_header("Vary", versions.HEADER.lower())
