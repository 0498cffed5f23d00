"""Nodes that a request names: by a forced host or node, or as its destination."""

from __future__ import annotations

from collections.abc import Iterator

from armillary import exception
from objects.request_spec import RequestSpec
from scheduler.hosts.host_store import HostStore


def nodes_named(spec: RequestSpec, fleet: HostStore) -> set[str] | None:
    """Return the UUIDs of the nodes that the request allows; None if it names none.

    Applies those rules of ``preselection`` that name hosts, in the same way. Raises
    ``RequestFilterFailed`` if no such node is known.
    """
    sets = list(_sets(spec, fleet))
    if not sets:
        return None
    found = set.intersection(*sets)
    if not found:
        names = " and ".join(_names(spec))
        raise exception.RequestFilterFailed(
            f"{names[0].upper()}{names[1:]} was requested, but the scheduler knows no such host; "
            "check its name, that its agent has started, and that its cell can be reached."
        )
    return found


def _sets(spec: RequestSpec, fleet: HostStore) -> Iterator[set[str]]:
    """Yield the nodes that each rule allows."""
    destination = spec.requested_destination
    if destination and destination.host:
        yield fleet.find_nodes("host", [destination.host])
    if destination and destination.node:
        yield fleet.find_nodes("nodename", [destination.node])
    if destination and destination.node_uuid:
        yield set(fleet.rows_of([destination.node_uuid]))
    if spec.force_hosts:
        yield fleet.find_nodes("host", spec.force_hosts, any_case=True)
    if spec.force_nodes:
        yield fleet.find_nodes("nodename", spec.force_nodes)


def _names(spec: RequestSpec) -> Iterator[str]:
    destination = spec.requested_destination
    hosts = [*spec.force_hosts, *([destination.host] if destination and destination.host else [])]
    nodes = [*spec.force_nodes, *([destination.node] if destination and destination.node else [])]
    if destination and destination.node_uuid:
        nodes.append(destination.node_uuid)
    for noun, names in (("host", hosts), ("node", nodes)):
        if names:
            yield f"{noun} {' or '.join(dict.fromkeys(names))}"
