"""Which cell has a host, asked by schedulers before they believe what a cell pushes."""

from collections.abc import Mapping, Sequence

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary.context import RequestContext, admin_context
from armillary.db import Database
from conductor.super_conductor.db import cells as cells_db
from conductor.super_conductor.db import host_mappings
from conductor.super_conductor.hosts.cells import Cells
from conductor.super_conductor.hosts.cluster_metadata import MetadataPublisher


class HostOwnershipEndpoint:
    """Answers from the host mappings, and maps immediately what discovery would map later.

    The caller says what a cell has pushed, and the cell itself is asked before anything is mapped:
    a scheduler's key alone changes no mapping.
    """

    def __init__(
        self, conf: cfg.ConfigOpts, database: Database, cells: Cells, metadata: MetadataPublisher
    ) -> None:
        self._conf = conf
        self._database = database
        self._cells = cells
        self._enrolments = cells.enrolments
        self._metadata = metadata
        self._named: dict[str, dict[str, list[str]]] = {}
        """Cell -> the hosts and nodes that it named the last time it was asked."""

    def map_hosts(
        self, context: RequestContext, cell_uuid: str, hosts: Mapping[str, Sequence[str]]
    ) -> list[str]:
        """See ``SuperConductorAPI``."""
        with self._database.reader() as session:
            cells_db.get_cell(session, cell_uuid)
            unmapped = _not_mapped(session, cell_uuid, hosts)
            new = self._may_map(session, cell_uuid, unmapped)
        new = self._named_by_cell(cell_uuid, new)
        if new:
            self._database.run_in_writer(_add, cell_uuid, new)
            self._metadata.aggregates_of_hosts_changed(new)
            unmapped = self._database.read(_not_mapped, cell_uuid, hosts)
        return sorted(node for nodes in unmapped.values() for node in nodes)

    def _named_by_cell(
        self, cell_uuid: str, hosts: Mapping[str, Sequence[str]]
    ) -> dict[str, list[str]]:
        """Return the hosts and nodes that the cell says it has. Raises CellUnavailable.

        Many hosts that start together are asked about once.
        """
        found = _common(hosts, self._named.get(cell_uuid, {}))
        if found == hosts:
            return found
        self._named[cell_uuid] = self._cells.call(
            cell_uuid, lambda cell: cell.list_known_hosts(admin_context())
        )
        return _common(hosts, self._named[cell_uuid])

    def _may_map(
        self, session: Session, cell_uuid: str, unmapped: Mapping[str, Sequence[str]]
    ) -> dict[str, list[str]]:
        """Return the hosts that may be mapped to the cell, with the nodes that no cell has."""
        if not unmapped:
            return {}
        mapped = host_mappings.find_host_mappings(session, unmapped)
        own = {host for host, one in mapped.items() if one.cell_uuid == cell_uuid}
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


def _common(
    hosts: Mapping[str, Sequence[str]], named: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Return the hosts with the nodes that are named, too."""
    both = {
        host: [node for node in nodes if node in named.get(host, ())]
        for host, nodes in hosts.items()
    }
    return {host: nodes for host, nodes in both.items() if nodes}


def _not_mapped(
    session: Session, cell_uuid: str, hosts: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Return the hosts with nodes that are not mapped to the cell as theirs."""
    mapped = host_mappings.find_host_mappings(session, hosts)
    found = {}
    for host, nodes in hosts.items():
        former = mapped.get(host)
        known = former.node_uuids if former and former.cell_uuid == cell_uuid else []
        missing = [node for node in nodes if node not in known]
        if missing:
            found[host] = missing
    return found


def _add(session: Session, cell_uuid: str, hosts: Mapping[str, Sequence[str]]) -> None:
    """Map new hosts, and add nodes to those of the cell."""
    host_mappings.map_hosts(session, cell_uuid, {host: hosts[host] for host in hosts})
    for host, one in host_mappings.find_host_mappings(session, hosts).items():
        if one.cell_uuid == cell_uuid and not set(hosts[host]) <= set(one.node_uuids):
            host_mappings.set_node_uuids(session, host, cell_uuid, {*one.node_uuids, *hosts[host]})
