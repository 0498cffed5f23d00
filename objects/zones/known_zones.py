"""KnownZones: what a scheduler knows about its own zone and the child zones."""

from typing import TypedDict

from objects.zones.zone_summary import ZoneSummary


class KnownZone(TypedDict):
    """A child zone."""

    name: str
    state: str
    """``online``, ``stale``, ``offline`` or ``disabled``."""
    last_seen: str | None
    """ISO 8601."""
    summary: ZoneSummary | None
    """Its last one."""


class KnownZones(TypedDict):
    """All of them; ``own`` is the last summary of the own zone, None before the first."""

    own: ZoneSummary | None
    zones: list[KnownZone]
