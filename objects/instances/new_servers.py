"""Requests for servers that are created, or would be in a dry run."""

from dataclasses import dataclass, field

from objects.allocations.allocation import Allocations
from objects.instances.server_settings import ServerSettings


@dataclass(frozen=True, slots=True)
class NewServers:
    """Servers to create, ``min_count`` to ``max_count`` (by default the same) as the quota allows.

    ``flavor`` and ``image`` are an ID or a name. ``availability_zone`` is "zone", "zone:host" or
    "zone:host:node", the latter two for administrators; ``host`` and ``node`` are a requested
    destination. A hint has a list of texts; "group" is a server group's UUID. A network has
    ``network`` (its UUID) and ``remote_managed``. ``needs_root_disk``: a flavor without a root disk
    is refused for an image that is a disk.
    """

    name: str
    flavor: str
    image: str | None = None
    min_count: int = 1
    max_count: int | None = None
    availability_zone: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    networks: list[dict[str, str | bool]] = field(default_factory=list)
    hints: dict[str, list[str]] = field(default_factory=dict)
    host: str | None = None
    node: str | None = None
    settings: ServerSettings | None = None
    needs_root_disk: bool = False

    @property
    def count_max(self) -> int:
        """Maximum number of servers that the request asks for."""
        return self.min_count if self.max_count is None else self.max_count


@dataclass(frozen=True, slots=True)
class DryRunRequest:
    """Servers as in a request for them, or a request spec as a person writes it in JSON."""

    servers: NewServers | None = None
    request_spec: dict[str, object] | None = None


@dataclass(frozen=True, slots=True)
class DryRunHost:
    """Where one instance would be built first, and its further candidates in order.

    ``zone`` is the path of the zone below that has the host; only that zone knows the host's name
    and allocations. ``alternates`` are hosts and
    ``alternate_zones`` their zones.
    """

    host: str | None = None
    node: str | None = None
    availability_zone: str | None = None
    allocations: Allocations = field(default_factory=dict)
    zone: str | None = None
    host_id: str | None = None
    alternates: list[str | None] = field(default_factory=list)
    alternate_zones: list[str | None] = field(default_factory=list)
