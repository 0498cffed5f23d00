"""Arguments of the identity API's handlers: the request, and the state shared by all requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import falcon

from api.identity.catalog import Catalog
from api.identity.login_guard import LoginGuard
from armillary.http import call
from armillary.http.authentication import token_of
from armillary.http.client_network import client_network
from armillary.http.own_origin import own_origin
from armillary.identity.builtin import BuiltInIdentity

SUBJECT_HEADER = "X-Subject-Token"


@dataclass(frozen=True, slots=True, kw_only=True)
class AppState(call.Site):
    """State shared by all requests to the identity API."""

    identity: BuiltInIdentity
    catalog: Catalog
    guard: LoginGuard


@dataclass(slots=True, kw_only=True)
class Call(call.Call[AppState]):
    """A request to the identity API.

    ``origin`` is the address of this server, ``root`` that of the API, ``client`` that of its
    sender, or its network. ``token`` is the caller's, ``subject_token`` the one that it is about.
    """

    origin: str
    root: str
    client: str
    token: str
    subject_token: str

    @classmethod
    def of(cls, req: falcon.Request, **fields: Any) -> Call:
        """Return the call of a request, with these other fields."""
        origin = fields["site"].catalog.origin_of(own_origin(req.env))
        return cls(
            origin=origin,
            root=f"{origin}{req.root_path}/v3",
            client=client_network(req.remote_addr),
            token=token_of(req) or "",
            subject_token=req.get_header(SUBJECT_HEADER) or "",
            **fields,
        )

    @property
    def identity(self) -> BuiltInIdentity:
        """Users, projects and tokens."""
        return self.site.identity

    @property
    def guard(self) -> LoginGuard:
        """Limits of failed logins."""
        return self.site.guard
