"""Identity of a request's sender, for each ``[api] auth_strategy``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import falcon
from oslo_config import cfg

from armillary import exception
from armillary.http.tokens import TokenFile, with_implied_roles
from placement.rest.middleware.authentication import HEADER, Authenticate

TOKEN_CHARACTERS_MAX = 512

ADMIN = "admin"
CONFIRMED = "Confirmed"

Facts = dict[str, Any]


def make_authenticate(conf: cfg.ConfigOpts) -> Authenticate:
    """Return the function for ``[api] auth_strategy``. Raises ``ConfigurationError``."""
    strategy = conf.api.auth_strategy
    if strategy == "keystone":
        return of_keystone
    if strategy == "noauth2":
        return of_trusted_token
    if strategy == "noauth":
        return of_noauth
    if not conf.api.token_file:
        raise exception.ConfigurationError(
            reason="[api] token_file must be set with auth_strategy = token_file"
        )
    tokens = TokenFile(Path(conf.api.token_file))
    return lambda req: of_token_file(req, tokens)


def of_trusted_token(req: falcon.Request) -> Facts | None:
    """Trust the token ``USER`` or ``USER:PROJECT`` and the related headers.

    The user admin has the role admin and any other one none, unless ``X-Roles`` lists roles.
    """
    token = _token(req)
    return None if token is None else _trusted(req, token)


def of_noauth(req: falcon.Request) -> Facts | None:
    """Trust a token in the same way; a request without one acts as the administrator."""
    return _trusted(req, _token(req) or ADMIN)


def of_token_file(req: falcon.Request, tokens: TokenFile) -> Facts | None:
    """Return the identity of the token from the token file."""
    token = _token(req)
    identity = tokens.find_identity(token) if token else None
    if identity is None:
        return None
    return {
        "user_id": identity.user,
        "project_id": identity.project,
        "roles": with_implied_roles(identity.roles),
    }


def of_keystone(req: falcon.Request) -> Facts | None:
    """Return the identity that keystonemiddleware, which validated the token, put into the headers.

    The middleware removes such headers of the client.
    """
    if req.get_header("X-Identity-Status") != CONFIRMED:
        return None
    return {
        "user_id": req.get_header("X-User-Id"),
        "project_id": req.get_header("X-Project-Id"),
        "domain_id": req.get_header("X-Domain-Id"),
        "user_domain_id": req.get_header("X-User-Domain-Id"),
        "project_domain_id": req.get_header("X-Project-Domain-Id"),
        "system_scope": req.get_header("OpenStack-System-Scope"),
        "roles": _listed(req.get_header("X-Roles")),
    }


def _trusted(req: falcon.Request, token: str) -> Facts | None:
    user, _, project = token.partition(":")
    if not user:
        return None
    roles = req.get_header("X-Roles")
    return {
        "user_id": user,
        "project_id": req.get_header("X-Project-Id") or project or user,
        "system_scope": req.get_header("OpenStack-System-Scope"),
        "roles": _listed(roles) if roles else [ADMIN] if user == ADMIN else [],
    }


def _token(req: falcon.Request) -> str | None:
    token = req.get_header(HEADER)
    usable = token and len(token) <= TOKEN_CHARACTERS_MAX and token.isprintable()
    return token if usable else None


def _listed(roles: str | None) -> list[str]:
    return [role.strip() for role in (roles or "").split(",") if role.strip()]
