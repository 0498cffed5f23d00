"""Optional WSGI middleware around the application: Keystone, CORS, proxy headers.

It is third-party code, loaded only if configured.
"""

from collections.abc import Callable
from typing import Any

from oslo_config import cfg

WsgiApp = Callable[..., Any]

CORS_SECTION = "cors"
PROXY_SECTION = "oslo_middleware"


def wrapped(app: WsgiApp, conf: cfg.ConfigOpts) -> WsgiApp:
    """Return the application wrapped in its middleware."""
    if conf.api.auth_strategy == "keystone":
        app = _with_keystone(app, conf)
    sections = conf.list_all_sections()
    if CORS_SECTION in sections:
        # outside Keystone: a browser sends a preflight request without a token
        from oslo_middleware import cors

        app = cors.CORS(app, conf)
    if PROXY_SECTION in sections:
        # it uses the proxy's address in locations, if enable_proxy_headers_parsing is set
        from oslo_middleware import http_proxy_to_wsgi

        app = http_proxy_to_wsgi.HTTPProxyToWSGI(app, conf)
    return app


def _with_keystone(app: WsgiApp, conf: cfg.ConfigOpts) -> WsgiApp:
    """Validate tokens with ``[keystone_authtoken]``; requests without a valid one are passed on.

    The application knows which paths are public. Keystone adds its address to responses with 401.
    """
    from keystonemiddleware import auth_token

    settings = {"oslo_config_config": conf, "delay_auth_decision": True}
    return auth_token.AuthProtocol(app, settings)
