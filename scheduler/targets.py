"""The nodes that a request names itself: by a forced host or node, or as its destination."""

from __future__ import annotations

from collections.abc import Iterator

from armillary import exception
from objects.request_spec import RequestSpec
from scheduler.fleet import Fleet


def nodes_named(spec: RequestSpec, fleet: Fleet) -> set[str] | None:
    """Return the UUIDs of the nodes that the request leaves to choose from; None if it names none.

    Of the rules in ``preselection`` those that name hosts are applied, in the same way. Raises
    ``RequestFilterFailed`` when no such node is known.
    """
    sets = list(_sets(spec, fleet))
    if not sets:
        return None
    found = set.intersection(*sets)
    if not found:
        names = " and ".join(_names(spec))
        raise exception.RequestFilterFailed(
            f"{names[0].upper()}{names[1:]} was asked for, and the scheduler knows no such host; "
            "it may be misspelt, not started, or in a cell that cannot be reached."
        )
    return found


def _sets(spec: RequestSpec, fleet: Fleet) -> Iterator[set[str]]:
    """Yield the nodes that each of the rules leaves."""
    destination = spec.requested_destination
    if destination and destination.host:
        yield fleet.nodes_called("host", [destination.host])
    if destination and destination.node:
        yield fleet.nodes_called("nodename", [destination.node])
    if destination and destination.node_uuid:
        yield set(fleet.rows_of([destination.node_uuid]))
    if spec.force_hosts:
        yield fleet.nodes_called("host", spec.force_hosts, any_case=True)
    if spec.force_nodes:
        yield fleet.nodes_called("nodename", spec.force_nodes)


def _names(spec: RequestSpec) -> Iterator[str]:
    destination = spec.requested_destination
    hosts = [*spec.force_hosts, *([destination.host] if destination and destination.host else [])]
    nodes = [*spec.force_nodes, *([destination.node] if destination and destination.node else [])]
    if destination and destination.node_uuid:
        nodes.append(destination.node_uuid)
    for noun, names in (("host", hosts), ("node", nodes)):
        if names:
            yield f"{noun} {' or '.join(dict.fromkeys(names))}"
