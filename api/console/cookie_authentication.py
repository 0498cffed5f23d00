"""WSGI middleware that authenticates the page's requests to the Compute API by its cookie."""

import hmac
import logging
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from api import errors
from api.console import cookie
from api.console.own_requests import SAFE_METHODS, OwnOrigin
from api.console.sessions import Session, Sessions
from api.middleware.mounts import WsgiApp
from armillary.audit import REFUSED, AuditTrail, Event, Initiator
from armillary.http.audit import USER, action_of
from armillary.http.authentication import HEADER

LOG = logging.getLogger(__name__)

CSRF_HEADER = "X-CSRF-Token"
COMPUTE = "v2.1"
"""First part of the only paths for which the cookie counts."""
_TOKEN = f"HTTP_{HEADER.upper().replace('-', '_')}"
_CSRF = f"HTTP_{CSRF_HEADER.upper().replace('-', '_')}"


class CookieAuthentication:
    """Puts the token of a session into requests without one.

    A request that changes something needs the session's CSRF token, too, and must not come from
    another page; else it is answered with 403. A cookie that is not valid is ignored.
    """

    def __init__(
        self, app: WsgiApp, sessions: Sessions, own_origin: OwnOrigin, trail: AuditTrail
    ) -> None:
        self._app = app
        self._sessions = sessions
        self._own_origin = own_origin
        self._trail = trail

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Any:
        session = self._session_of(environ)
        if session is not None:
            reason = self._refusal_reason(environ, session)
            if reason is not None:
                return self._refuse(reason, environ, session, start_response)
            environ[_TOKEN] = session.token
            environ[cookie.SESSION] = session.id
            environ[cookie.IS_OPEN] = lambda: self._session_in(environ) is not None
        return self._app(environ, start_response)

    def _session_of(self, environ: WSGIEnvironment) -> Session | None:
        first = str(environ.get("PATH_INFO", "")).lstrip("/").partition("/")[0]
        if first != COMPUTE or environ.get(_TOKEN):
            return None
        return self._session_in(environ)

    def _session_in(self, environ: WSGIEnvironment) -> Session | None:
        value = cookie.value_in(environ)
        return None if value is None else self._sessions.find(value)

    def _refusal_reason(self, environ: WSGIEnvironment, session: Session) -> str | None:
        if environ["REQUEST_METHOD"] in SAFE_METHODS:
            return None
        if not self._own_origin.sent(environ):
            return "ForeignOrigin"
        given = str(environ.get(_CSRF, "")).encode("latin-1", "replace")
        return None if hmac.compare_digest(given, session.csrf_token.encode()) else "CsrfToken"

    def _refuse(
        self, reason: str, environ: WSGIEnvironment, session: Session, start_response: StartResponse
    ) -> list[bytes]:
        LOG.warning("Refused a request with the console's cookie from %s: %s",
                    environ.get("REMOTE_ADDR"), reason)  # fmt: skip
        self._trail.record(_event(reason, environ, session))
        headers, body = errors.refusal(
            403,
            "A request with the console's cookie that changes something must come from the "
            f"console's page and have the header {CSRF_HEADER} with the session's token. Programs "
            f"use {HEADER} instead.",
        )
        start_response("403 Forbidden", [*headers.items(), ("Content-Length", str(len(body)))])
        return [body]


def _event(reason: str, environ: WSGIEnvironment, session: Session) -> Event:
    return Event(
        action=action_of(environ["REQUEST_METHOD"]),
        outcome=REFUSED,
        initiator=Initiator(
            kind=USER, id=session.user_id, credential=session.id, address=environ.get("REMOTE_ADDR")
        ),
        target_kind="unknown",
        reason=reason,
        status=403,
        path=environ.get("PATH_INFO"),
    )
