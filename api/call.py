"""Arguments of the Compute API's handlers: the request, and the state shared by all requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import falcon

from api.console import cookie
from api.console.links import ConsoleLinks
from api.console_grants import ConsoleGrants
from api.events.event_hub import EventHub
from api.formats.compression import accepts_gzip
from api.formats.fleet_answers import FleetAnswers
from api.formats.host_ids import HostIds
from api.formats.links import Links
from api.formats.serial_consoles import SerialConsoleLinks
from api.image_source import ImageSource
from api.readiness import Readiness
from api.versions import OWN_FIELDS_HEADER
from api.work_budget import Spent, WorkBudget
from armillary import exception
from armillary.consoles.grant_checks import GRANT_HEADER
from armillary.http import call
from armillary.http.authentication import HEADER, is_anonymous
from armillary.http.own_origin import LOCAL, own_origin
from armillary.http.wsgi.client_gone import CLIENT_IS_GONE
from conductor.super_conductor.interface import SuperConductorAPI


@dataclass(frozen=True, slots=True, kw_only=True)
class AppState(call.Site):
    """State shared by all requests to the Compute API."""

    conductor: SuperConductorAPI
    max_limit: int
    link_prefix: str | None
    host_ids: HostIds
    images: ImageSource
    images_per_project_max: int | None
    """None: any number, as Glance has limits of its own."""
    readiness: Readiness
    events: EventHub | None = None
    console_links: ConsoleLinks | None = None
    serial_consoles: SerialConsoleLinks | None = None
    console_grants: ConsoleGrants | None = None
    fleet_answers: FleetAnswers = field(default_factory=FleetAnswers)
    work_budget: WorkBudget = field(default_factory=WorkBudget)


@dataclass(slots=True, kw_only=True)
class Call(call.Call[AppState]):
    """A request to the Compute API; ``shows_own``: the client wants Armillary's own fields.

    ``token`` is what it was authenticated with; None if it has none, and needs none. ``etags`` are
    those of answers that the client has, and ``accepts_gzip`` is whether it takes compressed ones.
    ``session_cookie``: the token is that of this session of the console, which the client does not
    know. ``local_origin`` is the address of this server's socket; None under another server.
    ``console_grant`` is what a proxy asks about, see ``api.handlers.servers.console_grant``.
    ``is_still_valid`` tells, for answers that take long, whether the caller is still who it was,
    with the same roles, and ``is_client_gone`` whether it has closed the connection.
    ``repeat_secret`` and ``is_repeat`` are as in ``armillary.http.idempotency``.
    """

    links: Links
    shows_own: bool = False
    token: str | None = field(default=None, repr=False)
    etags: tuple[str, ...] = ()
    accepts_gzip: bool = False
    session_cookie: str | None = field(default=None, repr=False)
    local_origin: str | None = None
    console_grant: str = field(default="", repr=False)
    is_still_valid: Callable[[], bool] = field(default=lambda: True, repr=False)
    is_client_gone: Callable[[], bool] = field(default=lambda: False, repr=False)
    repeat_secret: bytes | None = field(default=None, repr=False)
    is_repeat: bool = False

    @classmethod
    def of(cls, req: falcon.Request, **fields: Any) -> Call:
        """Return the call of a request, with these other fields."""
        prefix = fields["site"].link_prefix or own_origin(req.env)
        shows_own = req.get_header(OWN_FIELDS_HEADER) == "1"
        links = Links(prefix, req.path, req.params)
        token = None if is_anonymous(req) else req.get_header(HEADER)
        etags = tuple(map(str, req.if_none_match or ()))
        return cls(
            links=links, shows_own=shows_own, token=token, etags=etags,
            accepts_gzip=accepts_gzip(req.get_header("Accept-Encoding")),
            session_cookie=cookie.value_in(req.env) if cookie.SESSION in req.env else None,
            local_origin=req.env.get(LOCAL), console_grant=req.get_header(GRANT_HEADER) or "",
            is_still_valid=_validity_of(req),
            is_client_gone=req.env.get(CLIENT_IS_GONE, lambda: False),
            repeat_secret=getattr(req.context, "repeat_secret", None),
            is_repeat=getattr(req.context, "is_repeat", False), **fields,
        )  # fmt: skip

    @property
    def is_by_cookie(self) -> bool:
        """Whether the token is that of a session of the console."""
        return self.session_cookie is not None

    @property
    def conductor(self) -> SuperConductorAPI:
        """Client of the super conductor, the only service that this API calls."""
        return self.site.conductor

    def expensive_work(self) -> AbstractContextManager[Spent]:
        """Do work that takes much CPU meanwhile. Raises status 429 if this user did too much."""
        return self.site.work_budget.spending(self.context)

    def host_id(self, project_id: str, host: str | None) -> str:
        """Return a host's opaque id for a project; empty for a server without a host."""
        return self.site.host_ids.of(self.context, project_id, host)

    def allows(self, rule: str, target: Mapping[str, Any] | None = None) -> bool:
        """Return whether ``authorize`` would succeed, for responses that show more to some."""
        try:
            self.authorize(rule, target)
        except exception.PolicyNotAuthorized:
            return False
        return True

    def values(self, parameter: str) -> list[str]:
        """Return the values of a query parameter that may be repeated."""
        found = self.query.get(parameter, [])
        return found if isinstance(found, list) else [found]

    @property
    def page_size(self) -> int:
        """Maximum number of items in this response."""
        return min(self.query.get("limit", self.site.max_limit), self.site.max_limit)

    @property
    def default_target(self) -> Mapping[str, Any]:
        """The caller's own project."""
        return {"project_id": self.context.project_id, "user_id": self.context.user_id}


def _validity_of(req: falcon.Request) -> Callable[[], bool]:
    """Return what tells whether a request's token, and the session it is of, are still valid."""
    is_caller_valid: Callable[[], bool] = getattr(req.context, "is_still_valid", lambda: True)
    is_session_open: Callable[[], bool] = req.env.get(cookie.IS_OPEN, lambda: True)
    return lambda: is_session_open() and is_caller_valid()
