"""The Placement REST API as a WSGI application: middleware in order, routes, errors."""

import contextlib
import functools
from typing import Any

import falcon
from oslo_config import cfg

from armillary.audit import AuditTrail
from armillary.http import bounds, wsgi_middleware
from armillary.http.audit import Audit
from armillary.http.authentication import PathAuthentication
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Check, Dialect, Endpoint, is_public
from armillary.http.errors import App, answer_errors
from armillary.http.idempotency import Idempotency
from armillary.http.microversion import Microversion, Version
from armillary.http.request_id import RequestId
from armillary.http.traces import Traces
from armillary.policy import Enforcer
from placement.engine import PlacementEngine
from placement.rest import errors, openapi, validation
from placement.rest.authentication import make_authenticate
from placement.rest.call import AppState, Call
from placement.rest.policies import list_rules
from placement.rest.routes import ROUTES
from placement.rest.versions import MICROVERSIONS

CACHE_HEADERS_SINCE: Version = (1, 15)


def make_dialect(site: AppState) -> Dialect[Call]:
    """Return the dialect of the Placement API.

    Query parameters have several values; a body is any JSON, and ignored if unexpected.
    """
    return Dialect(
        site=site,
        make_check=validation.Check,
        make_call=Call.of,
        check_path=validation.check_path,
        read_query=lambda req: validation.parse_query(req.query_string),
        read_body=_read_body,
        check_headers=_check_headers,
        set_headers=_set_headers,
        ignores_queries=True,
        answers_options=False,
    )


def _check_headers(req: falcon.Request, action: Action[Call], takes_body: bool) -> None:
    if req.method == "GET" and action.status != 204 and action.rule is not None:
        _require_json_accepted(req)
    if takes_body:
        _require_json_sent(req)


def _read_body(req: falcon.Request, check: Check | None) -> Any:
    if check is None:
        return None
    body = validation.parse_body(_read(req))
    check.body(body)
    return body


def _set_headers(resp: falcon.Response, version: Version, answer: Answer) -> None:
    if answer.last_modified is not None and version >= CACHE_HEADERS_SINCE:
        resp.last_modified = answer.last_modified
        resp.set_header("Cache-Control", "no-cache")


def _require_json_accepted(req: falcon.Request) -> None:
    if errors.preferred_type(req, [falcon.MEDIA_JSON]) is None:
        raise falcon.HTTPNotAcceptable(description=f"Only {falcon.MEDIA_JSON} is provided")


def _require_json_sent(req: falcon.Request) -> None:
    media_type = req.content_type and req.content_type.partition(";")[0].strip().lower()
    if media_type != falcon.MEDIA_JSON:
        raise falcon.HTTPUnsupportedMediaType(
            description=f"The media type {req.content_type} is not supported, "
            f"use {falcon.MEDIA_JSON}"
        )


def _read(req: falcon.Request) -> bytes:
    """Return the body; a truncated body may be valid JSON, but not what the client meant."""
    known: bytes | None = getattr(req.context, "raw_body", None)
    if known is not None:
        return known
    raw: bytes = req.bounded_stream.read()
    if len(raw) < (req.content_length or 0):
        raise errors.bad_request(f"The body ended after {len(raw)} of {req.content_length} bytes")
    req.context.raw_body = raw
    return raw


class ExactPaths:
    """Middleware: a path with an empty part, such as ``/traits/``, is none of the API's."""

    def process_resource(
        self, req: falcon.Request, resp: falcon.Response, resource: object, params: Document
    ) -> None:
        if req.path != "/" and "" in req.path.split("/")[1:]:
            raise falcon.HTTPNotFound


class Bounds(bounds.Bounds):
    """Middleware: the limits of all APIs; a malformed length is left to ``BodyHeaders``."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        with contextlib.suppress(falcon.HTTPInvalidHeader):
            super().process_request(req, resp)


class BodyHeaders:
    """Middleware, after authentication: a body has a length and a content type."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        try:
            length = req.content_length
        except falcon.HTTPInvalidHeader:
            raise errors.bad_request("content-length header must be an integer") from None
        if length and not req.content_type:
            raise errors.bad_request("content-type header required when content-length > 0")


def make_app(conf: cfg.ConfigOpts, engine: PlacementEngine) -> wsgi_middleware.WsgiApp:
    """Return the application; it may share its engine with the RPC manager of its process.

    Raises ``ConfigurationError`` for an invalid token file or policy.
    """
    options = conf.placement
    app = App(
        middleware=[
            RequestId(),
            Audit(AuditTrail.from_conf(conf, "placement"), "placement"),
            Microversion(MICROVERSIONS),
            Bounds(
                max_body_bytes=options.rest_max_body_bytes,
                max_query_bytes=options.rest_max_query_bytes,
            ),
            PathAuthentication(
                make_authenticate(conf),
                public_paths=[path for path, methods in ROUTES.items() if is_public(methods)],
            ),
            BodyHeaders(),
            Traces(conf),
            ExactPaths(),
            Idempotency(
                lambda caller: engine.idempotency, lambda req: _read(req).decode("latin-1")
            ),
        ]
    )
    # Responses without a body have no media type; Falcon accepts None, its annotation does not.
    app.resp_options.default_media_type = None  # type: ignore[assignment]
    answer_errors(app, errors.write, realm="placement")
    site = AppState(
        engine=engine,
        policy=Enforcer(conf, list_rules()),
        incomplete_consumer_project_id=options.incomplete_consumer_project_id,
        incomplete_consumer_user_id=options.incomplete_consumer_user_id,
        link_prefix=(options.rest_link_prefix or "").rstrip("/") or None,
        document=functools.cache(openapi.document),
    )
    dialect = make_dialect(site)
    for path, methods in ROUTES.items():
        app.add_route(path, Endpoint(methods, dialect))
    return wsgi_middleware.wrapped(app, conf)
