"""Owner of a new object: project and user of the request that creates it."""

from typing import NamedTuple

from armillary import exception
from armillary.context import RequestContext


class Owner(NamedTuple):
    """A project and its user."""

    project_id: str
    user_id: str


def owner_of(context: RequestContext) -> Owner:
    """Return the owner. Raises Invalid for a request without project or user."""
    if not context.project_id or not context.user_id:
        raise exception.Invalid(
            reason="the request names no project and user to own the new object"
        )
    return Owner(context.project_id, context.user_id)
