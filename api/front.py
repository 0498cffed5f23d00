"""All HTTP APIs of ``armillary-api`` on one port: compute, image, identity; and the console."""

import time
from collections.abc import Callable
from functools import partial

from oslo_config import cfg

from api import app as compute
from api.access import Access
from api.console import app as console
from api.console.cookie_authentication import CookieAuthentication
from api.console.own_requests import OwnOrigin
from api.console.sessions import Sessions
from api.events.event_hub import EventHub
from api.identity import app as identity
from api.identity.login_guard import LoginGuard
from api.image import app as image
from api.middleware.mounts import Mounts, WsgiApp
from api.readiness import Readiness
from armillary.audit import AuditTrail
from armillary.http import wsgi_middleware
from conductor.super_conductor.interface import SuperConductorAPI


def make_front(
    conf: cfg.ConfigOpts,
    *,
    conductor: SuperConductorAPI,
    events: EventHub | None = None,
    readiness: Readiness | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> WsgiApp:
    """Return the application for all paths. Raises ``ConfigurationError``.

    ``clock`` tells the seconds by which failed logins are slowed down.
    """
    access = Access.from_conf(conf)
    guard = LoginGuard(clock)
    mounted: dict[str, WsgiApp] = {}
    if conf.glance.auth_type is None:
        mounted["/image"] = image.make_app(conf, access, conductor)
    shared: dict[str, WsgiApp] = {}
    if access.identity is not None:
        mounted["/identity"] = shared["/v3"] = identity.make_app(
            conf, access, access.identity, guard
        )
    sessions = Sessions.from_conf(conf) if conf.console.enabled else None
    if sessions is not None:
        shared["/ui"] = console.make_app(conf, access, sessions=sessions, guard=guard)
    other = compute.make_app(
        conf, conductor=conductor, events=events, access=access, readiness=readiness
    )
    app: WsgiApp = Mounts(other, mounted=mounted, shared=shared)
    if sessions is None:
        return wsgi_middleware.wrapped(app, conf)
    by_cookie = partial(
        CookieAuthentication,
        sessions=sessions,
        own_origin=OwnOrigin.from_conf(conf),
        trail=AuditTrail.from_conf(conf, "compute"),
    )
    return wsgi_middleware.wrapped(app, conf, by_cookie)
