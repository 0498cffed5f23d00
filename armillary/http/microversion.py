"""Microversions: the versions an API supports, the one a request asks for, entries by version."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import falcon

Version = tuple[int, int]

HEADER = "OpenStack-API-Version"

BEGINNING: Version = (0, 0)
"""Below every version: since always."""

SHOWN_CHARACTERS_MAX = 40  # maximum length of a malformed version in a response

T = TypeVar("T")


def to_text(version: Version) -> str:
    """Return the version as text, such as 1.39."""
    return f"{version[0]}.{version[1]}"


def entry_for(version: Version, table: Mapping[Version, T]) -> T | None:
    """Return the entry of the highest version not above ``version``, None if there is none."""
    known = [since for since in table if since <= version]
    return table[max(known)] if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Microversions:
    """The versions of one API, and how requests ask for them.

    ``form`` matches a version with two groups, its numbers, or the word for the newest with neither
    group. ``malformed`` and ``unsupported`` are error messages, in which ``{wanted}``,
    ``{minimum}`` and ``{maximum}`` are replaced. ``old_header`` is a header with nothing but the
    version, which ``OpenStack-API-Version`` overrides. ``vary`` is the value of that header.
    ``of_refusals`` is the version in a response to a version that was refused; None: there is none.
    """

    service: str
    minimum: Version
    maximum: Version
    form: re.Pattern[str]
    malformed: str
    unsupported: str
    vary: str
    old_header: str | None = None
    of_refusals: Version | None = None

    def wanted(self, header: str | None, old_header: str | None = None) -> str:
        """Return the requested version, the word for the newest, or by default the lowest.

        The header may name several services, each with its version.
        """
        for entry in (header or "").split(","):
            service, _, version = entry.strip().partition(" ")
            if service.lower() == self.service and version:
                return version.strip()
        return (old_header or to_text(self.minimum)).strip()

    def parse(self, text: str) -> Version | None:
        """Return the version in a text, None if it is malformed; it may be unsupported."""
        match = self.form.fullmatch(text)
        if match is None:
            return None
        return (int(match[1]), int(match[2])) if match[1] else self.maximum

    def negotiate(self, req: falcon.Request) -> Version:
        """Return the version of a request. Raises status 400 or 406."""
        old = req.get_header(self.old_header) if self.old_header else None
        wanted = self.wanted(req.get_header(HEADER), old)
        version = self.parse(wanted)
        if version is None:
            shown = wanted[:SHOWN_CHARACTERS_MAX]
            raise falcon.HTTPBadRequest(description=self._sentence(self.malformed, shown))
        if not self.minimum <= version <= self.maximum:
            description = self._sentence(self.unsupported, to_text(version))
            raise falcon.HTTPNotAcceptable(description=description)
        return version

    def _sentence(self, template: str, wanted: str) -> str:
        return template.format(
            wanted=wanted, minimum=to_text(self.minimum), maximum=to_text(self.maximum)
        )


class Microversion:
    """Middleware: sets ``req.context.version`` and the response headers."""

    def __init__(self, versions: Microversions) -> None:
        self._versions = versions

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        req.context.version = self._versions.negotiate(req)

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, req_succeeded: bool
    ) -> None:
        versions = self._versions
        version: Version | None = getattr(req.context, "version", versions.of_refusals)
        if version is not None:
            resp.set_header(HEADER, f"{versions.service} {to_text(version)}")
            if versions.old_header:
                resp.set_header(versions.old_header, to_text(version))
        resp.append_header("Vary", versions.vary)


class OneVersion:
    """Middleware for an API without microversions."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        req.context.version = BEGINNING
