"""Lightweight view of one row of a host table, as seen by filters and weighers."""

from typing import Any, Protocol

from objects.aggregate import Aggregate
from objects.hosts import host_attributes

READABLE = frozenset(host_attributes.BY_NAME) | {"host", "nodename", "uuid", "cell_uuid"}
"""Names of plain values, which requests may also use (``capabilities:NAME``)."""

SERVICE = "service"
SERVICE_ATTRIBUTES = {
    "host": "host",
    "disabled": "service_disabled",
    "up": "service_up",
    "version": "service_version",
}
"""Entries of ``service`` in requests (``$service.disabled``), and the attributes that they show."""


class Rows(Protocol):
    """The part of a host table that a host state reads."""

    def value(self, name: str, position: int) -> Any: ...

    def aggregates_at(self, position: int) -> tuple[Aggregate, ...]: ...

    def instances_at(self, position: int) -> frozenset[str]: ...

    def derived(self, name: str, position: int) -> Any: ...


class HostState:
    """One host in one decision; read-only.

    Its attributes are those declared in ``objects.hosts.host_attributes``, and ``uuid``, ``host``,
    ``nodename`` and ``cell_uuid``, all as plain Python values; a pool has those of its kind, too
    (``objects.claims.resource_kinds``). They include the usage of the
    instances selected so far in this request.
    """

    __slots__ = ("_hosts", "_position")

    def __init__(self, hosts: Rows, position: int) -> None:
        self._hosts = hosts
        self._position = position

    def __getattr__(self, name: str) -> Any:
        if name not in READABLE:
            return self._hosts.derived(name, self._position)
        return self._hosts.value(name, self._position)

    def __repr__(self) -> str:
        return f"<HostState {self.host} {self.nodename}>"

    @property
    def row(self) -> tuple[Any, int]:
        """The host table and the position in it, for a filter that evaluates whole tables."""
        return self._hosts, self._position

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates of the host."""
        return self._hosts.aggregates_at(self._position)

    @property
    def instances(self) -> frozenset[str]:
        """UUIDs of the host's instances: reported, recently claimed, or just selected."""
        return self._hosts.instances_at(self._position)

    def find(self, name: str) -> Any:
        """Return a readable attribute, or None if it does not exist or is unknown.

        ``service`` is a dict of what is known of the host's service.
        """
        if name == SERVICE:
            return {key: self.find(attribute) for key, attribute in SERVICE_ATTRIBUTES.items()}
        return self._hosts.value(name, self._position) if name in READABLE else None
