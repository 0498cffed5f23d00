"""ZoneAnswer: hosts offered by a zone's sub-tree, with the data to weigh them again."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import numpy as np

from objects import base, fields


class ZoneOutcome(TypedDict):
    """What became of one zone in a search; ``reason`` says why it offers nothing.

    ``outcome`` is one of asked, own, pruned, late, failed, stale, offline, disabled and cycle. A
    zone that was asked is there twice: with the number of hosts that its parent received, and with
    the number of its own hosts. ``may_serve`` is set for a stale zone that could serve the request
    by its last summary, or whose summary is unknown.
    """

    path: list[str]
    outcome: str
    hosts: int
    seconds: float
    reason: str | None
    may_serve: bool


class OfferedHost(TypedDict):
    """A host of some zone, for the origin's walk; in a dry run, own hosts also have names."""

    host_id: str
    path: list[str]
    host: NotRequired[str]
    node: NotRequired[str]
    availability_zone: NotRequired[str | None]


@base.ArmillaryObjectRegistry.register
class ZoneAnswer(base.ArmillaryObject):
    """At most N hosts, the best first, as columns.

    ``host_ids`` are UUIDs of compute nodes, whose names only the owning zone knows. ``paths[i]``
    names the zones from below the asked zone down to the owner of host i: empty for its own hosts,
    ``["eu", "eu-1"]`` for those of a grandchild. ``weighers`` are class names in the order of the
    columns of ``raw`` (each weigher's value for each host, before normalising) and ``multipliers``
    (the values for that host); both are (hosts x weighers), float64. ``bounds`` has the least and
    the greatest ``raw`` of each weigher over all hosts of the sub-tree that could take the
    instances, including those beyond the first N: (weighers x 2). Hosts of several zones are
    normalised with them. ``is_fallback`` marks hosts that come behind all others: they have no
    inventory of dedicated CPUs for a request with pinned ones. ``adjustments`` has the scale and
    the offset of each host's weight that the zones below set for their children: (hosts x 2).
    ``was_pruned`` is set if no zone was
    asked because the summaries ruled it out. ``zones`` lists each zone considered.
    """

    host_ids: list[str] = fields.ListOfStringsField(default=[])
    paths: list[list[str]] = fields.JSONField(default=[])
    weighers: list[str] = fields.ListOfStringsField(default=[])
    raw: np.ndarray = fields.ColumnField()
    multipliers: np.ndarray = fields.ColumnField()
    bounds: np.ndarray = fields.ColumnField()
    is_fallback: np.ndarray = fields.ColumnField()
    adjustments: np.ndarray = fields.ColumnField()
    was_pruned: bool = fields.BooleanField(default=False)
    zones: list[ZoneOutcome] = fields.JSONField(default=[])

    def entries(self) -> list[OfferedHost]:
        """Return the hosts in order, for the origin's walk."""
        return [
            {"host_id": host_id, "path": list(path)}
            for host_id, path in zip(self.host_ids, self.paths, strict=True)
        ]


_SILENT = ("late", "failed")


def silent_among(zones: Iterable[Mapping[str, Any]]) -> set[tuple[str, ...]]:
    """Return the paths of the zones that were asked and did not answer; see ``zones``."""
    rows = list(zones)
    silent = {tuple(each["path"]) for each in rows if each["outcome"] in _SILENT}
    return silent - {tuple(each["path"]) for each in rows if each["outcome"] == "asked"}


def stale_among(zones: Iterable[Mapping[str, Any]]) -> set[tuple[str, ...]]:
    """Return the paths of the stale zones that may serve the request; see ``zones``."""
    return {tuple(each["path"]) for each in zones if each.get("may_serve")}


def entry_name(path: Sequence[str], host_id: str) -> str:
    """Return the name of an offered host in traces: only its own zone knows a better one."""
    return ":".join(filter(None, ["/".join(path), host_id]))
