"""Who holds a token, found as the Compute API would find it for a request with this token."""

import io
import sys
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import falcon
from oslo_config import cfg

from api.access import Access
from armillary.context import RequestContext
from armillary.http import authentication
from armillary.http.authentication import Caller
from armillary.http.wsgi_middleware import authenticated
from armillary.identity.builtin import FILE_AUDIT_ID, BuiltInIdentity

_VARIABLE = f"HTTP_{authentication.HEADER.upper().replace('-', '_')}"
_FOUND = "armillary.console.request"


@dataclass(frozen=True, slots=True)
class TokenHolder:
    """Who holds a valid token; names are for display, ``expires_at`` in seconds since 1970."""

    caller: Caller
    user_name: str
    project_name: str
    expires_at: int | None

    def context(self, access: Access) -> RequestContext:
        """Return the context that a request with the token would have."""
        sender = {name: getattr(self.caller, name) for name in _SENDER}
        context = RequestContext(**sender)
        context.is_admin = access.is_admin(context)
        return context


_SENDER = (
    "user_id", "project_id", "roles", "domain_id", "user_domain_id", "project_domain_id",
    "system_scope",
)  # fmt: skip


class TokenHolders:
    """Looks tokens up by ``[api] auth_strategy``."""

    def __init__(self, conf: cfg.ConfigOpts, access: Access) -> None:
        self._access = access
        self._authenticated = authenticated(_keep_request, conf)

    def find(self, token: str | None) -> TokenHolder | None:
        """Return who holds a token; None if it is not valid, or there is none and one is needed."""
        req = self._request_with(token)
        caller = self._access.authenticate(req)
        if caller is None:
            return None
        identity = self._access.identity
        if identity is not None:
            return _of_built_in(identity, caller, token or "")
        return TokenHolder(
            caller,
            req.get_header("X-User-Name") or caller.user_id or "",
            req.get_header("X-Project-Name") or caller.project_id or "",
            _expiry(req.env.get("keystone.token_info")),
        )

    def _request_with(self, token: str | None) -> falcon.Request:
        """Return a request with the token, after the middleware that validates it."""
        environ: WSGIEnvironment = {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": "/",
            "SCRIPT_NAME": "",
            "QUERY_STRING": "",
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(),
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
            _FOUND: [],
        }
        if token is not None:
            environ[_VARIABLE] = token
        self._authenticated(environ, _start_nothing)
        (seen,) = environ[_FOUND] or [environ]  # Keystone's middleware may refuse by itself
        return falcon.Request(seen)


def _keep_request(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    environ[_FOUND].append(environ)
    start_response("204 No Content", [])  # Keystone's middleware fails without an answer
    return []


def _start_nothing(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
    """Ignore the response."""


def _of_built_in(identity: BuiltInIdentity, caller: Caller, token: str) -> TokenHolder | None:
    holder = identity.find(token)
    if holder is None:
        return None
    expires_at: int | None = holder.claims.expires_at
    if holder.claims.audit_id == FILE_AUDIT_ID:
        listed = holder.listed.expires if holder.listed is not None else None
        expires_at = None if listed is None else int(listed.timestamp())
    project = "" if holder.project is None else holder.project.name
    return TokenHolder(caller, holder.user.name, project, expires_at)


def _expiry(token_info: Any) -> int | None:
    """Return when a token of Keystone expires."""
    try:
        return int(datetime.fromisoformat(token_info["token"]["expires_at"]).timestamp())
    except (KeyError, TypeError, ValueError):
        return None
