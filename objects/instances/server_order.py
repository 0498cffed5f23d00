"""Order of lists of servers: sort keys, and the position of an instance among others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import total_ordering

from objects.instance import Instance
from objects.instances.power_states import number_of
from objects.instances.server_settings import ServerSettings

SortValue = str | int
"""A text, or a number. Nothing sorts as an empty text; times sort as texts of whole seconds."""

_NO_SETTINGS = ServerSettings.from_values()


@dataclass(frozen=True, slots=True)
class SortKey:
    """A name of ``KEYS``, and the direction."""

    name: str
    is_descending: bool = True


def _settings(instance: Instance) -> ServerSettings:
    return instance.settings or _NO_SETTINGS


def moment(value: datetime | None) -> str:
    """Return a time as it is compared: in UTC and whole seconds."""
    if value is None:
        return ""
    utc = value.astimezone(UTC) if value.tzinfo else value
    return f"{utc:%Y-%m-%d %H:%M:%S}"


KEYS: Mapping[str, Callable[[Instance], SortValue | None]] = {
    "access_ip_v4": lambda one: _settings(one).access_ip_v4,
    "access_ip_v6": lambda one: _settings(one).access_ip_v6,
    "disk_config": lambda one: _settings(one).disk_config,
    "availability_zone": lambda one: one.availability_zone,
    "config_drive": lambda one: int(_settings(one).config_drive),
    "created_at": lambda one: moment(one.created_at),
    "description": lambda one: _settings(one).description,
    "flavor": lambda one: one.flavor.flavorid,
    "host": lambda one: one.host,
    "hostname": lambda one: _settings(one).hostname or one.name,
    "image": lambda one: None if one.image is None else one.image.id,
    "key_name": lambda one: _settings(one).key_name,
    "launch_index": lambda one: one.launch_index,
    "launched_at": lambda one: moment(one.launched_at),
    "locked": lambda one: int(one.locked),
    "locked_by": lambda one: one.locked_by,
    "name": lambda one: one.name,
    "node": lambda one: one.node,
    "power_state": lambda one: number_of(one.power_state),
    "project_id": lambda one: one.project_id,
    "task_state": lambda one: one.task_state,
    "terminated_at": lambda one: moment(one.deleted_at),
    "updated_at": lambda one: moment(one.updated_at),
    "user_id": lambda one: one.user_id,
    "uuid": lambda one: one.uuid,
    "vm_state": lambda one: one.vm_state,
}
"""Attributes that lists of servers are sorted by, or filtered by their exact value.

``conductor.common.cell_db.instance_columns`` has the same in SQL; both must agree.
"""

NUMBERS = frozenset({"config_drive", "launch_index", "locked", "power_state"})
"""Keys whose values are numbers."""


def values_of(instance: Instance, sort: Sequence[SortKey] | None) -> list[SortValue]:
    """Return an instance's values of the sort keys."""
    return [_plain(key.name, KEYS[key.name](instance)) for key in sort or ()]


def _plain(name: str, value: SortValue | None) -> SortValue:
    """Return a value as SQL has it: JSON's null is the text "null" in some databases."""
    if name in NUMBERS:
        return value or 0
    return "" if value in (None, "null") else str(value)


@total_ordering
@dataclass(frozen=True, slots=True)
class _Descending:
    value: SortValue | datetime

    def __lt__(self, other: _Descending) -> bool:
        return other.value < self.value  # type: ignore[operator]


Position = tuple[SortValue | _Descending, ...]
"""Compares as the instances are listed."""


def position(
    sort: Sequence[SortKey] | None, values: Sequence[SortValue], created_at: datetime, uuid: str
) -> Position:
    """Return the position of an instance with these values; equal ones are newest first."""
    keys = (
        _Descending(value) if key.is_descending else value
        for key, value in zip(sort or (), values, strict=True)
    )
    return (*keys, _Descending(created_at), _Descending(uuid))
