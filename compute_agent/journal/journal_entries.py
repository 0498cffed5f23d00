"""Types of the journal: entries, reports, and the states of an instance on its host."""

import dataclasses
import enum
import functools
import json
from collections.abc import Callable
from typing import Any, Self

from compute_agent.host.instance_topology import InstancePlacement, PlacementWanted
from objects.instance import Instance
from objects.instances.instance_command import NO_ANSWER, CommandAnswer
from objects.instances.instance_fault import InstanceFault

TEXTS_CACHED_MAX = 4096
"""Number of parsed texts to cache; entries are read often but change seldom."""
ENTRIES_CACHED_MAX = 8192

ENTRY_COLUMNS = (
    "host, uuid, attempt, state, is_claimed, is_dirty, is_silent, exit_code, vcpus, memory_mb,"
    " disk_gb, project_id, os_type, group_uuid, request_id, flavor_id, image_pairs, place_wanted,"
    " place, former_place"
)


class State(enum.StrEnum):
    """State of an instance on its host."""

    BUILDING = "building"
    RUNNING = "running"
    DELETING = "deleting"
    ENDED = "ended"
    """It is off, on request or because it stopped by itself."""
    ARRIVING = "arriving"
    """Its resources are claimed, and its guest is being moved or built here."""
    LEAVING = "leaving"
    """It is off here or being moved away, and may still come back."""


class Kind(enum.StrEnum):
    """Kind of a report to the cell conductor, equal to the name of the RPC method."""

    BUILD_SUCCEEDED = "build_succeeded"
    BUILD_FAILED = "build_failed"
    INSTANCE_DELETED = "instance_deleted"
    INSTANCE_ENDED = "instance_ended"
    POWER_CHANGED = "power_changed"
    COMMAND_ANSWERED = "command_answered"
    """The report holds the command's sequence number instead of the attempt."""


class Acceptance(enum.Enum):
    """Result of recording a command."""

    NEW = "new"
    """Recorded; execute it."""
    REPEATED = "repeated"
    """Already recorded and unfinished."""
    OVER = "over"
    """Already finished; a build attempt left nothing here because it failed."""
    IGNORED = "ignored"
    """Superseded by a later attempt, a delete or a cleanup."""


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """An instance on one host, without its serialised objects.

    ``is_claimed``: the claim succeeded. ``is_dirty``: remains of an older attempt may exist.
    ``is_silent``: its end is not reported. ``place`` is its placement on the host, None before the
    claim or without a particular placement; ``place_wanted`` are its requirements.
    """

    host: str
    instance_uuid: str
    attempt: int
    state: State
    is_claimed: bool
    is_dirty: bool
    is_silent: bool
    exit_code: int | None
    vcpus: int
    memory_mb: int
    disk_gb: int
    project_id: str | None
    os_type: str | None
    group_uuid: str | None
    request_id: str | None
    flavor_id: str | None = None
    image_pairs: tuple[str, ...] = ()
    """Properties of its image as "name=value"."""
    place_wanted: PlacementWanted | None = None
    place: InstancePlacement | None = None
    former_place: InstancePlacement | None = None
    """Placement before a resize on this host, until the resize can no longer be reverted."""

    @property
    def key(self) -> tuple[str, str]:
        return self.host, self.instance_uuid

    def is_resized_from(self, instance: Instance) -> bool:
        """Return whether the entry has another flavor than this instance."""
        flavor = instance.flavor
        sizes = (flavor.flavorid, flavor.vcpus, flavor.memory_mb, instance.disk_gb)
        return sizes != (self.flavor_id, self.vcpus, self.memory_mb, self.disk_gb)


_PLAIN = ("power_state", "reason", "exit_code", "retry")


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """What a report tells, beside its instance and attempt; each kind sets its own fields."""

    power_state: str = ""
    reason: str | None = None
    exit_code: int | None = None
    retry: bool = False
    fault: InstanceFault | None = None
    answer: CommandAnswer = NO_ANSWER

    def to_text(self) -> str:
        plain = {name: getattr(self, name) for name in _PLAIN}
        fault = None if self.fault is None else self.fault.obj_to_primitive()
        return json.dumps({**plain, "fault": fault, "answer": dataclasses.asdict(self.answer)})

    @classmethod
    def from_text(cls, text: str) -> Self:
        plain = json.loads(text)
        if plain["fault"] is not None:
            plain["fault"] = InstanceFault.obj_from_primitive(plain["fault"])
        plain["answer"] = CommandAnswer(**plain["answer"])
        return cls(**plain)


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """An unacknowledged report."""

    id: int
    kind: Kind
    host: str
    instance_uuid: str
    attempt: int
    request_id: str | None
    result: Result


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """The journal at one moment. ``serials`` shows later which instances changed since."""

    entries: dict[tuple[str, str], Entry]
    serials: dict[str, int]
    unreported: frozenset[str]
    """UUIDs of instances with an unacknowledged report."""


@functools.lru_cache(maxsize=TEXTS_CACHED_MAX)
def _pairs(text: str | None) -> tuple[str, ...]:
    return tuple(json.loads(text)) if text else ()


@functools.lru_cache(maxsize=TEXTS_CACHED_MAX)
def _place_wanted(text: str | None) -> PlacementWanted | None:
    return PlacementWanted.from_plain(json.loads(text)) if text else None


@functools.lru_cache(maxsize=TEXTS_CACHED_MAX)
def _place(text: str | None) -> InstancePlacement | None:
    return InstancePlacement.from_plain(json.loads(text)) if text else None


_ENTRY_FIELDS = tuple(field.name for field in dataclasses.fields(Entry))
"""In column order."""
_READERS: dict[str, Callable[[Any], Any]] = {
    "state": State,
    "is_claimed": bool,
    "is_dirty": bool,
    "is_silent": bool,
    "image_pairs": _pairs,
    "place_wanted": _place_wanted,
    "place": _place,
    "former_place": _place,
}


@functools.lru_cache(maxsize=ENTRIES_CACHED_MAX)
def entry_of(row: tuple[Any, ...]) -> Entry:
    """Return an entry from a row with the columns ``ENTRY_COLUMNS``."""
    values = dict(zip(_ENTRY_FIELDS, row, strict=True))
    for name, read in _READERS.items():
        values[name] = read(values[name])
    return Entry(**values)
