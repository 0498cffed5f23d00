"""Connections to an API: through the proxy of the environment, over TLS; and why one failed."""

from __future__ import annotations

import ipaddress
import os
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from armillary import exception
from programs.access.errors import ApiNotTrusted, NotAnArmillaryApi

if TYPE_CHECKING:  # they take longer to load than commands that do not call the API
    import ssl

    import urllib3

CONNECT_TIMEOUT_SECONDS = 5.0


def trusting(cacert: str) -> ssl.SSLContext:
    """Return a context that trusts the authorities of a file alone."""
    import ssl

    try:
        return ssl.create_default_context(cafile=cacert)
    except (OSError, ssl.SSLError) as error:
        reason = error.strerror or str(error)
        raise exception.Invalid(
            f"The authorities in {cacert} cannot be used: {reason}. Expected a PEM file."
        ) from error


def tls_error(url: str, error: urllib3.exceptions.SSLError) -> exception.ArmillaryError:
    """Distinguish an untrusted certificate from other TLS errors."""
    import ssl

    found = error.args[0] if error.args else None
    if isinstance(found, ssl.SSLCertVerificationError):
        return ApiNotTrusted(url=url, reason=found.verify_message)
    reason = f"TLS failed: {error}"
    if getattr(found, "reason", None) in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
        reason = "it does not speak TLS; an address without TLS begins with http://"
    return NotAnArmillaryApi(url=url, reason=reason)


def pool(url: str, tls: ssl.SSLContext | None) -> urllib3.PoolManager:
    """Return the connections to the API, through the proxy of the environment if one is set."""
    import urllib3

    proxy = _proxy_of(url)
    if proxy is None:
        return urllib3.PoolManager(ssl_context=tls)
    parts = urlsplit(proxy)
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    headers = urllib3.make_headers(proxy_basic_auth=login) if parts.username else None
    try:
        return urllib3.ProxyManager(proxy, proxy_headers=headers, ssl_context=tls)
    except urllib3.exceptions.HTTPError as error:
        raise exception.Invalid(f"The proxy of the environment cannot be used: {error}.") from error


def _proxy_of(url: str) -> str | None:
    """Return the proxy that the environment names for an address; None for this machine's."""
    if _is_this_machine(url) or not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    from urllib.request import getproxies_environment, proxy_bypass

    parts = urlsplit(url)
    if proxy_bypass(parts.netloc):
        return None
    proxies = getproxies_environment()
    found = proxies.get(parts.scheme) or proxies.get("all")
    return found if not found or "://" in found else f"http://{found}"


def _is_this_machine(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def why_unreachable(error: urllib3.exceptions.HTTPError) -> str:
    from urllib3 import exceptions

    if isinstance(error, exceptions.NameResolutionError):
        return "the name of its host is unknown"
    if isinstance(error, exceptions.NewConnectionError):
        reason = getattr(error.__cause__, "strerror", None) or "connection failed"
        return str(reason)[:1].lower() + str(reason)[1:]
    return f"no connection within {CONNECT_TIMEOUT_SECONDS:g} s"
