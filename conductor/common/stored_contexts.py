"""Request contexts as stored with the work they caused: the caller, without its token."""

from collections.abc import Mapping
from typing import Any

from armillary.context import RequestContext

_FIELDS = ("user_id", "project_id", "request_id", "roles", "is_admin", "traceparent")


def to_plain(context: RequestContext) -> dict[str, Any]:
    """Return the values to store."""
    return {name: getattr(context, name) for name in _FIELDS}


def from_plain(stored: Mapping[str, Any]) -> RequestContext:
    """Return the context to continue the work with."""
    return RequestContext(**{name: stored.get(name) for name in _FIELDS})
