"""Nearest misses of a placement query without candidates: providers and what they lack."""

from __future__ import annotations

import logging
from typing import Any

from armillary import exception
from armillary.context import RequestContext
from objects.resource_query import ResourceQuery
from placement.rpcapi import PlacementAPI

LOG = logging.getLogger(__name__)


def find(
    placement: PlacementAPI, context: RequestContext, query: ResourceQuery
) -> list[dict[str, Any]]:
    """Return ``DecisionTrace.nearest``; empty if placement cannot tell.

    This takes placement several times as long as the query itself, so it is meant for explicit
    questions of users, not for every request.
    """
    try:
        found = placement.explain_candidates(context, query)
    except exception.ArmillaryError as error:
        LOG.info("%s: nearest misses are unknown: %s", context.request_id, error)
        return []
    return [
        {"suffix": group["suffix"], "host": miss["provider"]["name"], "lacks": miss["lacks"]}
        for group in found["groups"]
        for miss in group["nearest"]
    ]
