"""Notification and its forms: versioned, unversioned, and a line of the event feed."""

import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from objects.base import Primitive
from objects.notifications import NotificationPayload

INFO = "INFO"
ERROR = "ERROR"

FEED_VERSION = "1.0"
"""Version of the feed's lines: a new field is a new minor version, anything else a major one."""


@dataclasses.dataclass(frozen=True, slots=True)
class Notification:
    """An event. ``facts`` are plain values and times, ``payload`` the class of their wire form.

    ``feed_only``: publish it on the event feed, but not on the message bus.
    """

    event_type: str
    priority: str
    publisher_id: str
    request_id: str | None
    at_seconds: float
    payload: type[NotificationPayload]
    facts: Mapping[str, Any]
    feed_only: bool = False

    def versioned(self) -> Primitive:
        """Return the payload as a versioned object in its wire form."""
        return self.payload.of(self.facts).wire_form()

    def unversioned(self) -> dict[str, object]:
        return {name: _plain(value) for name, value in self.facts.items()}

    def line(self) -> dict[str, Any]:
        """Return the line of the event feed: the few facts that a person needs."""
        facts = self.facts
        fault = facts.get("fault") or {}
        uuids = facts.get("instance_uuids") or ()
        is_instance = "power_state" in facts
        kind = facts.get("kind")  # of the pools that a claim is for
        places = facts.get("host") or ", ".join(facts.get("hosts") or ()) or None
        return {
            "time": datetime.fromtimestamp(self.at_seconds, UTC).isoformat(timespec="milliseconds"),
            "type": self.event_type,
            "priority": self.priority,
            "publisher": self.publisher_id,
            "request_id": self.request_id,
            "server": facts.get("uuid") if is_instance else facts.get("instance_uuid"),
            "servers": [] if kind else list(uuids[:SERVERS_SHOWN_MAX]),
            "claims": list(uuids[:SERVERS_SHOWN_MAX]) if kind else [],
            "name": facts.get("name"),
            "project_id": facts.get("project_id"),
            "host": None if kind else places,
            "kind": kind,
            "pool": places if kind else None,
            "state": _state(facts),
            "task_state": facts.get("task_state"),
            "attempt": facts.get("attempt"),
            "reason": fault.get("message") or facts.get("message") or facts.get("reason")
            or facts.get("disabled_reason"),
        }  # fmt: skip


SERVERS_SHOWN_MAX = 100


def _state(facts: Mapping[str, Any]) -> str | None:
    if "state" in facts:
        return str(facts["state"]) if facts["state"] is not None else None
    if facts.get("up") is None:
        return None
    state = "up" if facts["up"] else "down"
    return f"{state}, disabled" if facts.get("disabled") else state


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
