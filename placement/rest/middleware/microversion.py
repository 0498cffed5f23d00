"""Agree on the version of the API: sets ``req.context.version``, and says which one it was."""

from __future__ import annotations

import falcon

from placement.rest import versions


class Microversion:
    """Refuses a version that is not served: 406, or 400 when it is no version at all."""

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
