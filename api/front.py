"""All HTTP APIs of ``armillary-api`` on one port: compute, image, identity."""

from oslo_config import cfg

from api import app as compute
from api.access import Access
from api.event_hub import EventHub
from api.identity import app as identity
from api.image import app as image
from api.readiness import Readiness
from armillary.http import wsgi_middleware
from armillary.http.mounts import Mounts, WsgiApp
from conductor.super_conductor.interface import SuperConductorAPI


def make_front(
    conf: cfg.ConfigOpts,
    *,
    conductor: SuperConductorAPI,
    events: EventHub | None = None,
    readiness: Readiness | None = None,
) -> WsgiApp:
    """Return the application for all paths. Raises ``ConfigurationError``."""
    access = Access.from_conf(conf)
    mounted: dict[str, WsgiApp] = {"/image": image.make_app(conf, access, conductor)}
    shared: dict[str, WsgiApp] = {}
    if access.identity is not None:
        mounted["/identity"] = shared["/v3"] = identity.make_app(conf, access, access.identity)
    other = compute.make_app(
        conf, conductor=conductor, events=events, access=access, readiness=readiness
    )
    return wsgi_middleware.wrapped(Mounts(other, mounted=mounted, shared=shared), conf)
