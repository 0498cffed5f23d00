"""Arguments of the console's handlers: the request, and the state shared by all requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import falcon

from api.access import Access
from api.console import cookie
from api.console.links import ConsoleLinks
from api.console.own_requests import OwnOrigin
from api.console.password_login import IssueToken
from api.console.sessions import Session, Sessions
from api.console.token_holders import TokenHolders
from armillary.http import call
from armillary.http.client_network import client_network


@dataclass(frozen=True, slots=True, kw_only=True)
class AppState(call.Site):
    """State shared by all requests to the console."""

    access: Access
    strategy: str
    sessions: Sessions
    links: ConsoleLinks
    holders: TokenHolders
    issue_token: IssueToken | None
    own_origin: OwnOrigin


@dataclass(slots=True, kw_only=True)
class Call(call.Call[AppState]):
    """A request to the console.

    ``client`` is the address of its sender, or its network. ``is_own``: no browser says that
    another page sent it.
    """

    client: str
    session: Session | None
    csrf_token: str
    is_own: bool
    is_secure: bool

    @classmethod
    def of(cls, req: falcon.Request, **fields: Any) -> Call:
        """Return the call of a request, with these other fields."""
        site: AppState = fields["site"]
        value = cookie.value_in(req.env)
        return cls(
            client=client_network(req.remote_addr),
            session=None if value is None else site.sessions.find(value),
            csrf_token=req.get_header("X-CSRF-Token") or "",
            is_own=site.own_origin.sent(req.env),
            is_secure=req.scheme == "https",
            **fields,
        )
