"""Hosts of a placement response: looked up in the host store, with placement's usage."""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from objects.allocations.allocation_candidates import AllocationCandidates
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.host_table import Mask
from scheduler.hosts.numa.numa_usage import CellDemand
from scheduler.hosts.store.host_store import HostStore
from scheduler.hosts.store.rows_by_id import NamedIds
from scheduler.hosts.tie_order import TieOrder
from scheduler.hosts.usage import DeriveOf, TreeUsage, Usage


def ledger_for(
    candidates: AllocationCandidates,
    host_store: HostStore,
    order: TieOrder,
    demand: CellDemand | None,
    promised: Mapping[str, Mapping[str, int]],
    derive_of: DeriveOf,
) -> HostLedger:
    """Return the known hosts of placement's response, with the usage that it reports.

    If ``demand`` is given, NUMA and device usage counts that was claimed and is not reported yet.
    ``promised`` are the amounts of unclaimed selections, by node and class: they count as used,
    unless hosts have several candidates. ``derive_of`` says which attributes follow from the usage.
    """
    offers = None if candidates.is_flat else hosts_and_offers(candidates)
    uuids = candidates.provider_uuids if offers is None else list(offers)
    named = _named_ids(candidates)
    request = candidates.request_builder()
    hosts, found = host_store.view(uuids, named, order, counts_demands=demand is not None)
    usage: Usage
    is_fallback: Mask | None = None
    if offers is None:
        usage = Usage.of_candidates(candidates, found, request, derive_of)
    else:
        chosen = [offers[uuids[index]] for index in found.tolist()]
        usage = TreeUsage(candidates, chosen, request, derive_of)
        if candidates.fallback_from is not None:
            is_fallback = np.array([each[0] >= candidates.fallback_from for each in chosen], bool)
    if promised and not usage.has_several_candidates:
        for uuid, position in hosts.positions_of(host_store.rows_of(promised)).items():
            usage.use(position, promised[uuid])
    return HostLedger(hosts, usage, demand, is_fallback)


def hosts_and_offers(candidates: AllocationCandidates) -> dict[str, list[int]]:
    """Return host -> indexes of its candidates, both in placement's order."""
    offers: dict[str, list[int]] = defaultdict(list)
    for index, uuid in enumerate(candidates.provider_uuids):
        offers[uuid].append(index)
    return offers


def _named_ids(candidates: AllocationCandidates) -> NamedIds | None:
    """Return placement's ids of the hosts, one for each candidate; None if it sent none."""
    if not candidates.is_flat or candidates.provider_ids is None or candidates.id_mapping is None:
        return None
    return NamedIds(candidates.provider_ids, candidates.id_mapping)
