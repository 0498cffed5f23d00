"""Preselection: hosts that a request allows, forces, names or ignores, before any filter runs."""

from collections.abc import Callable, Collection, Iterator

import numpy as np

from objects.request_spec import RequestSpec
from scheduler.explain.reasons import Report
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.host_table import HostTable, Mask

_Rule = tuple[str, str, Callable[[HostTable], Mask]]
"""Name, reason for exclusion, and predicate for the hosts to keep."""


def preselect(ledger: HostLedger, spec: RequestSpec, report: Report) -> HostLedger:
    """Return the hosts that the request allows; report each rule that removes some."""
    for name, reason, rule in _rules(spec):
        ledger = ledger.keep(rule(ledger.hosts), name, reason, report)
    return ledger


def _rules(spec: RequestSpec) -> Iterator[_Rule]:
    """Yield the rules, ordered so that an ignored host loses even if it is forced."""
    destination = spec.requested_destination
    cell_uuid = destination.cell_uuid if destination else None
    if cell_uuid and destination and not destination.allow_cross_cell_move:
        yield "cell", "in another cell", lambda hosts: _equal(hosts.cell_uuid, {cell_uuid})
    else:
        yield "enabled_cells", "in a disabled cell", lambda hosts: _open_to(hosts, cell_uuid)
    if destination and destination.host:
        wanted = {destination.host}
        yield "requested_host", "another host was requested", lambda h: _equal(h.host, wanted)
    if destination and destination.node:
        nodes = {destination.node}
        yield "requested_node", "another node was requested", lambda h: _equal(h.nodename, nodes)
    if destination and destination.node_uuid:
        uuids = {destination.node_uuid}
        yield "requested_node", "another node was requested", lambda h: _equal(h.uuid, uuids)
    if spec.ignore_hosts:
        ignored = {name.lower() for name in spec.ignore_hosts}
        yield "ignore_hosts", "ignored by the request", lambda h: ~_equal(_lower(h.host), ignored)
    if spec.force_hosts:
        forced = {name.lower() for name in spec.force_hosts}
        yield "force_hosts", "another host is forced", lambda h: _equal(_lower(h.host), forced)
    if spec.force_nodes:
        only = set(spec.force_nodes)
        yield "force_nodes", "another node is forced", lambda h: _equal(h.nodename, only)


def _open_to(hosts: HostTable, own_cell: str | None) -> Mask:
    """Return which hosts may get an instance that is in ``own_cell``, or in none yet."""
    enabled: Mask = hosts.cell_enabled
    return enabled if own_cell is None else enabled | _equal(hosts.cell_uuid, {own_cell})


def _equal(names: list[str], wanted: Collection[str]) -> Mask:
    return np.fromiter((name in wanted for name in names), np.bool_, len(names))


def _lower(names: list[str]) -> list[str]:
    return [name.lower() for name in names]
