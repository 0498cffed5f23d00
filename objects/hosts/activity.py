"""Current activity of services: records, figures, work under way."""

from dataclasses import dataclass, field
from datetime import datetime

from objects.hosts.service import Service
from objects.zones.zone_status import ZoneStatus

DOWN_HOSTS_MAX = 50
"""Maximum number of hosts that are named because they are down."""


@dataclass(frozen=True, slots=True)
class WorkerFigures:
    """What one worker process of a service reported; see ``armillary.metrics.service_figures``."""

    host: str
    binary: str
    worker: int
    figures: dict[str, float]
    reported_at: datetime


@dataclass(frozen=True, slots=True)
class WorkCount:
    """Number of works under way of one table, operation and stage; ``free``: without a lease.

    ``oldest_since`` is None if the start of one of them is unknown.
    """

    table: str
    operation: str | None
    stage: str
    count: int
    free: int
    oldest_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class HostCounts:
    """Number of compute services, and of those that are up, and disabled."""

    total: int = 0
    up: int = 0
    disabled: int = 0


@dataclass(frozen=True, slots=True)
class CellActivity:
    """One cell, or the super conductor's own databases.

    ``services`` are those without hosts, ``down_hosts`` at most ``DOWN_HOSTS_MAX`` compute services
    that are down.
    """

    services: list[Service]
    figures: list[WorkerFigures]
    works: list[WorkCount]
    hosts: HostCounts = HostCounts()
    down_hosts: list[Service] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Activity:
    """All cells by name, the services on the top broker, and the zones."""

    on_top: CellActivity
    cells: dict[str, CellActivity]
    zones: list[ZoneStatus]
    down_cells: list[str]
