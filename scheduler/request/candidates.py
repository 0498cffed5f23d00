"""Placement queries for a request, including the fallback query for pinned CPUs."""

from __future__ import annotations

import dataclasses
import logging

from oslo_config import cfg

from armillary.context import RequestContext
from objects.allocation_candidates import AllocationCandidates
from objects.request_spec import RequestSpec
from objects.resource_query import ResourceQuery
from placement.rpcapi import PlacementAPI
from scheduler.hosts.host_store import HostStore
from scheduler.request import named_nodes, resource_query
from scheduler.request.merged_candidates import join

LOG = logging.getLogger(__name__)

_THE_HOST = "the host that was asked for"


@dataclasses.dataclass(frozen=True)
class Questions:
    """The placement queries of a request; equal ones have the same answer.

    ``fallback`` is for hosts without a separate inventory of dedicated CPUs; None unless the
    request needs dedicated CPUs.
    """

    first: ResourceQuery
    fallback: ResourceQuery | None


def get_candidates(
    conf: cfg.ConfigOpts,
    placement: PlacementAPI,
    context: RequestContext,
    spec: RequestSpec,
    fleet: HostStore,
) -> AllocationCandidates:
    """Return the candidates for a request, merged into one response.

    Raises ``RequestFilterFailed`` if the request cannot be expressed as a query or names an unknown
    host, and ``InvalidResourceQuery``.
    """
    return ask(placement, context, questions(conf, spec, fleet))


def questions(conf: cfg.ConfigOpts, spec: RequestSpec, fleet: HostStore) -> Questions:
    """Return the placement queries for a request. Raises ``RequestFilterFailed``."""
    nodes = named_nodes.nodes_named(spec, fleet)
    in_tree = next(iter(nodes)) if nodes is not None and len(nodes) == 1 else None
    limit = conf.scheduler.max_placement_results
    has_devices = conf.filter_scheduler.pci_in_placement
    first, fallback = resource_query.build_both(
        spec, limit=limit, in_tree=in_tree, has_devices=has_devices
    )
    return Questions(first, None if conf.workarounds.disable_fallback_pcpu_query else fallback)


def ask(placement: PlacementAPI, context: RequestContext, asked: Questions) -> AllocationCandidates:
    """Return placement's response, merged with the fallback's. Raises ``InvalidResourceQuery``."""
    found = _ask(placement, context, asked.first)
    if asked.fallback is None:
        return found
    return join(found, _ask(placement, context, asked.fallback))


def _ask(
    placement: PlacementAPI, context: RequestContext, query: ResourceQuery
) -> AllocationCandidates:
    found = placement.get_allocation_candidates(context, query)
    node_uuid = next((group.in_tree for group in query.groups if group.in_tree), None)
    if node_uuid is not None and _may_be_lent(found):
        # Sharing providers, such as shared storage, are outside the host's tree.
        everywhere = [group.with_values(in_tree=None) for group in query.groups]
        wider = placement.get_allocation_candidates(
            context, query.with_values(groups=everywhere, limit=None)
        )
        if node_uuid in wider.provider_uuids:
            return wider
    for entry in found.ruled_out:
        if entry["kind"] == "in_tree":
            entry["name"] = _THE_HOST
    return found


def _may_be_lent(found: AllocationCandidates) -> bool:
    """Return whether there are no candidates because the tree lacks some resource class."""
    return not found.provider_uuids and any(
        entry["kind"] == "resource" and entry.get("best", 0) <= 0 for entry in found.ruled_out
    )
