"""Which hosts a cell may push: the super conductor's word, kept for as long as nothing changes.

A cell's conductor names its hosts and their compute nodes in what it pushes. Were the first cell
that names a node believed, a stolen key of one cell could draw builds to itself, or hide the hosts
of another, by naming them. So the super conductor is asked about each host or node that is new for
its cell, before its state is applied.
"""

import logging
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping

from armillary import exception
from armillary.context import admin_context
from armillary.metrics import service_metrics
from conductor.super_conductor.interface import SuperConductorAPI
from objects.hosts.host_states import HostStateBatch
from scheduler.hosts.store import host_store_columns
from scheduler.hosts.store.host_store import HostStore

LOG = logging.getLogger(__name__)

NodesOfHosts = Mapping[str, list[str]]
"""Host -> UUIDs of its compute nodes."""

_ASKED_MAX = 1000
"""Hosts in one call."""
_REFUSED_MAX = 10_000
"""Refused nodes of a cell that are remembered; of more, each push is checked again."""
_LOGGED_MAX = 100
"""Refused hosts of a cell that are logged."""


class HostOwnership:
    """Keeps hosts out of the host store that are not of the cell that pushes them. Thread-safe."""

    def __init__(self, *, host_store: HostStore, super_conductor: SuperConductorAPI) -> None:
        self._host_store = host_store
        self._super_conductor = super_conductor
        self._lock = threading.Lock()
        self._refused: dict[str, dict[str, str]] = defaultdict(dict)  # cell -> node -> host
        self._logged: dict[str, set[str]] = defaultdict(set)  # cell -> hosts

    def without_refused(self, batch: HostStateBatch) -> HostStateBatch:
        """Return a push without the nodes that its cell was refused, which are counted."""
        with self._lock:
            refused = self._refused.get(batch.cell_uuid)
            if not refused:
                return batch
            for node in batch.removed:
                refused.pop(node, None)
            found = refused.keys() & set(batch.node_uuids)
        return self._without(batch, found)

    def has_new(self, batch: HostStateBatch) -> bool:
        """Return whether a push has a host or node that has to be checked first."""
        return bool(self._new(batch))

    def check(self, batch: HostStateBatch) -> tuple[HostStateBatch, NodesOfHosts]:
        """Return a batch with the cell's own nodes alone, and those of them that are new.

        Raises what ``SuperConductorAPI.map_hosts`` raises, if something has to be checked.
        """
        new = self._new(batch)
        if not new:
            return batch, {}
        refused = self._refused_among(batch.cell_uuid, new)
        if batch.full:
            with self._lock:
                self._refused.pop(batch.cell_uuid, None)
        self._note(batch.cell_uuid, new, refused)
        return self._without(batch, refused), _without_nodes(new, refused)

    def evict(self, cell_uuid: str, hosts: NodesOfHosts) -> None:
        """Remove these hosts and nodes, which are this cell's, from other cells."""
        if not hosts:
            return
        nodes = {uuid for uuids in hosts.values() for uuid in uuids}
        for node, (cell, host) in self._host_store.owners().items():
            if cell != cell_uuid and (host in hosts or node in nodes):
                self._host_store.drop(cell, [node])

    def check_known(self) -> None:
        """Drop the hosts from the store that their cell does not have any more."""
        known: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for node, (cell, host) in self._host_store.owners().items():
            known[cell][host].append(node)
        for cell_uuid, hosts in known.items():
            try:
                refused = self._refused_among(cell_uuid, hosts)
            except exception.CellNotFound:  # the metadata will say so, too
                continue
            self._note(cell_uuid, hosts, refused)
            self._host_store.drop(cell_uuid, refused)

    def cells_to_ask_again(self) -> list[str]:
        """Check the refused nodes again; return the cells that may have some of them now."""
        with self._lock:
            waiting = {cell: dict(nodes) for cell, nodes in self._refused.items() if nodes}
        changed = []
        for cell_uuid, nodes in waiting.items():
            hosts: NodesOfHosts = defaultdict(list)
            for node, host in nodes.items():
                hosts[host].append(node)
            try:
                refused = self._refused_among(cell_uuid, hosts)
            except exception.CellNotFound:
                with self._lock:
                    self._refused.pop(cell_uuid, None)
                continue
            if len(refused) < len(nodes):
                self._note(cell_uuid, hosts, refused)
                self._host_store.forget_seq(cell_uuid)
                changed.append(cell_uuid)
        return changed

    @property
    def has_refused(self) -> bool:
        """Whether any cell was refused a node that it has not removed since."""
        with self._lock:
            return any(self._refused.values())

    def _new(self, batch: HostStateBatch) -> NodesOfHosts:
        """Return the hosts of a batch, with the nodes that are not known as that cell's."""
        owners = self._host_store.owners(batch.node_uuids)
        new: dict[str, list[str]] = {}
        for node, host in zip(batch.node_uuids, batch.hosts, strict=False):  # not checked yet
            if owners.get(node) != (batch.cell_uuid, host):
                new.setdefault(host, []).append(node)
        return new

    def _refused_among(self, cell_uuid: str, hosts: NodesOfHosts) -> set[str]:
        refused: set[str] = set()
        for some in _in_parts(hosts):
            refused.update(self._super_conductor.map_hosts(admin_context(), cell_uuid, some))
        return refused

    def _note(self, cell_uuid: str, asked: NodesOfHosts, refused: set[str]) -> None:
        """Remember what was refused of what was asked, and log each host once."""
        with self._lock:
            known = self._refused[cell_uuid]
            for host, nodes in asked.items():
                for node in nodes:
                    if node not in refused:
                        known.pop(node, None)
                    elif len(known) < _REFUSED_MAX:
                        known[node] = host
            present = set(known.values())
            logged = self._logged[cell_uuid]
            logged &= present
            new = sorted(present - logged)[: max(0, _LOGGED_MAX - len(logged))]
            logged.update(new)
        name = self._host_store.cluster_metadata.cell_names.get(cell_uuid, cell_uuid)
        for host in new:
            LOG.warning(
                "Ignored the state of host %s reported by cell %s: the host is mapped to another "
                "cell, has a compute node of one, or is not approved for this one. Give the host "
                "another name, or see armillary-manage cell list-hosts and cell approve-host",
                host,
                name,
            )

    def _without(self, batch: HostStateBatch, refused: set[str]) -> HostStateBatch:
        if not refused:
            return batch
        service_metrics.HOSTS_REFUSED.add(count=len(refused))
        return host_store_columns.without(batch, refused)


def _without_nodes(hosts: NodesOfHosts, nodes: set[str]) -> NodesOfHosts:
    left = {host: [uuid for uuid in own if uuid not in nodes] for host, own in hosts.items()}
    return {host: own for host, own in left.items() if own}


def _in_parts(hosts: Mapping[str, list[str]]) -> Iterator[dict[str, list[str]]]:
    names = list(hosts)
    for start in range(0, len(names), _ASKED_MAX):
        yield {name: hosts[name] for name in names[start : start + _ASKED_MAX]}
