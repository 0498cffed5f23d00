"""Ask placement which hosts fit a request: once, and for pinned CPUs once more in another way."""

from __future__ import annotations

import dataclasses
import logging

from oslo_config import cfg

from armillary.context import RequestContext
from objects.allocation_candidates import AllocationCandidates
from objects.request_spec import RequestSpec
from objects.resource_query import ResourceQuery
from placement.rpcapi import PlacementAPI
from scheduler import resource_query, targets
from scheduler.fleet import Fleet
from scheduler.joined_candidates import join

LOG = logging.getLogger(__name__)

_THE_HOST = "the host that was asked for"


@dataclasses.dataclass(frozen=True)
class Questions:
    """What placement is asked; equal ones have the same answer.

    ``fallback`` is for hosts that count no dedicated CPUs apart, None unless such are wanted.
    """

    first: ResourceQuery
    fallback: ResourceQuery | None


def get_candidates(
    conf: cfg.ConfigOpts,
    placement: PlacementAPI,
    context: RequestContext,
    spec: RequestSpec,
    fleet: Fleet,
) -> AllocationCandidates:
    """Return the candidates for a request, all in one answer.

    Raises ``RequestFilterFailed`` for what cannot be asked, or asks for a host that is not known,
    and ``InvalidResourceQuery``.
    """
    return ask(placement, context, questions(conf, spec, fleet))


def questions(conf: cfg.ConfigOpts, spec: RequestSpec, fleet: Fleet) -> Questions:
    """Return what to ask for a request. Raises ``RequestFilterFailed``."""
    nodes = targets.nodes_named(spec, fleet)
    in_tree = next(iter(nodes)) if nodes is not None and len(nodes) == 1 else None
    limit = conf.scheduler.max_placement_results
    has_devices = conf.filter_scheduler.pci_in_placement
    first, fallback = resource_query.build_both(
        spec, limit=limit, in_tree=in_tree, has_devices=has_devices
    )
    return Questions(first, None if conf.workarounds.disable_fallback_pcpu_query else fallback)


def ask(placement: PlacementAPI, context: RequestContext, asked: Questions) -> AllocationCandidates:
    """Return placement's answer, that to the fallback behind it. Raises InvalidResourceQuery."""
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
        # What providers of other trees lend, such as shared storage, is not in the tree.
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
    """Tell whether there is nothing because the tree has nothing of some class, or no more."""
    return not found.provider_uuids and any(
        entry["kind"] == "resource" and entry.get("best", 0) <= 0 for entry in found.ruled_out
    )
