"""Host and Origin checks: protection of unauthenticated APIs against DNS rebinding.

A browser on this machine can reach an API on the loopback interface on behalf of any web page. Such
a page cannot hide its own name: it appears in ``Host`` after DNS rebinding, and in ``Origin`` if
the page posts to another site. A server without authentication therefore answers only requests that
name this machine, or a host that the operator allows.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit
from wsgiref.types import StartResponse, WSGIEnvironment

from oslo_config import cfg

from armillary.audit import REFUSED, AuditTrail, Event, Initiator
from armillary.http.audit import USER, action_of
from armillary.http.wsgi.server import Refusal, is_loopback
from armillary.logs.line_budget import BoundedLog

LOG = logging.getLogger(__name__)
_CAUSED = BoundedLog(LOG)
"""For lines that others cause."""

WsgiApp = Callable[..., Any]

UNAUTHENTICATED = ("noauth", "noauth2")
SHOWN_MAX = 100  # maximum length of a foreign name in the response and in the log


SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

_ALLOW = ", or add the host to [api] allowed_hosts"


def guarded(
    app: WsgiApp,
    conf: cfg.ConfigOpts,
    *,
    bind_host: str,
    refusal: Refusal,
    service: str,
    reads_from_anywhere: bool = False,
) -> WsgiApp:
    """Return ``app`` behind the check if browsers could abuse it, else ``app`` itself.

    This is the case on the loopback interface, and wherever ``[api] auth_strategy`` requires no
    authentication. ``refusal`` returns headers and body of an error in the API's format, and
    ``service`` is the CADF name of the API in the audit trail. With ``reads_from_anywhere``
    requests that change nothing may have any ``Origin``, as clients of the Placement API expect:
    browsers keep the answers from pages that CORS does not allow.
    """
    if conf.api.auth_strategy not in UNAUTHENTICATED and not is_loopback(bind_host):
        return app
    allowed = [*conf.api.allowed_hosts]
    if conf.api.compute_link_prefix:
        allowed.append(urlsplit(conf.api.compute_link_prefix).hostname or "")
    cors = getattr(conf, "cors", None)  # there if the API answers cross-origin requests at all
    origins = [] if cors is None else cors.allowed_origin or []
    return TrustedHosts(
        app,
        refusal,
        allowed,
        origins,
        SAFE_METHODS if reads_from_anywhere else (),
        trail=AuditTrail.from_conf(conf, service),
    )


class TrustedHosts:
    """WSGI middleware that answers 403 unless ``Host`` and ``Origin`` name a trusted host.

    Trusted are the names and addresses of the loopback interface and ``allowed``, which are host
    names or addresses without a port. An ``Origin`` may also be one of ``origins``, or any if these
    have ``*``, as in ``[cors] allowed_origin``; it is not checked for ``unchecked_methods``. A
    request without ``Host`` (HTTP/1.0) does not come from a browser and passes; the opaque origin
    ``null`` does not. ``more_advice`` ends the sentence that tells which hosts to use.
    """

    def __init__(
        self,
        app: WsgiApp,
        refusal: Refusal,
        allowed: Iterable[str] = (),
        origins: Iterable[str] = (),
        unchecked_methods: Sequence[str] = (),
        *,
        trail: AuditTrail | None = None,
        more_advice: str = _ALLOW,
    ) -> None:
        self._trail = trail
        self._more_advice = more_advice
        self._app = app
        self._refusal = refusal
        self._allowed = {_normalized(host) for host in allowed}
        self._origins = set(origins)
        self._unchecked_methods = unchecked_methods

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Any:
        if not self._is_trusted(_host_of(f"//{environ.get('HTTP_HOST', 'localhost')}")):
            return self._refuse("Host", environ, start_response)
        if not self._is_trusted_origin(environ):
            return self._refuse("Origin", environ, start_response)
        return self._app(environ, start_response)

    def _is_trusted_origin(self, environ: WSGIEnvironment) -> bool:
        origin = environ.get("HTTP_ORIGIN")
        if origin is None or environ["REQUEST_METHOD"] in self._unchecked_methods:
            return True
        return bool(self._origins & {origin, "*"}) or self._is_trusted(_host_of(origin))

    def _is_trusted(self, host: str | None) -> bool:
        return host is not None and (is_loopback(host) or host in self._allowed)

    def _refuse(
        self, header: str, environ: WSGIEnvironment, start_response: StartResponse
    ) -> list[bytes]:
        value = str(environ.get(f"HTTP_{header.upper()}"))[:SHOWN_MAX]
        _CAUSED.write(
            logging.WARNING,
            "Refused a request from %s: its %s header %r names a foreign host",
            environ.get("REMOTE_ADDR"),
            header,
            value,
        )
        if self._trail is not None and self._trail.is_on:
            self._trail.record(_event(header, environ))
        headers, body = self._refusal(
            403,
            f"The {header} header names a host that is not trusted here. Use localhost or the "
            f"address of this machine{self._more_advice}.",
        )
        start_response("403 Forbidden", [*headers.items(), ("Content-Length", str(len(body)))])
        return [body]


def _event(header: str, environ: WSGIEnvironment) -> Event:
    """Return what the audit trail keeps: only the address is known yet."""
    return Event(
        action=action_of(environ["REQUEST_METHOD"]),
        outcome=REFUSED,
        initiator=Initiator(kind=USER, address=environ.get("REMOTE_ADDR")),
        target_kind="unknown",
        reason=f"Foreign{header}",
        status=403,
        path=environ.get("PATH_INFO"),
    )


def _host_of(url: str) -> str | None:
    """Return the host in ``//host:port`` or ``scheme://host:port``; None if there is none."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError unless it is a number
    except ValueError:
        return None
    is_bare = not parts.path and not parts.query and not parts.fragment and not parts.username
    return _normalized(parts.hostname) if parts.hostname and is_bare else None


def _normalized(host: str) -> str:
    return host.strip("[]").rstrip(".").lower()
