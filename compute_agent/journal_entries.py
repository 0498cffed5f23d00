"""What is in the journal: entries, reports, and where an instance stands on its host."""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
from collections.abc import Callable
from typing import Any

from compute_agent.instance_place import InstancePlace, PlaceWanted
from objects.instance import Instance

TEXTS_CACHED_MAX = 4096
"""Entries are read often, and what is in them changes seldom."""
ENTRIES_CACHED_MAX = 8192

ENTRY_COLUMNS = (
    "host, uuid, attempt, state, is_claimed, is_dirty, is_silent, exit_code, vcpus, memory_mb,"
    " disk_gb, project_id, os_type, group_uuid, request_id, flavor_id, image_pairs, place_wanted,"
    " place, former_place"
)


class State(enum.StrEnum):
    """Where an instance stands on its host."""

    BUILDING = "building"
    RUNNING = "running"
    DELETING = "deleting"
    ENDED = "ended"
    """It is off, by wish or because it ended by itself."""
    ARRIVING = "arriving"
    """Its resources are set aside, and its guest is on its way here, or is made here."""
    LEAVING = "leaving"
    """It is off here, or on its way, and may still come back."""


class Kind(enum.StrEnum):
    """What a report tells the cell conductor; the names of its methods."""

    BUILD_SUCCEEDED = "build_succeeded"
    BUILD_FAILED = "build_failed"
    INSTANCE_DELETED = "instance_deleted"
    INSTANCE_ENDED = "instance_ended"
    ORDER_ANSWERED = "order_answered"
    """In such a report the sequence of the order stands in the place of the attempt."""


class Acceptance(enum.Enum):
    """What became of an order to build."""

    NEW = "new"
    """It is written down; build it."""
    REPEATED = "repeated"
    """It is known, with an entry."""
    OVER = "over"
    """It was known, and nothing of it is left here: it failed, and that was answered."""
    IGNORED = "ignored"
    """A later attempt, a delete or an order to forget was here first."""


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """An instance on one host, without its big parts.

    ``is_claimed``: the late checks are passed. ``is_dirty``: something of an older attempt may
    still be there. ``is_silent``: its end is not reported. ``place`` says where on the host
    it sits, once it is claimed and unless it sits anywhere; ``place_wanted`` what it asked for.
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
    """Properties of its image, each as "name=value"."""
    place_wanted: PlaceWanted | None = None
    place: InstancePlace | None = None
    former_place: InstancePlace | None = None
    """Where it sat before it was resized here, as long as it may go back."""

    @property
    def key(self) -> tuple[str, str]:
        return self.host, self.instance_uuid

    def is_resized_from(self, instance: Instance) -> bool:
        """Whether it has another flavor here than this one."""
        flavor = instance.flavor
        sizes = (flavor.flavorid, flavor.vcpus, flavor.memory_mb, flavor.disk_gb)
        return sizes != (self.flavor_id, self.vcpus, self.memory_mb, self.disk_gb)


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """Something not answered yet; ``payload`` are the method's own arguments."""

    id: int
    kind: Kind
    host: str
    instance_uuid: str
    attempt: int
    request_id: str | None
    payload: dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """The journal at one moment. ``serials`` tells later whether an instance was touched since."""

    entries: dict[tuple[str, str], Entry]
    serials: dict[str, int]
    unreported: frozenset[str]
    """UUIDs of instances with a report that was not answered."""


@functools.lru_cache(maxsize=TEXTS_CACHED_MAX)
def _pairs(text: str | None) -> tuple[str, ...]:
    return tuple(json.loads(text)) if text else ()


@functools.lru_cache(maxsize=TEXTS_CACHED_MAX)
def _place_wanted(text: str | None) -> PlaceWanted | None:
    return PlaceWanted.from_plain(json.loads(text)) if text else None


@functools.lru_cache(maxsize=TEXTS_CACHED_MAX)
def _place(text: str | None) -> InstancePlace | None:
    return InstancePlace.from_plain(json.loads(text)) if text else None


_ENTRY_FIELDS = tuple(field.name for field in dataclasses.fields(Entry))
"""In the order of the columns."""
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
    """Return a row with the columns ``ENTRY_COLUMNS`` as an entry."""
    values = dict(zip(_ENTRY_FIELDS, row, strict=True))
    for name, read in _READERS.items():
        values[name] = read(values[name])
    return Entry(**values)
