"""What is put around the application when the configuration asks for it: Keystone, CORS, proxies.

All are WSGI middleware of others, and are loaded only for whom they serve.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oslo_config import cfg

WsgiApp = Callable[..., Any]

CORS_SECTION = "cors"
PROXY_SECTION = "oslo_middleware"


def wrapped(app: WsgiApp, conf: cfg.ConfigOpts) -> WsgiApp:
    """Return the application with what is around it."""
    if conf.api.auth_strategy == "keystone":
        app = _with_keystone(app, conf)
    sections = conf.list_all_sections()
    if CORS_SECTION in sections:
        app = _with_cors(app, conf)  # around Keystone: a browser asks in advance, without a token
    if PROXY_SECTION in sections:
        app = _with_proxy_headers(app, conf)
    return app


def _with_keystone(app: WsgiApp, conf: cfg.ConfigOpts) -> WsgiApp:
    """Let ``[keystone_authtoken]`` check tokens; what has none or a bad one still comes to us.

    We know which paths are for everybody. To our answers with status 401 it adds where tokens are.
    """
    from keystonemiddleware import auth_token

    settings = {"oslo_config_config": conf, "delay_auth_decision": True}
    return auth_token.AuthProtocol(app, settings)


def _with_cors(app: WsgiApp, conf: cfg.ConfigOpts) -> WsgiApp:
    from oslo_middleware import cors

    return cors.CORS(app, conf)


def _with_proxy_headers(app: WsgiApp, conf: cfg.ConfigOpts) -> WsgiApp:
    """Let locations be those of the proxy before us, if ``enable_proxy_headers_parsing`` is set."""
    from oslo_middleware import http_proxy_to_wsgi

    return http_proxy_to_wsgi.HTTPProxyToWSGI(app, conf)
