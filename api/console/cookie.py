"""The cookie of a session, as the server sets, finds and clears it."""

from wsgiref.types import WSGIEnvironment

NAME = "armillary_console"
_PREFIX = "__Host-"
"""Of the name with TLS: browsers let no other host and no plain page set such a cookie."""
SESSION = "armillary.console.session"
"""Key of a WSGI environment with the id of the session whose cookie authenticated the request."""
IS_OPEN = "armillary.console.is_open"
"""Key with a function that tells whether that session has neither ended nor expired since."""
_HEADER_CHARACTERS_MAX = 16384


def header_of(value: str, *, max_age_seconds: int, is_secure: bool) -> str:
    """Return the ``Set-Cookie`` header: scripts cannot read it, other sites cannot send it."""
    parts = [
        f"{_name(is_secure=is_secure)}={value}",
        "Path=/",
        f"Max-Age={max_age_seconds}",
        "HttpOnly",
        "SameSite=Strict",
    ]
    return "; ".join([*parts, "Secure"] if is_secure else parts)


def clearing_header(*, is_secure: bool) -> str:
    """Return the ``Set-Cookie`` header that removes the cookie."""
    return header_of("", max_age_seconds=0, is_secure=is_secure)


def value_in(environ: WSGIEnvironment) -> str | None:
    """Return the value of the cookie in a request; None if there are several.

    Then one of them was set by another host of the domain, or for a part of the paths, to have the
    user act in another one's session.
    """
    header = str(environ.get("HTTP_COOKIE", ""))
    if NAME not in header or len(header) > _HEADER_CHARACTERS_MAX:
        return None
    wanted = _name(is_secure=environ.get("wsgi.url_scheme") == "https")
    parts = (part.strip().partition("=") for part in header.split(";"))
    found = {value for name, _, value in parts if name == wanted and value}
    return found.pop() if len(found) == 1 else None


def _name(*, is_secure: bool) -> str:
    return f"{_PREFIX}{NAME}" if is_secure else NAME
