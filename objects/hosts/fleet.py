"""The fleet as columns: what schedulers and placement know of all hosts, and both joined.

Ten thousand hosts are a few hundred kilobytes on the wire, and array operations on either side.
"""

from typing import TypedDict

import numpy as np

from objects import base, fields

FLEET_LIMIT_MAX = 20_000
"""Maximum number of hosts of one page."""
RESOURCE_CLASSES_MAX = 64
"""Maximum number of resource classes of a fleet's usage, in the order of their names."""
TRAIT_SETS_MAX = 10_000
"""Maximum number of different sets of traits."""
UP, DOWN, DISABLED, DRAINING = range(4)
HOST_STATES = ("up", "down", "disabled", "draining")
"""Names of the states; draining: disabled, and has servers."""


class FleetAggregate(TypedDict):
    """An aggregate of hosts, as the view of the fleet shows it."""

    name: str
    metadata: dict[str, str]


@base.ArmillaryObjectRegistry.register
class HostColumns(base.ArmillaryObject):
    """All hosts that a scheduler knows, one row for each node.

    ``cell`` is an index into ``cells``, the UUIDs of cells.
    """

    node_uuids: list[str] = fields.UUIDColumnField(default=[])
    hosts: list[str] = fields.StringColumnField(default=[])
    cells: list[str] = fields.ListOfStringsField(default=[])
    cell: np.ndarray = fields.PackedColumnField()
    up: np.ndarray = fields.PackedColumnField()
    disabled: np.ndarray = fields.PackedColumnField()
    servers: np.ndarray = fields.PackedColumnField()


@base.ArmillaryObjectRegistry.register
class FleetUsage(base.ArmillaryObject):
    """Capacity and use of all root providers, each with the providers below it.

    ``capacity`` and ``used`` have one column for each class; a capacity of -1 means that there is
    no inventory of it. ``trait_set`` is an index into ``trait_sets``, whose sets are indexes into
    ``traits``: those of the root. ``epoch`` is placement's; an answer to a caller that knows it
    has no rows.
    """

    epoch: int = fields.IntegerField()
    provider_uuids: list[str] = fields.UUIDColumnField(default=[])
    resource_classes: list[str] = fields.ListOfStringsField(default=[])
    capacity: np.ndarray = fields.PackedColumnField()
    used: np.ndarray = fields.PackedColumnField()
    traits: list[str] = fields.ListOfStringsField(default=[])
    trait_sets: list[list[int]] = fields.JSONField(default=[])
    trait_set: np.ndarray = fields.PackedColumnField()


@base.ArmillaryObjectRegistry.register
class FleetPage(base.ArmillaryObject):
    """A page of the fleet, by host name; columns as in ``HostColumns`` and ``FleetUsage``.

    ``state`` is an index into ``HOST_STATES``, ``zone`` one into ``zones``, the availability zones,
    ``aggregate_set`` one into ``aggregate_sets``, whose sets are indexes into ``aggregates``: dicts
    with name and metadata. ``epoch`` changes with anything on this page; an answer to a caller that
    knows it has no rows. ``next_marker`` is the last node of the page, unless it is the last page.
    """

    epoch: str = fields.StringField()
    node_uuids: list[str] = fields.UUIDColumnField(default=[])
    hosts: list[str] = fields.StringColumnField(default=[])
    cells: list[str] = fields.ListOfStringsField(default=[])
    cell: np.ndarray = fields.PackedColumnField()
    zones: list[str] = fields.ListOfStringsField(default=[])
    zone: np.ndarray = fields.PackedColumnField()
    state: np.ndarray = fields.PackedColumnField()
    servers: np.ndarray = fields.PackedColumnField()
    aggregates: list[FleetAggregate] = fields.JSONField(default=[])
    aggregate_sets: list[list[int]] = fields.JSONField(default=[])
    aggregate_set: np.ndarray = fields.PackedColumnField()
    resource_classes: list[str] = fields.ListOfStringsField(default=[])
    capacity: np.ndarray = fields.PackedColumnField()
    used: np.ndarray = fields.PackedColumnField()
    traits: list[str] = fields.ListOfStringsField(default=[])
    trait_sets: list[list[int]] = fields.JSONField(default=[])
    trait_set: np.ndarray = fields.PackedColumnField()
    next_marker: str | None = fields.UUIDField(nullable=True)
