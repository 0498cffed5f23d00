"""The child zones: their last summaries and whether these are still fresh."""

import dataclasses
import enum
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from oslo_config import cfg

from armillary import exception
from objects.zones.zone_summary import ZoneSummary
from scheduler.zones import capabilities, zone_counts
from scheduler.zones.capabilities import Capabilities

LOG = logging.getLogger(__name__)

_SENDERS_MAX = 1000
_PUSH_SECONDS_MAX = 3600.0
PLAIN = (1.0, 0.0)
"""Scale and offset that leave weights as they are."""

_COUNTS = ("hosts", "hosts_up", "hosts_disabled", "zones", "own_hosts")


class State(enum.StrEnum):
    """State of a child, by the age of its last summary."""

    ONLINE = "online"
    STALE = "stale"
    OFFLINE = "offline"
    DISABLED = "disabled"


@dataclasses.dataclass(slots=True)
class Child:
    """One child; ``summary`` is the last one, with validated capabilities and counts.

    ``is_restored``: it is from before this process started, and no newer one has arrived yet.
    """

    name: str
    is_disabled: bool
    known_since: float = 0.0
    weight_scale: float = 1.0
    weight_offset: float = 0.0
    summary: ZoneSummary | None = None
    capabilities: Capabilities | None = None
    heard_at: float = 0.0
    last_seen: datetime | None = None
    is_restored: bool = False
    seqs: dict[str, int] = dataclasses.field(default_factory=dict)

    @property
    def has_pushed(self) -> bool:
        """Whether it has pushed a summary to this process."""
        return self.summary is not None and not self.is_restored

    @property
    def zone_names(self) -> set[str]:
        """The names of all zones below this one, as far as it reported them."""
        return set() if self.summary is None else set(_names(self.summary.zones))


