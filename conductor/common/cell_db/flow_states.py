"""States of operations, as stored in ``InstanceOperation.flow_state``.

Each flow has a class for its state. The stored form has a key for each field that is not None; a
class reads its own keys and keeps the others, so that a base class can be used for shared stages.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

from conductor.common.cell_db import models
from objects.instance_fault import InstanceFault
from objects.selection import Selection

SIDES = ("source", "destination")


@dataclasses.dataclass(frozen=True)
class End:
    """The instance at one end of a move; ``flavor`` is in wire form."""

    host: str | None
    node: str | None
    attempt: int
    flavor: dict[str, Any] | None = None
    availability_zone: str | None = None
    cell_uuid: str | None = None


def _from_stored(cls: type[Any], stored: Mapping[str, Any]) -> Any:
    values = {
        field.name: stored[field.name]
        for field in dataclasses.fields(cls)
        if stored.get(field.name) is not None
    }
    for side in SIDES:
        if isinstance(values.get(side), Mapping):
            values[side] = _end(values[side])
    return cls(**values)


def _end(stored: Mapping[str, Any]) -> End:
    values: dict[str, Any] = {
        field.name: stored.get(field.name) for field in dataclasses.fields(End)
    }
    return End(**values)


def _to_stored(state: Any) -> dict[str, Any]:
    values = {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}
    return {
        name: vars(value).copy() if isinstance(value, End) else value
        for name, value in values.items()
        if value is not None
    }


@dataclasses.dataclass(frozen=True)
class FlowState:
    """State of any operation.

    ``was`` is the ``vm_state`` at its start, ``cell_uuid`` this cell; ``fault`` is the last failure
    of a stage, in wire form.
    """

    was: str
    cell_uuid: str | None = None
    fault: dict[str, Any] | None = None

    @classmethod
    def of(cls, operation: models.InstanceOperation) -> Self:
        """Return the state of an operation."""
        return cls.from_stored(operation.flow_state)

    @classmethod
    def from_stored(cls, flow_state: Mapping[str, Any]) -> Self:
        """Return a state from its stored form."""
        state: Self = _from_stored(cls, flow_state)
        return state

    def store(self, operation: models.InstanceOperation) -> None:
        """Store the state with its operation."""
        operation.flow_state = {**operation.flow_state, **_to_stored(self)}

    @property
    def last_fault(self) -> InstanceFault | None:
        """The last failure of a stage."""
        return None if self.fault is None else InstanceFault.obj_from_primitive(self.fault)


@dataclasses.dataclass(frozen=True)
class Reboot(FlowState):
    """State of a reboot."""

    is_hard: bool = False


@dataclasses.dataclass(frozen=True)
class Rebuild(FlowState):
    """State of a rebuild; ``is_on``: whether the new guest is to run."""

    is_on: bool = False


@dataclasses.dataclass(frozen=True)
class Move(FlowState):
    """State of an operation that changes hosts.

    ``selections`` and ``request_spec`` are the super conductor's answer, in wire form; ``position``
    is that of the host being tried. ``source`` is None when the instance is unshelved.
    ``is_on``: whether the guest ran at the source. ``is_kept_off``: it did, and cannot be powered
    on there again. ``is_lost``: it may be off on a host that is down.
    """

    source: End | None = None
    destination: End | None = None
    new_flavor: dict[str, Any] | None = None
    selections: list[dict[str, Any]] | None = None
    request_spec: dict[str, Any] | None = None
    position: int = 0
    is_on: bool = False
    is_kept_off: bool = False
    is_lost: bool = False

    @property
    def selection(self) -> Selection:
        """The selection being tried."""
        return self.selection_at(self.position)

    def selection_at(self, position: int) -> Selection:
        """Return a selection."""
        assert self.selections is not None, "the super conductor has answered"
        return Selection.obj_from_primitive(self.selections[position])

    def has_selection(self, position: int) -> bool:
        """Return whether there is a host left to try."""
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
        key = Selection.primitive_key("data")
        chosen = [each[key].get("cell_uuid") for each in self.selections or ()]
        return self.cell_uuid is not None and any(
            cell not in (None, self.cell_uuid) for cell in chosen
        )

    @property
    def hosts(self) -> list[str]:
        """Hosts at the known ends."""
        ends = [self._find_end(side) for side in SIDES]
        return [end.host for end in ends if end is not None and end.host is not None]

    def _find_end(self, side: str) -> End | None:
        return {"source": self.source, "destination": self.destination}[side]


@dataclasses.dataclass(frozen=True)
class ColdMove(Move):
    """State of a move without a running guest; ``migration_payload`` is what it takes along."""

    migration_payload: dict[str, Any] | None = None


@dataclasses.dataclass(frozen=True)
class LiveMove(Move):
    """State of a live migration.

    ``source_description`` and ``destination_description`` describe the guest to the other end's
    driver. ``is_gone``: it failed to arrive. ``is_aborted``: its user aborted it.
    """

    source_description: dict[str, Any] | None = None
    destination_description: dict[str, Any] | None = None
    is_gone: bool = False
    is_aborted: bool = False


@dataclasses.dataclass(frozen=True)
class FinishedMove:
    """What is kept of a move until it is confirmed or reverted, in ``Migration.flow_state``.

    It is sent to the other cell of the move.
    """

    was: str
    source: End | None = None
    destination: End | None = None
    is_on: bool = False

    @classmethod
    def of(cls, operation: models.InstanceOperation) -> Self:
        """Return what is kept of an operation."""
        move = Move.of(operation)
        return cls(move.was, move.source, move.destination, move.is_on)

    @classmethod
    def of_migration(cls, migration: models.Migration) -> Self:
        """Return what is kept of a migration."""
        found: Self = _from_stored(cls, migration.flow_state)
        return found

    def stored(self) -> dict[str, Any]:
        """Return the stored form, which is that on the wire."""
        return _to_stored(self)


@dataclasses.dataclass(frozen=True)
class Evacuated:
    """What is kept of an evacuation until its source is back, in ``Migration.flow_state``.

    ``attempt`` is that of the instance at the source.
    """

    attempt: int = 0

    @classmethod
    def of_migration(cls, migration: models.Migration) -> Self:
        """Return what is kept of a migration."""
        found: Self = _from_stored(cls, migration.flow_state)
        return found

    def stored(self) -> dict[str, Any]:
        """Return the stored form."""
        return _to_stored(self)
