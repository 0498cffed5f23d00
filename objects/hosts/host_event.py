"""History of a host: what happened to its service, and the steps of operations on its servers."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

PAGE_SIZE = 50
PAGE_SIZE_MAX = 200
DETAILS_LENGTH_MAX = 1000
"""Characters of an event's details that are listed; the server's action has all of them."""


class HostChange(StrEnum):
    """What happened to a host's compute service."""

    CREATED = "created"
    REMOVED = "removed"
    UP = "up"
    DOWN = "down"
    ENABLED = "enabled"
    DISABLED = "disabled"
    FORCED_DOWN = "forced_down"
    FORCED_DOWN_ENDED = "forced_down_ended"
    FENCED = "fenced"


@dataclass(frozen=True, slots=True)
class HostEvent:
    """A change of a host, or a step of an action on a server there.

    ``event`` is one of ``HostChange``, with the reason in ``details``; or the name of the step, and
    then ``action``, ``instance_uuid`` and ``request_id`` are those of the action. ``instance_name``
    is None for a server that its cell no longer keeps. ``marker`` names the place in the order.
    """

    marker: str
    at: datetime
    event: str
    ended_at: datetime | None = None
    result: str | None = None
    details: str | None = None
    action: str | None = None
    instance_uuid: str | None = None
    instance_name: str | None = None
    request_id: str | None = None
    project_id: str | None = None
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class HostEventPage:
    """Events of a host, newest first; ``next_marker`` is None on the last page."""

    events: list[HostEvent] = field(default_factory=list)
    next_marker: str | None = None
