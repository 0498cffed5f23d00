"""States of operations, as stored in ``InstanceOperation.flow_state``.

Each flow has a class for its state. The stored form has a key for each field that is not None; a
class reads its own keys and keeps the others, so that a base class can be used for shared stages.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

from conductor.common.cell_db import models
from conductor.common.cell_db.stored_object import StoredObject
from objects.flavor import Flavor
from objects.images.image_meta import ImageMeta
from objects.instances.instance_fault import InstanceFault
from objects.request_spec import RequestSpec
from objects.selection import Selection

SIDES = ("source", "destination")


@dataclasses.dataclass(frozen=True)
class End:
    """The instance at one end of a move."""

    host: str | None
    node: str | None
    attempt: int
    flavor: StoredObject[Flavor] | None = None
    availability_zone: str | None = None
    cell_uuid: str | None = None


_OBJECTS = frozenset({"fault", "flavor", "former_image", "image", "new_flavor", "request_spec"})
"""Fields with a versioned object; ``selections`` has a list of them."""


def _from_stored(cls: type[Any], stored: Mapping[str, Any]) -> Any:
    values = {
        field.name: _decoded(field.name, stored[field.name])
        for field in dataclasses.fields(cls)
        if stored.get(field.name) is not None
    }
    return cls(**values)


def _decoded(name: str, stored: Any) -> Any:
    if stored is None:
        return None
    if name in _OBJECTS:
        return StoredObject(stored)
    if name == "selections":
        return [StoredObject(each) for each in stored]
    if name in SIDES and isinstance(stored, Mapping):
        fields = dataclasses.fields(End)
        return End(**{field.name: _decoded(field.name, stored.get(field.name)) for field in fields})
    return stored


def _encoded(value: Any) -> Any:
    if isinstance(value, StoredObject):
        return value.primitive
    if isinstance(value, list):
        return [_encoded(each) for each in value]
    if isinstance(value, End):
        fields = dataclasses.fields(value)
        return {field.name: _encoded(getattr(value, field.name)) for field in fields}
    return value


def _to_stored(state: Any) -> dict[str, Any]:
    values = {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}
    return {name: _encoded(value) for name, value in values.items() if value is not None}


@dataclasses.dataclass(frozen=True)
class FlowState:
    """State of any operation.

    ``was`` is the ``vm_state`` at its start, ``cell_uuid`` this cell; ``fault`` is the last failure
    of a stage. ``interrupted`` is what continues if this operation fails.
    """

    was: str
    cell_uuid: str | None = None
    fault: StoredObject[InstanceFault] | None = None
    interrupted: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, operation: models.InstanceOperation) -> Self:
        return cls.from_stored(operation.flow_state)

    @classmethod
    def from_stored(cls, flow_state: Mapping[str, Any]) -> Self:
        state: Self = _from_stored(cls, flow_state)
        return state

    def store(self, operation: models.InstanceOperation) -> None:
        """Store the state with its operation."""
        operation.flow_state = {**operation.flow_state, **_to_stored(self)}

    @property
    def last_fault(self) -> InstanceFault | None:
        return None if self.fault is None else self.fault.load()


@dataclasses.dataclass(frozen=True)
class Reboot(FlowState):
    """State of a reboot."""

    is_hard: bool = False


@dataclasses.dataclass(frozen=True)
class Rebuild(FlowState):
    """State of a rebuild; ``is_on``: whether the new guest is to run.

    ``former_image`` and ``former`` (``ServerChanges``) are what the instance gets back if its guest
    could not be replaced.
    """

    is_on: bool = False
    former_image: StoredObject[ImageMeta] | None = None
    former: Mapping[str, Any] | None = None


@dataclasses.dataclass(frozen=True)
class Rescue(FlowState):
    """State of a rescue; ``image`` runs in place of the guest, None means its own."""

    image: StoredObject[ImageMeta] | None = None


@dataclasses.dataclass(frozen=True)
class Snapshot(FlowState):
    """State of a snapshot: the record of its image, and what was stored (``StoredImage``)."""

    image: StoredObject[ImageMeta] | None = None
    stored_image: Mapping[str, Any] | None = None


@dataclasses.dataclass(frozen=True)
class Move(FlowState):
    """State of an operation that changes hosts.

    ``selections`` and ``request_spec`` are the super conductor's answer; ``position`` is that of
    the host being tried. ``source`` is None when the instance is unshelved.
    ``is_on``: whether the guest ran at the source. ``is_kept_off``: it did, and cannot be powered
    on there again. ``is_lost``: it may be off on a host that is down.
    """

    source: End | None = None
    destination: End | None = None
    new_flavor: StoredObject[Flavor] | None = None
    selections: list[StoredObject[Selection]] | None = None
    request_spec: StoredObject[RequestSpec] | None = None
    position: int = 0
    is_on: bool = False
    is_kept_off: bool = False
    is_lost: bool = False

    @property
    def selection(self) -> Selection:
        return self.selection_at(self.position)

    def selection_at(self, position: int) -> Selection:
        assert self.selections is not None, "the super conductor has answered"
        return self.selections[position].load()

    def has_selection(self, position: int) -> bool:
        return position < len(self.selections or ())

    def end(self, side: str) -> End:
        """Return an end of the move that is known."""
        found = self._find_end(side)
        assert found is not None, f"the {side} is known"
        return found

    def with_end(self, side: str, end: End) -> Self:
        """Return the state with another end."""
        if side == "source":
            return dataclasses.replace(self, source=end)
        return dataclasses.replace(self, destination=end)

    def other_cell(self, side: str) -> str | None:
        """Return the cell of one end if it is not the operation's own."""
        end = self._find_end(side)
        there = None if end is None else end.cell_uuid
        return None if self.cell_uuid is None or there in (None, self.cell_uuid) else there

    @property
    def is_between_cells(self) -> bool:
        """Whether it leads to, came from, or was going to lead to another cell."""
        if any(self.other_cell(side) for side in SIDES):
            return True
        cells = {each.load().cell_uuid for each in self.selections or ()}
        return self.cell_uuid is not None and not cells <= {None, self.cell_uuid}

    @property
    def hosts_left(self) -> list[str]:
        """The selected hosts that have not failed: the one being tried and the alternates."""
        return [one.load().service_host for one in (self.selections or ())[self.position :]]

    @property
    def hosts(self) -> list[str]:
        ends = [self._find_end(side) for side in SIDES]
        return [end.host for end in ends if end is not None and end.host is not None]

    def _find_end(self, side: str) -> End | None:
        return {"source": self.source, "destination": self.destination}[side]


