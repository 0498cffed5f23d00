"""Microversion negotiation of the Compute API: only 2.1 is supported."""

from __future__ import annotations

import re

import falcon

MIN_VERSION = "2.1"
MAX_VERSION = "2.1"
SERVICE = "compute"
HEADER = "OpenStack-API-Version"
OLD_HEADER = "X-OpenStack-Nova-API-Version"
LATEST = "latest"

_FORM = re.compile(r"[1-9]\d{0,5}\.(0|[1-9]\d{0,5})")


class Microversion:
    """Reject an unsupported version with 406, and an invalid one with 400."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        _require_served(_wanted(req))

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, req_succeeded: bool
    ) -> None:
        resp.set_header(HEADER, f"{SERVICE} {MAX_VERSION}")
        resp.set_header(OLD_HEADER, MAX_VERSION)
        resp.append_header("Vary", f"{HEADER}, {OLD_HEADER}")


def _wanted(req: falcon.Request) -> str:
    """Return the requested version; the new header takes precedence, the default is the lowest."""
    for entry in (req.get_header(HEADER) or "").split(","):
        service, _, version = entry.strip().partition(" ")
        if service.lower() == SERVICE:
            return version.strip()
    return (req.get_header(OLD_HEADER) or MIN_VERSION).strip()


def _require_served(version: str) -> None:
    if version in (MAX_VERSION, LATEST):
        return
    if not _FORM.fullmatch(version):
        raise falcon.HTTPBadRequest(
            description=f"The version '{version[:40]}' is not of the form MAJOR.MINOR, such as "
            f"{MAX_VERSION}; request it with '{HEADER}: {SERVICE} {MAX_VERSION}'."
        )
    raise falcon.HTTPNotAcceptable(
        description=f"Version {version} is not supported by this API. Minimum is {MIN_VERSION} and "
        f"maximum is {MAX_VERSION}."
    )
