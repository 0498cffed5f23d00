"""The identity API as a WSGI application: middleware in order, routes, errors."""

import time
from http import HTTPStatus

import falcon
from oslo_config import cfg

from api import errors
from api.access import Access
from api.application import make_application
from api.identity.call import AppState, Call
from api.identity.catalog import Catalog
from api.identity.login_guard import LoginGuard
from api.identity.routes import ROUTES
from api.middleware.body import Body
from armillary.audit import AuditTrail
from armillary.http.audit import Audit
from armillary.http.authentication import RouteAuthentication
from armillary.http.bounds import Bounds
from armillary.http.call import Document
from armillary.http.errors import App
from armillary.http.microversion import OneVersion
from armillary.http.request_id import RequestId
from armillary.http.traces import Traces
from armillary.identity.builtin import BuiltInIdentity

MAX_BODY_BYTES = 65536
LOGINS = ("/v3/auth/tokens",)


def make_app(
    conf: cfg.ConfigOpts, access: Access, identity: BuiltInIdentity, guard: LoginGuard | None = None
) -> App:
    """Return the application for the users and tokens of ``identity``.

    ``guard`` limits failed logins, together with other places of this process to log in.
    """
    middleware = [
        RequestId(),
        Audit(AuditTrail.from_conf(conf, "identity"), "identity", logins=LOGINS),
        OneVersion(),
        Bounds(max_body_bytes=MAX_BODY_BYTES),
        RouteAuthentication(access.authenticate, is_admin=access.is_admin),
        Traces(conf),
        Body(),
    ]
    site = AppState(
        policy=access.policy,
        document=dict,
        identity=identity,
        catalog=Catalog(conf),
        guard=guard or LoginGuard(time.monotonic),
    )
    return make_application(ROUTES, middleware, site, Call.of, write_error=_write_error)


def _write_error(
    req: falcon.Request, resp: falcon.Response, status: int, detail: str | None, error: Exception
) -> None:
    """Write an error response in Keystone's form."""
    errors.respond(req, resp, status, detail, error, _error_document)


def _error_document(status: int, message: str) -> Document:
    return {"error": {"code": status, "title": HTTPStatus(status).phrase, "message": message}}
