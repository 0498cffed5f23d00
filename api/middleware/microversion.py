"""Agree on the version of the Compute API: 2.1 is served, other wishes are refused."""

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
    """Refuses a version that is not served: 406, or 400 when it is no version at all."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        _require_served(_wanted(req))

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, req_succeeded: bool
    ) -> None:
        resp.set_header(HEADER, f"{SERVICE} {MAX_VERSION}")
        resp.set_header(OLD_HEADER, MAX_VERSION)
        resp.append_header("Vary", f"{HEADER}, {OLD_HEADER}")


def _wanted(req: falcon.Request) -> str:
    """Return the version that is asked for; the new header wins, none at all means the lowest."""
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
            description=f"The version '{version[:40]}' has not the form MAJOR.MINOR, such as "
            f"{MAX_VERSION}; it is asked for by '{HEADER}: {SERVICE} {MAX_VERSION}'."
        )
    raise falcon.HTTPNotAcceptable(
        description=f"Version {version} is not supported by this API. Minimum is {MIN_VERSION} and "
        f"maximum is {MAX_VERSION}."
    )
