"""Password masking in URLs and other text, for logs, errors and reports."""

import re

_URL = re.compile(r"(?P<scheme>[a-zA-Z][\w+.-]*://)(?P<netloc>[^\s/?#'\"]+)")
_QUERY_SECRET = re.compile(
    r"(?P<name>[?&](?:\w*(?:password|passwd|pwd|secret|token))=)[^&\s'\"#]+", re.IGNORECASE
)


def mask_passwords(text: object) -> str:
    """Return ``str(text)`` with ``***`` for the password of every URL in it.

    Handles transport URLs with several ``user:password@host`` separated by commas, and passwords
    among the query's arguments.
    """
    masked = _URL.sub(lambda match: match["scheme"] + _mask_netloc(match["netloc"]), str(text))
    return _QUERY_SECRET.sub(r"\g<name>***", masked)


def _mask_netloc(netloc: str) -> str:
    return ",".join(_mask_host(part) for part in netloc.split(","))


def _mask_host(part: str) -> str:
    credentials, at, host = part.rpartition("@")
    user, colon, _password = credentials.partition(":")
    return f"{user}:***@{host}" if at and colon else part
