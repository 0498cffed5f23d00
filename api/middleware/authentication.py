"""Authentication of requests: none, or by the token file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import falcon
from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext
from armillary.http.tokens import Identity, TokenFile, with_implied_roles

HEADER = "X-Auth-Token"
TOKEN_CHARACTERS_MAX = 512

ADMIN = "admin"

Authenticate = Callable[[str | None], Identity | None]
"""Takes the token of a request; returns its identity or None."""


class Authentication:
    """Sets ``req.context.caller``, a ``RequestContext``; public paths need none.

    Raises ``Unauthorized``. ``is_admin`` decides from context and policy whether the caller is an
    administrator.
    """

    def __init__(
        self, authenticate: Authenticate, is_admin: Callable[[RequestContext], bool]
    ) -> None:
        self._authenticate = authenticate
        self._is_admin = is_admin

    def process_resource(
        self, req: falcon.Request, resp: falcon.Response, resource: object, params: dict[str, Any]
    ) -> None:
        if getattr(resource, "is_public", False):
            return
        token = req.get_header(HEADER)
        identity = None
        if token is None or len(token) <= TOKEN_CHARACTERS_MAX:
            identity = self._authenticate(token)
        if identity is None:
            raise exception.Unauthorized
        req.context.caller = self._context(req, identity)

    def _context(self, req: falcon.Request, identity: Identity) -> RequestContext:
        context = RequestContext(
            user_id=identity.user,
            project_id=identity.project,
            roles=with_implied_roles(identity.roles),
            request_id=req.context.request_id,
            global_request_id=req.context.global_request_id,
            overwrite=True,
        )
        context.is_admin = self._is_admin(context)
        return context


def make_authenticate(conf: cfg.ConfigOpts) -> Authenticate:
    """Return the function for ``[api] auth_strategy``. Raises ``ConfigurationError``."""
    if conf.api.auth_strategy == "noauth":
        return trust
    if conf.api.auth_strategy != "token_file":
        raise exception.ConfigurationError(
            reason=f"[api] auth_strategy = {conf.api.auth_strategy} is only for the Placement REST "
            "API; armillary-api accepts noauth and token_file"
        )
    if not conf.api.token_file:
        raise exception.ConfigurationError(
            reason="[api] token_file must be set with auth_strategy = token_file"
        )
    tokens = TokenFile(Path(conf.api.token_file))
    return lambda token: None if not token else tokens.find_identity(token)


def trust(token: str | None) -> Identity | None:
    """Trust every token: none is the administrator, ``USER:PROJECT`` is that user."""
    if not token:
        return Identity(ADMIN, ADMIN, (ADMIN,))
    user, _, project = token.partition(":")
    if not user or not token.isprintable():
        return None
    return Identity(user, project or user, (ADMIN if user == ADMIN else "member",))
