"""Which cell has a host, asked by schedulers before they believe what a cell pushes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.db import cells as cells_db
from conductor.super_conductor.db import host_mappings
from conductor.super_conductor.hosts.cell_enrolments import CellEnrolments
from conductor.super_conductor.hosts.cluster_metadata import MetadataPublisher


class HostOwnershipEndpoint:
    """Answers from the host mappings, and maps at once what discovery would map later."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        database: Database,
        enrolments: CellEnrolments,
        metadata: MetadataPublisher,
    ) -> None:
        self._conf = conf
        self._database = database
        self._enrolments = enrolments
        self._metadata = metadata

    def map_hosts(
        self, context: RequestContext, cell_uuid: str, hosts: Mapping[str, Sequence[str]]
    ) -> list[str]:
        """See ``SuperConductorAPI``."""
        with self._database.reader() as session:
            cells_db.get_cell(session, cell_uuid)
            unmapped = _not_mapped(session, cell_uuid, hosts)
            new = self._may_map(session, cell_uuid, unmapped)
        if new:
            self._database.run_in_writer(lambda session: _add(session, cell_uuid, new))
            self._metadata.aggregates_of_hosts_changed(new)
            with self._database.reader() as session:
                unmapped = _not_mapped(session, cell_uuid, hosts)
        return sorted(node for nodes in unmapped.values() for node in nodes)

    def _may_map(
        self, session: Session, cell_uuid: str, unmapped: Mapping[str, Sequence[str]]
    ) -> dict[str, list[str]]:
        """Return the hosts that may be mapped to the cell, with the nodes that no cell has."""
        if not unmapped:
            return {}
        mapped = host_mappings.find_host_mappings(session, unmapped)
        own = {host for host, (cell, _nodes) in mapped.items() if cell == cell_uuid}
        if self._conf.conductor.discover_hosts_interval_seconds > 0:
            free = unmapped.keys() - mapped.keys()
            own |= {host for host in free if self._enrolments.may_have(cell_uuid, host)}
        if not own:
            return {}
        cells = host_mappings.cells_of_nodes(session)
        return {
            host: nodes
            for host in sorted(own)
            if (nodes := [one for one in unmapped[host] if cells.get(one, cell_uuid) == cell_uuid])
        }


def _not_mapped(
    session: Session, cell_uuid: str, hosts: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Return the hosts with nodes that are not mapped to the cell as theirs."""
    mapped = host_mappings.find_host_mappings(session, hosts)
    found = {}
    for host, nodes in hosts.items():
        cell, known = mapped.get(host, (None, []))
        missing = [node for node in nodes if cell != cell_uuid or node not in known]
        if missing:
            found[host] = missing
    return found


def _add(session: Session, cell_uuid: str, hosts: Mapping[str, Sequence[str]]) -> None:
    """Map new hosts, and add nodes to those of the cell."""
    host_mappings.map_hosts(session, cell_uuid, {host: hosts[host] for host in hosts})
    for host, (cell, known) in host_mappings.find_host_mappings(session, hosts).items():
        if cell == cell_uuid and not set(hosts[host]) <= set(known):
            host_mappings.set_node_uuids(session, host, cell_uuid, {*known, *hosts[host]})
