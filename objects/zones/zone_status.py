"""Zones as their parent and its operators see them."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ZoneStatus:
    """A zone with the contents of its last summary, all empty while there is none.

    ``state``: own, online, stale, offline, disabled, or unknown without a scheduler. ``zones`` are
    the zones below it: ``name``, ``state`` and ``zones``. ``capabilities`` are those of its whole
    sub-tree (see ``ZoneSummary``), as are all counts but ``own_hosts``.
    """

    name: str
    state: str
    last_seen: datetime | None = None
    hosts: int | None = None
    hosts_up: int | None = None
    hosts_disabled: int | None = None
    own_hosts: int | None = None
    zones_total: int | None = None
    depth: int | None = None
    capabilities: dict[str, object] | None = None
    zones: list[dict[str, object]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ZoneList:
    """This zone, None if it is not part of a tree, and its child zones, sorted by name."""

    own: ZoneStatus | None
    zones: list[ZoneStatus]
