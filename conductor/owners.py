"""Whose a new thing is: the project and user of the request that makes it."""

from __future__ import annotations

from typing import NamedTuple

from armillary import exception
from armillary.context import RequestContext


class Owner(NamedTuple):
    """A project, and the user in it."""

    project_id: str
    user_id: str


def owner_of(context: RequestContext) -> Owner:
    """Return who asks. Raises Invalid for a request that belongs to no project."""
    if not context.project_id or not context.user_id:
        raise exception.Invalid(reason="the request names no project and user to make this for")
    return Owner(context.project_id, context.user_id)
