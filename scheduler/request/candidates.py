"""Placement queries for a request, their joined answers, and the nearest misses."""

import functools
import logging
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext
from objects.allocations.allocation_candidates import AllocationCandidates
from objects.allocations.resource_query import ResourceQuery
from objects.request_spec import RequestSpec
from objects.traces.decision_trace import RuledOut
from placement.interface import PlacementAPI
from scheduler.explain.trace import NearestMiss
from scheduler.hosts.store.host_store import HostStore
from scheduler.request import resource_query

LOG = logging.getLogger(__name__)

_THE_HOST = "the host that was asked for"


def get_candidates(
    conf: cfg.ConfigOpts,
    placement: PlacementAPI,
    context: RequestContext,
    spec: RequestSpec,
    host_store: HostStore,
) -> AllocationCandidates:
    """Return the candidates for a request, merged into one response.

    Raises ``RequestFilterFailed`` if the request cannot be expressed as a query or names an unknown
    host, and ``InvalidResourceQuery``.
    """
    trait = resource_query.membership_trait(spec)
    answers = [
        of_members(_ask(placement, context, query), trait)
        for query in _queries(conf, spec, host_store)
    ]
    return functools.reduce(join, answers)


def of_members(found: AllocationCandidates, trait: str) -> AllocationCandidates:
    """Return an answer that counts only the providers with a trait.

    The others are not hosts, but pools, shared storage, or nodes of other services. For a claim
    they are hosts and the pools of other kinds.
    """
    others = sum(int(rule["count"]) for rule in found.ruled_out if rule["name"] == trait)
    if not others:
        return found
    is_about_others = any(lack["name"] == trait for lack in found.lacks)
    return found.with_values(
        providers_total=found.providers_total - others,
        ruled_out=[rule for rule in found.ruled_out if rule["name"] != trait],
        lacks=[] if is_about_others else found.lacks,
    )


def _queries(conf: cfg.ConfigOpts, spec: RequestSpec, host_store: HostStore) -> list[ResourceQuery]:
    """Return the placement queries for a request. Raises ``RequestFilterFailed``.

    The second, for a request with dedicated CPUs only, is for hosts without a separate inventory of
    these.
    """
    nodes = nodes_named(spec, host_store)
    in_tree = next(iter(nodes)) if nodes is not None and len(nodes) == 1 else None
    limit = conf.scheduler.max_placement_results
    has_devices = conf.filter_scheduler.pci_in_placement
    first, fallback = resource_query.build_both(
        spec, limit=limit, in_tree=in_tree, has_devices=has_devices
    )
    if fallback is None or conf.workarounds.disable_fallback_pcpu_query:
        return [first]
    return [first, fallback]


def _ask(
    placement: PlacementAPI, context: RequestContext, query: ResourceQuery
) -> AllocationCandidates:
    """Return placement's answer; for a single host, ask about all if it may use shared storage."""
    found = placement.get_allocation_candidates(context, query)
    node_uuid = next((group.in_tree for group in query.groups if group.in_tree), None)
    if node_uuid is not None and _may_be_shared(found):
        # Sharing providers, such as shared storage, are outside the host's tree.
        everywhere = [group.with_values(in_tree=None) for group in query.groups]
        wider = _ask(placement, context, query.with_values(groups=everywhere, limit=None))
        if node_uuid in wider.provider_uuids:
            return wider
    for rule in found.ruled_out:
        if rule["kind"] == "in_tree":
            rule["name"] = _THE_HOST
    for lack in found.lacks:
        if lack["kind"] == "in_tree":
            lack["name"] = _THE_HOST
    return found


def _may_be_shared(found: AllocationCandidates) -> bool:
    """Return whether there are no candidates because the tree lacks some resource class."""
    return not found.provider_uuids and any(
        entry["kind"] == "resource" and entry.get("best", 0) <= 0 for entry in found.ruled_out
    )


# Nodes that the request names ------------------------------------------------------------------


def nodes_named(spec: RequestSpec, host_store: HostStore) -> set[str] | None:
    """Return the UUIDs of the nodes that the request allows; None if it names none.

    Applies those rules of ``preselection.preselect`` that name hosts, in the same way. Raises
    ``RequestFilterFailed`` if no such node is known.
    """
    sets = list(_sets(spec, host_store))
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


def _sets(spec: RequestSpec, host_store: HostStore) -> Iterator[set[str]]:
    """Yield the nodes that each rule allows."""
    destination = spec.requested_destination
    if destination and destination.host:
        yield host_store.find_nodes("host", [destination.host])
    if destination and destination.node:
        yield host_store.find_nodes("nodename", [destination.node])
    if destination and destination.node_uuid:
        yield set(host_store.rows_of([destination.node_uuid]))
    if spec.force_hosts:
        yield host_store.find_nodes("host", spec.force_hosts, any_case=True)
    if spec.force_nodes:
        yield host_store.find_nodes("nodename", spec.force_nodes)


def _names(spec: RequestSpec) -> Iterator[str]:
    destination = spec.requested_destination
    hosts = [*spec.force_hosts, *([destination.host] if destination and destination.host else [])]
    nodes = [*spec.force_nodes, *([destination.node] if destination and destination.node else [])]
    if destination and destination.node_uuid:
        nodes.append(destination.node_uuid)
    for noun, names in (("host", hosts), ("node", nodes)):
        if names:
            yield f"{noun} {' or '.join(dict.fromkeys(names))}"


# Misses -----------------------------------------------------------------------------------------


