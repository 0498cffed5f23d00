"""Requests that the console's own page sent, told from those that other pages make a browser send.

Cookies do not tell ports apart, and pages of other ports of a host count as the same site: that a
cookie came with a request proves nothing about the page that sent it.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit
from wsgiref.types import WSGIEnvironment

from oslo_config import cfg

from armillary.http.own_origin import DEFAULT_PORTS

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
OWN_FETCH_SITES = frozenset({"same-origin", "none"})

Netloc = tuple[str, str]
"""Host in lower case, and port."""


class OwnOrigin:
    """Compares the page that sent a request with the address that the request was sent to.

    ``more`` are addresses of the API as browsers see it, where a proxy passes on another ``Host``.
    """

    def __init__(self, more: Iterable[str] = ()) -> None:
        self._more = {origin for url in more if (origin := _netloc(url)) is not None}

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> OwnOrigin:
        """Return the check for ``[api] compute_link_prefix``."""
        prefix = conf.api.compute_link_prefix
        return cls([prefix] if prefix else [])

    def sent(self, environ: WSGIEnvironment) -> bool:
        """Return whether no browser says that another page sent this request."""
        site = environ.get("HTTP_SEC_FETCH_SITE")
        if site is not None and site not in OWN_FETCH_SITES:
            return False
        origin = environ.get("HTTP_ORIGIN")
        if origin is None:
            return True
        found = _netloc(origin)
        own = _netloc(f"{environ['wsgi.url_scheme']}://{environ.get('HTTP_HOST', '')}")
        return found is not None and (found == own or found in self._more)


def _netloc(url: str) -> Netloc | None:
    """Return host and port of a URL, None if it has none."""
    try:
        parts = urlsplit(url)
        port = str(parts.port or DEFAULT_PORTS.get(parts.scheme, ""))
    except ValueError:
        return None
    return (parts.hostname.lower(), port) if parts.hostname else None