@dataclasses.dataclass(frozen=True)
class ColdMove(Move):
    """State of a move without a running guest; ``migration_payload`` is what it takes along."""

    migration_payload: Mapping[str, Any] | None = None


@dataclasses.dataclass(frozen=True)
class Evacuation(Move):
    """State of an evacuation; ``stays_off``: the guest is not started at its destination."""

    stays_off: bool = False


@dataclasses.dataclass(frozen=True)
class LiveMove(Move):
    """State of a live migration.

    ``source_description`` and ``destination_description`` describe the guest to the other end's
    driver. ``is_gone``: it failed to arrive. ``is_aborted``: its user aborted it. ``is_forced``: it
    is to be completed immediately.
    """

    source_description: Mapping[str, Any] | None = None
    destination_description: Mapping[str, Any] | None = None
    is_gone: bool = False
    is_aborted: bool = False
    is_forced: bool = False


@dataclasses.dataclass(frozen=True)
class _KeptByMigration:
    """What is kept of an operation that has ended, in ``Migration.flow_state``."""

    @classmethod
    def of_migration(cls, migration: models.Migration) -> Self:
        found: Self = _from_stored(cls, migration.flow_state)
        return found

    def stored(self) -> dict[str, Any]:
        """Return the stored form, which is that on the wire."""
        return _to_stored(self)


@dataclasses.dataclass(frozen=True)
class FinishedMove(_KeptByMigration):
    """A move until it is confirmed or reverted; sent to the other cell of the move, too."""

    was: str
    source: End | None = None
    destination: End | None = None
    is_on: bool = False

    @classmethod
    def of(cls, operation: models.InstanceOperation) -> Self:
        move = Move.of(operation)
        return cls(move.was, move.source, move.destination, move.is_on)


@dataclasses.dataclass(frozen=True)
class Evacuated(_KeptByMigration):
    """An evacuation until its source is back; ``attempt`` is the instance's at the source."""

    attempt: int = 0