def nearest_misses(
    conf: cfg.ConfigOpts,
    placement: PlacementAPI,
    context: RequestContext,
    spec: RequestSpec,
    host_store: HostStore,
) -> list[NearestMiss]:
    """Return the providers that nearly fit a request; empty if placement cannot tell.

    This takes placement several times as long as the query itself, so it is meant for explicit
    questions of users, not for every request.
    """
    try:
        query = _queries(conf, spec, host_store)[0]
        found = placement.explain_candidates(context, query)
    except exception.ArmillaryError as error:
        LOG.info("%s: nearest misses are unknown: %s", context.request_id, error)
        return []
    return [
        NearestMiss(group.suffix, miss.provider.name, [lack.to_plain() for lack in miss.lacks])
        for group in found.groups
        for miss in group.nearest
    ]


_COLUMNS = {"total": np.int64, "reserved": np.int64, "used": np.int64, "ratio": np.float64}


def join(first: AllocationCandidates, second: AllocationCandidates) -> AllocationCandidates:
    """Return the candidates of the first response, then those of the second on other hosts.

    The hosts of the second query are worse: ``fallback_from`` says where they begin. The classes
    are those of both; ``amounts`` has one row per candidate, with 0 for classes not requested of
    it. Placement's reasons are those of the response with candidates, or of that which is nearer
    to having some. If both have candidates, only the number of hosts with neither is known.
    """
    known = set(first.provider_uuids)
    kept = [at for at, uuid in enumerate(second.provider_uuids) if uuid not in known]
    if not kept:
        is_first = known or _distance(first) <= _distance(second)
        return first if is_first else second
    if not known:
        return second
    return _Join(first, second, kept).made()


def _distance(answer: AllocationCandidates) -> tuple[int, float]:
    """Return how many resources and traits the nearest host lacks, and by which shares."""
    if not answer.lacks or any(lack["kind"] == "forbidden_resource" for lack in answer.lacks):
        return sys.maxsize, 0.0
    amounts = [lack for lack in answer.lacks if lack.get("short")]
    return len(answer.lacks), sum(lack["short"] / lack["asked"] for lack in amounts)


def _ruled_out_by_both(
    first: AllocationCandidates, second: AllocationCandidates, hosts: int
) -> list[RuledOut]:
    """Return one entry for the hosts that fit neither query; ``hosts`` fit one of them."""
    refused = [sum(rule["count"] for rule in answer.ruled_out) for answer in (first, second)]
    count = min(first.providers_total - hosts, *refused)
    return [{"kind": "pinned_cpus", "name": "PCPU, VCPU", "count": count}] if count > 0 else []


class _Join:
    """The concatenated columns of both responses."""

    def __init__(
        self, first: AllocationCandidates, second: AllocationCandidates, kept: list[int]
    ) -> None:
        self._first, self._second, self._kept = first, second, kept
        self._classes = list(dict.fromkeys([*first.resource_classes, *second.resource_classes]))

    def made(self) -> AllocationCandidates:
        first, second, kept = self._first, self._second, self._kept
        every = list(range(len(first.provider_uuids)))
        parts = [_Filled(first, every), _Filled(second, kept)]
        columns = {
            name: np.concatenate(
                [self._spread(name, first, every), self._spread(name, second, kept)]
            )
            for name in _COLUMNS
        }
        joined = AllocationCandidates.from_values(
            columns,
            provider_uuids=[*first.provider_uuids, *(second.provider_uuids[at] for at in kept)],
            resource_classes=self._classes,
            amounts=np.concatenate([self._amounts(first, every), self._amounts(second, kept)]),
            providers_total=first.providers_total,
            ruled_out=_ruled_out_by_both(
                first, second, len(set(first.provider_uuids)) + self._hosts_of_second()
            ),
            templates=[*parts[0].templates, *parts[1].templates],
            template_of=np.concatenate(
                [parts[0].template_of, parts[1].template_of + len(parts[0].templates)]
            ),
            slots=np.concatenate([parts[0].slots, parts[1].slots + len(parts[0].slot_uuids)]),
            slot_uuids=[*parts[0].slot_uuids, *parts[1].slot_uuids],
        )
        joined.fallback_from = len(every)
        return joined

    def _hosts_of_second(self) -> int:
        return len({self._second.provider_uuids[at] for at in self._kept})

    def _amounts(self, answer: AllocationCandidates, rows: list[int]) -> np.ndarray:
        made = np.zeros((len(rows), len(self._classes)), np.int64)
        made[:, self._places(answer)] = answer.amounts
        return made

    def _spread(self, name: str, answer: AllocationCandidates, rows: list[int]) -> np.ndarray:
        made = np.zeros((len(rows), len(self._classes)), _COLUMNS[name])
        made[:, self._places(answer)] = getattr(answer, name)[rows]
        return made

    def _places(self, answer: AllocationCandidates) -> list[int]:
        return [self._classes.index(name) for name in answer.resource_classes]


class _Filled:
    """Some candidates of a response in template form, also of a response without templates."""

    def __init__(self, answer: AllocationCandidates, rows: list[int]) -> None:
        if answer.is_flat:
            self.templates: list[Any] = [
                [dict(zip(answer.resource_classes, answer.amounts.tolist(), strict=True))]
            ]
            self.template_of = np.zeros(len(rows), np.int64)
            self.slot_uuids = [answer.provider_uuids[at] for at in rows]
            self.slots = np.arange(len(rows))
            return
        assert answer.template_of is not None
        assert answer.slots is not None
        sizes = np.array([len(template) for template in answer.templates])[answer.template_of]
        ends = np.cumsum(sizes)
        shares = [np.arange(ends[at] - sizes[at], ends[at]) for at in rows]
        self.templates = answer.templates
        self.template_of = answer.template_of[rows]
        self.slot_uuids = answer.slot_uuids
        self.slots = answer.slots[np.concatenate(shares)]
