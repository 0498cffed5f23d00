"""The identity API as a WSGI application: middleware in order, routes, errors."""

import time

from oslo_config import cfg

from api import validation
from api.access import Access
from api.body import Body, read_body
from api.identity import errors
from api.identity.call import AppState, Call
from api.identity.catalog import Catalog
from api.identity.login_guard import LoginGuard
from api.identity.routes import ROUTES
from armillary.audit import AuditTrail
from armillary.http.audit import Audit
from armillary.http.authentication import RouteAuthentication
from armillary.http.bounds import Bounds
from armillary.http.dispatch import Dialect, Endpoint
from armillary.http.errors import App, answer_errors
from armillary.http.microversion import OneVersion
from armillary.http.request_id import RequestId
from armillary.identity.builtin import BuiltInIdentity

MAX_BODY_BYTES = 65536
LOGINS = ("/v3/auth/tokens",)


def make_app(conf: cfg.ConfigOpts, access: Access, identity: BuiltInIdentity) -> App:
    """Return the application for the users and tokens of ``identity``."""
    app = App(
        middleware=[
            RequestId(),
            Audit(AuditTrail.from_conf(conf, "identity"), "identity", logins=LOGINS),
            OneVersion(),
            Bounds(max_body_bytes=MAX_BODY_BYTES),
            RouteAuthentication(access.authenticate, is_admin=access.is_admin),
            Body(),
        ]
    )
    answer_errors(app, errors.write, realm="armillary")
    app.req_options.strip_url_path_trailing_slash = True
    site = AppState(
        policy=access.policy,
        document=dict,
        identity=identity,
        catalog=Catalog(conf),
        guard=LoginGuard(time.monotonic),
    )
    dialect = Dialect(
        site=site,
        make_check=validation.Check,
        make_call=Call.of,
        check_path=validation.check_path,
        read_query=lambda req: req.params,
        read_body=read_body,
    )
    for path, methods in ROUTES.items():
        app.add_route(path, Endpoint(methods, dialect))
    return app
