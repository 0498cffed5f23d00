"""Address of a client behind a reverse proxy: what the nearest proxy says, and no client.

A proxy appends the address that it sees to what the client sent of the header, so only the last
entry is the proxy's own. Limits of failed logins and the audit trail depend on it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

WsgiApp = Callable[..., Any]

_PEER = "armillary.peer_address"
_FOR = re.compile(r"(?:^|;)\s*+for\s*+=\s*+\"?+([^\";\s]*+)\"?+\s*+(?=;|$)", re.IGNORECASE)
"""Each part takes all that it can and gives nothing back: a header takes no time to be refused."""
_WITH_PORT = re.compile(r"\[([^\]]*)\](?::\w+)?|([0-9.]+)(?::\w+)?")


def remembering_peer(app: WsgiApp) -> WsgiApp:
    """Return ``app`` with the address of the connection kept for :func:`with_client_address`."""

    def remembered(environ: WSGIEnvironment, start_response: StartResponse) -> Any:
        environ[_PEER] = environ.get("REMOTE_ADDR", "")
        return app(environ, start_response)

    return remembered


def with_client_address(app: WsgiApp) -> WsgiApp:
    """Return ``app``, which sees the client's address as the address of the connection."""

    def addressed(environ: WSGIEnvironment, start_response: StartResponse) -> Any:
        environ["REMOTE_ADDR"] = client_address(environ, str(environ.get(_PEER, "")))
        return app(environ, start_response)

    return addressed


def client_address(environ: Mapping[str, Any], peer: str) -> str:
    """Return the client's address as the proxy names it, or else that of the proxy.

    Of two headers one may be the client's: which of them the proxy sets is not known.
    """
    listed, described = environ.get("HTTP_X_FORWARDED_FOR"), environ.get("HTTP_FORWARDED")
    if bool(listed) == bool(described):
        return peer
    last = str(listed or described).rpartition(",")[2].strip()
    if described:
        found = _FOR.search(last)
        last = found[1].strip() if found else ""
    return _address(last) or peer


def _address(text: str) -> str | None:
    """Return an address without a port, None if it is none."""
    found = _WITH_PORT.fullmatch(text)
    try:
        return str(ipaddress.ip_address((found[1] or found[2]) if found else text))
    except ValueError:
        return None
