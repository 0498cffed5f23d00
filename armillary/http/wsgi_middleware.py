"""Optional WSGI middleware around the application: Keystone, CORS, proxy headers.

It is third-party code, loaded only if configured.
"""

import contextlib
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit
from wsgiref.types import StartResponse, WSGIEnvironment

from oslo_config import cfg

from armillary.http.forwarded import remembering_peer, with_client_address
from armillary.http.own_origin import DEFAULT_PORTS

WsgiApp = Callable[..., Any]

CORS_SECTION = "cors"
PROXY_SECTION = "oslo_middleware"


def wrapped(
    app: WsgiApp,
    conf: cfg.ConfigOpts,
    before_authentication: Callable[[WsgiApp], WsgiApp] = lambda app: app,
) -> WsgiApp:
    """Return the application wrapped in its middleware.

    ``before_authentication`` wraps what authenticates requests, and the application in it.
    """
    app = before_authentication(authenticated(app, conf))
    sections = conf.list_all_sections()
    if CORS_SECTION in sections:
        # outside Keystone: a browser sends a preflight request without a token
        from oslo_middleware import cors

        app = cors.CORS(app, conf)
    if PROXY_SECTION in sections:
        # it uses the proxy's address in locations, if enable_proxy_headers_parsing is set
        from oslo_middleware import http_proxy_to_wsgi

        conf.register_opts(http_proxy_to_wsgi.OPTS, group=PROXY_SECTION)
        if conf[PROXY_SECTION].enable_proxy_headers_parsing:
            app = _named_by_proxy(with_client_address(app))
            app = remembering_peer(http_proxy_to_wsgi.HTTPProxyToWSGI(app, conf))
    return app


def authenticated(app: WsgiApp, conf: cfg.ConfigOpts) -> WsgiApp:
    """Return the application behind Keystone's middleware, if Keystone validates tokens."""
    return _with_keystone(app, conf) if conf.api.auth_strategy == "keystone" else app


def _named_by_proxy(app: WsgiApp) -> WsgiApp:
    """Take the address that a proxy passed on, in ``Host`` by then, for the server's own.

    A proxy that passes none on leaves the local address.
    """

    def named(environ: WSGIEnvironment, start_response: StartResponse) -> Any:
        if "HTTP_X_FORWARDED_HOST" in environ or "host=" in environ.get("HTTP_FORWARDED", ""):
            with contextlib.suppress(ValueError):  # not an address
                parts = urlsplit(f"//{environ['HTTP_HOST']}")
                port = str(parts.port or DEFAULT_PORTS.get(environ["wsgi.url_scheme"], ""))
                environ |= {"SERVER_NAME": parts.hostname or "", "SERVER_PORT": port}
        return app(environ, start_response)

    return named


UNANSWERED = "armillary.keystone_unanswered"
"""Key of a WSGI environment whose token could not be validated, as Keystone did not answer."""


def _with_keystone(app: WsgiApp, conf: cfg.ConfigOpts) -> WsgiApp:
    """Validate tokens with ``[keystone_authtoken]``; requests without a valid one are passed on.

    The application knows which paths are public. Keystone adds its address to responses with 401.
    """
    from keystoneauth1 import exceptions as client_errors
    from keystonemiddleware import auth_token

    class Deferring(auth_token.AuthProtocol):  # type: ignore[misc]
        """Tells a token that could not be validated from one that is not valid."""

        def process_request(self, request: Any) -> Any:
            try:
                return super().process_request(request)
            except _NoAnswer:
                request.user_token_valid = False
                request.environ[UNANSWERED] = True
                return None

        def fetch_token(self, token: str, **how: Any) -> Any:
            try:
                return super().fetch_token(token, **how)
            except auth_token.InvalidToken as error:
                if isinstance(error.__context__, unanswered):
                    raise _NoAnswer from error
                raise

    unanswered = (
        client_errors.ConnectFailure,
        client_errors.DiscoveryFailure,
        client_errors.RequestTimeout,
        auth_token.ServiceError,
    )
    settings = {"oslo_config_config": conf, "delay_auth_decision": True}
    return Deferring(app, settings)


class _NoAnswer(Exception):
    """Keystone could not be asked whose a token is."""
