"""A light view of one row of a host table: what a filter or weigher sees of one host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from objects import host_attributes
from objects.aggregate import Aggregate

if TYPE_CHECKING:
    from scheduler.host_table import HostTable

READABLE = frozenset(host_attributes.BY_NAME) | {"host", "nodename", "uuid", "cell_uuid"}
"""The names of plain values, which requests may ask about, too (``capabilities:NAME``)."""


class HostState:
    """One host in one decision.

    Its attributes are those declared in ``objects.host_attributes``, and ``uuid``, ``host``,
    ``nodename`` and ``cell_uuid``; all as plain Python values. They show what the instances chosen
    so far in this request will use. Nothing here can be changed.
    """

    __slots__ = ("_hosts", "_position")

    def __init__(self, hosts: HostTable, position: int) -> None:
        self._hosts = hosts
        self._position = position

    def __getattr__(self, name: str) -> Any:
        if name not in READABLE:
            raise AttributeError(f"a host has no attribute {name!r}")
        return self._hosts.value(name, self._position)

    def __repr__(self) -> str:
        return f"<HostState {self.host} {self.nodename}>"

    @property
    def table(self) -> HostTable:
        """The table that this is a row of."""
        return self._hosts

    @property
    def position(self) -> int:
        """Which row it is."""
        return self._position

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates that the host is in."""
        return self._hosts.aggregates_at(self._position)

    @property
    def instances(self) -> frozenset[str]:
        """UUIDs of the instances on the host: reported, claimed lately, or chosen right now."""
        return self._hosts.instances_at(self._position)

    def find(self, name: str) -> Any:
        """Return a readable attribute, or None when there is no such or it is not known."""
        return self._hosts.value(name, self._position) if name in READABLE else None
