"""The zones below this one: what each said last, and whether that still holds."""

from __future__ import annotations

import dataclasses
import enum
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from oslo_config import cfg

from armillary import exception
from objects.zone_summary import ZoneSummary
from scheduler.zones import capabilities, figures

LOG = logging.getLogger(__name__)

_SENDERS_MAX = 1000
_PUSH_SECONDS_MAX = 3600.0
_COUNTS = ("hosts", "hosts_up", "hosts_disabled", "zones", "own_hosts")


class State(enum.StrEnum):
    """How a child is doing, by what was heard of it."""

    ONLINE = "online"
    STALE = "stale"
    OFFLINE = "offline"
    DISABLED = "disabled"


@dataclasses.dataclass(slots=True)
class Child:
    """One child; ``summary`` is the last one, whose capabilities and counts were checked."""

    name: str
    is_disabled: bool
    summary: ZoneSummary | None = None
    heard_at: float = 0.0
    last_seen: datetime | None = None
    seqs: dict[str, int] = dataclasses.field(default_factory=dict)

    @property
    def zone_names(self) -> set[str]:
        """The names of all zones below this one, as far as it told."""
        return set() if self.summary is None else set(_names(self.summary.zones))


class Children:
    """All children of this zone. Thread-safe.

    ``clock`` is in seconds and only goes on; ``now`` is for people.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        clock: Callable[[], float],
        now: Callable[[], datetime],
    ) -> None:
        self._conf = conf
        self._clock = clock
        self._now = now
        self._lock = threading.Lock()
        self._children: dict[str, Child] = {}

    def __len__(self) -> int:
        return len(self._children)

    def set_known(self, zones: Iterable[Mapping[str, Any]]) -> None:
        """Take over which children there are, by name; what is known of those that stay is kept."""
        with self._lock:
            former = self._children
            self._children = {}
            for zone in sorted(zones, key=lambda zone: str(zone["name"])):
                child = former.get(zone["name"]) or Child(zone["name"], is_disabled=False)
                child.is_disabled = bool(zone["disabled"])
                self._children[child.name] = child

    def take(self, name: str, summary: ZoneSummary) -> bool:
        """Take over what came from a child; tell whether it was anything new.

        Raises ``Invalid`` for a summary of another zone, and for one that makes no sense.
        """
        if summary.zone != name:
            raise exception.Invalid(
                reason=f"zone {name} sent a summary of zone {summary.zone!r:.80}: one of the two "
                "names is wrong, that in [zones] name there or that of the child here"
            )
        checked = summary.with_values(
            capabilities=capabilities.checked(summary.capabilities),
            counts={
                **{key: _count(summary.counts, key) for key in _COUNTS},
                "each": figures.checked(_each(summary.counts)),
            },
        )
        if not list(_names(summary.zones)) and summary.zones:
            raise exception.Invalid(reason=f"zone {name} names its zones in a form that is none")
        with self._lock:
            child = self._children.get(name)
            if child is None or summary.seq <= child.seqs.get(summary.sender, -1):
                return False
            if len(child.seqs) >= _SENDERS_MAX:
                child.seqs.clear()
            child.seqs[summary.sender] = summary.seq
            child.summary = checked
            child.heard_at = self._clock()
            child.last_seen = self._now()
            return True

    def state_of(self, child: Child) -> State:
        """Return how a child is doing now."""
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

    def all(self) -> list[Child]:
        """Return all children by name."""
        with self._lock:
            return list(self._children.values())

    def online(self) -> list[Child]:
        """Return those whose summary holds."""
        return [child for child in self.all() if self.state_of(child) is State.ONLINE]

    def states(self) -> list[tuple[str, str]]:
        """Return name and state of each."""
        return [(child.name, self.state_of(child).value) for child in self.all()]


def _names(zones: Any, depth: int = 0) -> Iterable[str]:
    """Yield the names in a nested list of zones, as far down as anybody nests them."""
    if depth > _DEPTH_MAX or not isinstance(zones, list):
        return
    for zone in zones:
        if isinstance(zone, Mapping) and isinstance(zone.get("name"), str):
            yield zone["name"]
            yield from _names(zone.get("zones"), depth + 1)


_DEPTH_MAX = 32


def _count(counts: Any, key: str) -> int:
    value = counts.get(key, 0) if isinstance(counts, Mapping) else 0
    return value if isinstance(value, int) and value >= 0 else 0


def _each(counts: Any) -> Any:
    return counts.get("each") if isinstance(counts, Mapping) else None
