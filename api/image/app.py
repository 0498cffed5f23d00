"""The image service as a WSGI application: middleware in order, routes, errors."""

from typing import Any

import falcon
from oslo_config import cfg

from api.access import Access
from api.application import make_application
from api.image.call import AppState, Call
from api.image.routes import ROUTES, TRANSFERS
from api.image.store import ImageStore
from api.middleware.body import parse_any
from armillary.audit import AuditTrail
from armillary.http.audit import Audit
from armillary.http.authentication import RouteAuthentication
from armillary.http.bounds import Bounds
from armillary.http.dispatch import Check
from armillary.http.errors import App
from armillary.http.microversion import OneVersion
from armillary.http.request_id import RequestId
from armillary.http.traces import Traces
from conductor.super_conductor.interface import SuperConductorAPI


def make_app(conf: cfg.ConfigOpts, access: Access, conductor: SuperConductorAPI) -> App:
    """Return the application, whose records are the conductor's and whose data is in files."""
    middleware = [
        RequestId(),
        Audit(AuditTrail.from_conf(conf, "image"), "image"),
        OneVersion(),
        _Bounds(max_body_bytes=conf.api.max_body_bytes),
        RouteAuthentication(access.authenticate, is_admin=access.is_admin, needs_project=True),
        Traces(conf),
    ]
    prefix = conf.api.compute_link_prefix
    site = AppState(
        policy=access.policy,
        document=dict,
        conductor=conductor,
        store=ImageStore(conf),
        max_limit=conf.api.max_limit,
        link_prefix=prefix.rstrip("/") if prefix else None,
        images_per_project_max=conf.image.images_per_project_max,
    )
    return make_application(ROUTES, middleware, site, Call.of, read_body=_read_body)


class _Bounds(Bounds):
    """Size limits of all bodies except uploads, whose size the store limits while it reads."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        is_upload = req.path.rstrip("/").endswith("/file") or req.path.startswith(f"{TRANSFERS}/")
        if req.method != "PUT" or not is_upload:
            super().process_request(req, resp)


def _read_body(req: falcon.Request, check: Check | None) -> Any:
    """Return the valid JSON of a body of any type; data is left to be read by the handler."""
    if check is None:
        return None
    value = parse_any(req.bounded_stream.read() or b"{}")
    check.body(value)
    return value
