"""Cluster metadata from the super conductor: cells, aggregates with their hosts, and zones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Self

from objects.aggregate import AVAILABILITY_ZONE_KEY, Aggregate
from objects.cell_mapping import CELL0_UUID


class ClusterMetadata:
    """A version of the metadata, replaced as a whole; ``seq`` increases with each change.

    ``hosts_seq`` is the number of the last change that took a host from its cell.
    ``zones`` are the child zones: dicts with uuid, name, transport_url and disabled. Metadata from
    a snapshot of an earlier process has ``RESTORED_SEQ``: any from the super conductor is newer.
    """

    RESTORED_SEQ = -1

    def __init__(
        self,
        *,
        seq: int = 0,
        hosts_seq: int | None = None,
        cells: Iterable[Mapping[str, Any]] = (),
        aggregates: Iterable[Aggregate] = (),
        zones: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        self.seq = seq
        self.hosts_seq = seq if hosts_seq is None else hosts_seq  # without it, any may have been
        self.zones = tuple(zones)
        self.cell_names: dict[str, str] = {}
        self.enabled_cells: set[str] = set()
        for cell in cells:
            if cell["uuid"] == CELL0_UUID:
                continue
            self.cell_names[cell["uuid"]] = cell["name"]
            if not cell["disabled"]:
                self.enabled_cells.add(cell["uuid"])
        self.aggregates = tuple(aggregates)
        self._of_host: dict[str, tuple[Aggregate, ...]] = {}
        self._with_key: dict[str, list[Aggregate]] = defaultdict(list)
        self._index()

    @classmethod
    def from_plain(cls, cluster_metadata: Mapping[str, Any]) -> Self:
        """Create the object from the response of ``SuperConductorAPI.get_cluster_metadata``."""
        return cls(
            seq=cluster_metadata["seq"],
            hosts_seq=cluster_metadata.get("hosts_seq"),
            cells=cluster_metadata["cells"],
            aggregates=cluster_metadata["aggregates"],
            zones=cluster_metadata.get("zones") or (),
        )

    @property
    def is_restored(self) -> bool:
        """Whether it is from a snapshot of an earlier process."""
        return self.seq == self.RESTORED_SEQ

    def changed(
        self, aggregates: Iterable[Aggregate] = (), removed: Iterable[str] = (), *, seq: int
    ) -> ClusterMetadata:
        """Return new metadata with aggregates added or replaced, and others removed by UUID."""
        by_uuid = {each.uuid: each for each in self.aggregates}
        by_uuid.update({each.uuid: each for each in aggregates})
        for uuid in removed:
            by_uuid.pop(uuid, None)
        cells = [
            {"uuid": uuid, "name": name, "disabled": uuid not in self.enabled_cells}
            for uuid, name in self.cell_names.items()
        ]
        return ClusterMetadata(
            seq=seq,
            hosts_seq=self.hosts_seq,
            cells=cells,
            aggregates=by_uuid.values(),
            zones=self.zones,
        )

    def aggregates_of(self, host: str) -> tuple[Aggregate, ...]:
        """Return the aggregates of a host."""
        return self._of_host.get(host, ())

    def aggregates_with(self, key: str) -> list[Aggregate]:
        """Return the aggregates with a metadata key."""
        return self._with_key.get(key, [])

    def zone_of(self, host: str, default: str) -> str:
        """Return the availability zone of a host; ``default`` if no aggregate sets one."""
        for aggregate in self.aggregates_of(host):
            if zone := aggregate.metadata.get(AVAILABILITY_ZONE_KEY):
                return zone
        return default

    def _index(self) -> None:
        of_host: dict[str, list[Aggregate]] = defaultdict(list)
        for aggregate in self.aggregates:
            for host in aggregate.hosts:
                of_host[host].append(aggregate)
            for key in aggregate.metadata:
                self._with_key[key].append(aggregate)
        self._of_host = {host: tuple(found) for host, found in of_host.items()}
