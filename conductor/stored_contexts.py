"""The context of a request as it is stored with the work it caused: who asked, and no token."""

from __future__ import annotations

from typing import Any

from armillary.context import RequestContext

_FIELDS = ("user_id", "project_id", "request_id", "roles", "is_admin")


def to_plain(context: RequestContext) -> dict[str, Any]:
    """Return what is to be stored."""
    return {name: getattr(context, name) for name in _FIELDS}


def from_plain(stored: dict[str, Any]) -> RequestContext:
    """Return the context in which the work goes on; log lines of this thread carry it, too."""
    context = RequestContext(**{name: stored.get(name) for name in _FIELDS})
    context.update_store()
    return context
