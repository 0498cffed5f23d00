"""The console as a WSGI application: its page and its sessions."""

import re
from collections.abc import Mapping

import falcon
from oslo_config import cfg

from api import errors
from api.access import Access
from api.application import make_application
from api.console.call import AppState, Call
from api.console.links import ConsoleLinks
from api.console.own_requests import OwnOrigin
from api.console.page import ROOT, Page
from api.console.password_login import issuer_of
from api.console.session_handlers import ROUTES
from api.console.sessions import Sessions
from api.console.token_holders import TokenHolders
from api.identity.login_guard import LoginGuard
from api.middleware.body import Body
from armillary.audit import AuditTrail
from armillary.http.audit import Audit
from armillary.http.bounds import Bounds
from armillary.http.errors import App
from armillary.http.microversion import OneVersion
from armillary.http.request_id import RequestId
from armillary.http.traces import Traces

MAX_BODY_BYTES = 16384
MAX_QUERY_BYTES = 8192
LOGINS = ("/ui/session",)
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:",
        "connect-src 'self'", "font-src 'self'", "base-uri 'none'", "form-action 'none'",
        "frame-ancestors 'none'",
    )
)  # fmt: skip
SECURITY_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class SecurityHeaders:
    """Middleware: no foreign script, no frame, and no referrer for other sites."""

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, req_succeeded: bool
    ) -> None:
        resp.set_headers(dict(SECURITY_HEADERS))


def make_app(conf: cfg.ConfigOpts, access: Access, *, sessions: Sessions, guard: LoginGuard) -> App:
    """Return the application for the paths below ``/ui``."""
    middleware = [
        RequestId(),
        SecurityHeaders(),
        Audit(AuditTrail.from_conf(conf, "console"), "console", logins=LOGINS),
        OneVersion(),
        Bounds(max_body_bytes=MAX_BODY_BYTES, max_query_bytes=MAX_QUERY_BYTES),
        Traces(conf),
        Body(),
    ]
    site = AppState(
        policy=access.policy,
        document=dict,
        access=access,
        strategy=conf.api.auth_strategy,
        sessions=sessions,
        links=ConsoleLinks.from_conf(conf),
        holders=TokenHolders(conf, access),
        issue_token=issuer_of(conf, access, guard),
        own_origin=OwnOrigin.from_conf(conf),
    )
    app = make_application(ROUTES, middleware, site, Call.of, write_error=_write_error)
    app.add_sink(Page(), re.compile(re.escape(ROOT)))
    return app


def _write_error(
    req: falcon.Request, resp: falcon.Response, status: int, detail: str | None, error: Exception
) -> None:
    errors.respond(req, resp, status, detail, error, lambda _status, message: {"message": message})
