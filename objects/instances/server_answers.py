"""Answers to queries about servers, and the marker between their pages."""

from dataclasses import dataclass, field
from datetime import datetime

from objects.instance import Instance
from objects.instances.migration import Migration
from objects.instances.server_order import SortValue


@dataclass(frozen=True, slots=True)
class CreatedServers:
    """Accepted servers, in the order of their launch index."""

    reservation_id: str
    instance_uuids: list[str]


@dataclass(frozen=True, slots=True)
class ServerPage:
    """Servers in the order asked for, and names of the cells that did not answer."""

    instances: list[Instance]
    down_cells: list[str]


@dataclass(frozen=True, slots=True)
class MigrationPage:
    """Migrations, newest first, and names of the cells that did not answer."""

    migrations: list[Migration]
    down_cells: list[str]


@dataclass(frozen=True, slots=True)
class InstanceMarker:
    """The last instance of the previous page; ``values`` are those of the sort keys."""

    created_at: datetime
    uuid: str
    values: list[SortValue] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CellServerMarker:
    """The cell of the next page, and the last of its servers on the previous page."""

    cell_uuid: str
    after: InstanceMarker | None = None


@dataclass(frozen=True, slots=True)
class CellServerPage:
    """Servers of one cell; ``marker`` is that of the next page, None after the last."""

    instances: list[Instance]
    down_cells: list[str]
    marker: CellServerMarker | None = None