class Children:
    """All children of this zone. Thread-safe.

    ``clock`` is a monotonic clock in seconds; ``now`` is the wall clock, used for display.
    """

    def __init__(
        self, conf: cfg.ConfigOpts, *, clock: Callable[[], float], now: Callable[[], datetime]
    ) -> None:
        self._conf = conf
        self._clock = clock
        self._now = now
        self._lock = threading.Lock()
        self._children: dict[str, Child] = {}
        self._awaited: set[str] | None = None
        self._are_tried = threading.Event()

    def __len__(self) -> int:
        return len(self._children)

    def set_known(self, zones: Iterable[Mapping[str, Any]]) -> None:
        """Replace the set of children by name; the state of those that remain is kept."""
        with self._lock:
            former, now = self._children, self._clock()
            self._children = {}
            for zone in sorted(zones, key=lambda zone: str(zone["name"])):
                child = former.get(zone["name"]) or Child(zone["name"], False, known_since=now)
                child.is_disabled = bool(zone["disabled"])
                child.weight_scale = float(zone.get("weight_scale", 1.0))
                child.weight_offset = float(zone.get("weight_offset", 0.0))
                self._children[child.name] = child
            enabled = {child.name for child in self._children.values() if not child.is_disabled}
            self._awaited = enabled if self._awaited is None else self._awaited & enabled
            self._note_tried(None)

    def note_tried(self, name: str) -> None:
        """Record that a child was asked for its summary, whether or not it answered."""
        with self._lock:
            self._note_tried(name)

    def wait_tried(self, seconds: float) -> bool:
        """Wait until the first children known were asked for their summaries, or have pushed one.

        Return whether that has happened.
        """
        return self._are_tried.wait(seconds) if seconds > 0 else self._are_tried.is_set()

    def take(self, name: str, summary: ZoneSummary) -> bool:
        """Store a child's summary; return whether it was newer than the last one.

        Raises ``Invalid`` for a summary of another zone, and for a malformed one.
        """
        if summary.zone != name:
            raise exception.Invalid(
                reason=f"zone {name} sent a summary of zone {summary.zone!r:.80}: correct either "
                "[zones] name there, or the name of the child zone here"
            )
        can_do = capabilities.checked(summary.capabilities)
        checked = summary.with_values(
            capabilities=can_do.to_plain(),
            counts={
                **{key: _count(summary.counts, key) for key in _COUNTS},
                "each": zone_counts.checked(_each(summary.counts)),
            },
        )
        if not list(_names(summary.zones)) and summary.zones:
            raise exception.Invalid(reason=f"zone {name} sent a malformed list of its zones")
        with self._lock:
            child = self._children.get(name)
            if child is None or summary.seq <= child.seqs.get(summary.sender, -1):
                return False
            if len(child.seqs) >= _SENDERS_MAX:
                child.seqs.clear()
            child.seqs[summary.sender] = summary.seq
            child.summary, child.capabilities = checked, can_do
            child.heard_at = self._clock()
            child.last_seen = self._now()
            child.is_restored = False
            self._note_tried(name)
            return True

    def dump(self) -> list[dict[str, Any]]:
        """Return the children with their last summaries, for a snapshot."""
        return [
            {
                "name": child.name,
                "disabled": child.is_disabled,
                "last_seen": child.last_seen.isoformat(),
                "summary": child.summary.obj_to_primitive(),
            }
            for child in self.all()
            if child.summary is not None and child.last_seen is not None
        ]

    def restore(self, children: Iterable[Mapping[str, Any]]) -> None:
        """Take children from a snapshot: their summaries are shown, and rule out nothing.

        Raises ``Invalid``, ``LookupError``, ``TypeError``, ``ValueError`` for malformed ones.
        """
        now = self._now()
        for each in children:
            name, seen = str(each["name"]), datetime.fromisoformat(each["last_seen"])
            summary = ZoneSummary.obj_from_primitive(each["summary"])
            age_seconds = max(0.0, (now - seen).total_seconds())
            child = Child(
                name,
                bool(each["disabled"]),
                known_since=self._clock(),
                summary=summary,
                capabilities=capabilities.checked(summary.capabilities),
                heard_at=self._clock() - age_seconds,
                last_seen=seen,
                is_restored=True,
            )
            with self._lock:
                self._children.setdefault(name, child)

    def state_of(self, child: Child) -> State:
        """Return a child's current state."""
        if child.is_disabled:
            return State.DISABLED
        if child.summary is None:
            return State.OFFLINE
        period = min(max(child.summary.push_seconds, 0.0), _PUSH_SECONDS_MAX)
        age = self._clock() - child.heard_at
        if age <= self._conf.zones.expiry_factor * period:
            return State.ONLINE
        factor = max(self._conf.zones.offline_factor, self._conf.zones.expiry_factor)
        return State.STALE if age <= factor * period else State.OFFLINE

    def is_new(self, child: Child) -> bool:
        """Return whether a child is so new to this process that it may not have pushed yet.

        It is asked whatever an older summary says: only its answer can tell what it has.
        """
        zones = self._conf.zones
        is_young = self._clock() - child.known_since < zones.expiry_factor * zones.push_seconds
        return is_young and not child.has_pushed and not child.is_disabled

    def all(self) -> list[Child]:
        """Return all children in order of their names."""
        with self._lock:
            return list(self._children.values())

    def adjustments(self) -> dict[str, tuple[float, float]]:
        """Return the scale and the offset for the weights of each child's hosts."""
        return {child.name: (child.weight_scale, child.weight_offset) for child in self.all()}

    def online(self) -> list[Child]:
        """Return the children whose summary is fresh."""
        return [child for child in self.all() if self.state_of(child) is State.ONLINE]

    def _note_tried(self, name: str | None) -> None:
        if self._awaited is None:
            return
        self._awaited.discard(name or "")
        if not self._awaited:
            self._are_tried.set()

    def states(self) -> list[tuple[str, str]]:
        """Return the name and state of each child."""
        return [(child.name, self.state_of(child).value) for child in self.all()]


def _names(zones: Any) -> Iterable[str]:
    """Yield the names in a nested list of zones."""
    return (path[-1] for path, _state in zones_below(zones))


def zones_below(zones: Any, above: tuple[str, ...] = ()) -> Iterable[tuple[tuple[str, ...], str]]:
    """Yield path and state of the zones in a nested list, down to ``_DEPTH_MAX`` levels."""
    if len(above) > _DEPTH_MAX or not isinstance(zones, list):
        return
    for zone in zones:
        if isinstance(zone, Mapping) and isinstance(zone.get("name"), str):
            path = (*above, zone["name"])
            yield path, str(zone.get("state"))
            yield from zones_below(zone.get("zones"), path)


_DEPTH_MAX = 32


def _count(counts: Any, key: str) -> int:
    value = counts.get(key, 0) if isinstance(counts, Mapping) else 0
    return value if isinstance(value, int) and value >= 0 else 0


def _each(counts: Any) -> Any:
    return counts.get("each") if isinstance(counts, Mapping) else None
