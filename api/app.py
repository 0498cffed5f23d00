"""WSGI application: middleware in order, routes, errors."""

import functools
from functools import partial
from pathlib import Path

from oslo_config import cfg

from api import openapi
from api.access import Access
from api.application import make_application
from api.call import AppState, Call
from api.console.links import ConsoleLinks
from api.console.sessions import Seal, Sessions
from api.console.token_holders import TokenHolders
from api.console_grants import ConsoleGrants
from api.events.event_hub import EventHub
from api.formats.host_ids import HostIds
from api.formats.serial_consoles import SerialConsoleLinks
from api.image_source import make_image_source
from api.middleware.body import Body
from api.middleware.empty_ids import EmptyIds
from api.middleware.idempotency import IdempotencyRecords
from api.middleware.project_in_path import ProjectInPath
from api.readiness import Readiness
from api.removed import REMOVED
from api.routes import ROUTES
from api.versions import MICROVERSIONS, UNKNOWN_QUERIES_UNTIL
from armillary.audit import AuditTrail
from armillary.http.audit import Audit
from armillary.http.authentication import RouteAuthentication
from armillary.http.bounds import Bounds
from armillary.http.errors import App
from armillary.http.idempotency import Idempotency
from armillary.http.microversion import Microversion
from armillary.http.request_id import RequestId
from armillary.http.traces import Traces
from conductor.super_conductor.interface import SuperConductorAPI


def make_app(
    conf: cfg.ConfigOpts,
    *,
    conductor: SuperConductorAPI,
    events: EventHub | None = None,
    access: Access | None = None,
    readiness: Readiness | None = None,
) -> App:
    """Return the application, which calls ``conductor`` for everything except ``events``.

    ``readiness`` is by default that of ``conductor`` alone. ``access`` is that of the process, if
    several applications share it. Raises ``ConfigurationError`` for an invalid token file or
    policy, and for an API without authentication on a non-loopback address.
    """
    access = access or Access.from_conf(conf)
    project_in_path = ProjectInPath([*ROUTES, *REMOVED])
    middleware = [
        RequestId("x-compute-request-id"),
        Audit(AuditTrail.from_conf(conf, "compute"), "compute"),
        Microversion(MICROVERSIONS),
        EmptyIds(),
        Bounds(max_body_bytes=conf.api.max_body_bytes),
        project_in_path,
        RouteAuthentication(access.authenticate, is_admin=access.is_admin, needs_project=True),
        Traces(conf),
        project_in_path.check,
        Body(),
        Idempotency(partial(IdempotencyRecords, conductor), lambda req: req.context.body),
    ]
    site = AppState(
        conductor=conductor,
        policy=access.policy,
        max_limit=conf.api.max_limit,
        link_prefix=_without_slash(conf.api.compute_link_prefix),
        host_ids=HostIds(conductor),
        images=make_image_source(conf, conductor),
        document=functools.cache(openapi.document),
        events=events,
        serial_consoles=SerialConsoleLinks.of(conf),
        console_grants=_console_grants(conf, access) if conf.serial_console.enabled else None,
        readiness=readiness or Readiness(conductor),
        console_links=ConsoleLinks.from_conf(conf) if conf.console.enabled else None,
        images_per_project_max=(
            None if conf.glance.auth_type else conf.image.images_per_project_max
        ),
    )
    return make_application(
        ROUTES,
        middleware,
        site,
        Call.of,
        removed=REMOVED,
        shows_own=lambda call: call.shows_own,
        ignores_unknown_until=UNKNOWN_QUERIES_UNTIL,
        names_other_versions=True,
    )


def _console_grants(conf: cfg.ConfigOpts, access: Access) -> ConsoleGrants:
    sessions = Sessions.from_conf(conf)
    return ConsoleGrants(
        Seal(Path(conf.console.session_key_file)), access, TokenHolders(conf, access), sessions.find
    )


def _without_slash(prefix: str | None) -> str | None:
    return prefix.rstrip("/") if prefix else None
