"""Who comes nearest to a request that placement has no candidates for, and what they lack."""

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
    """Return ``DecisionTrace.nearest``; nothing when placement cannot say.

    It takes placement a few times as long as to answer the question itself: this is for people who
    ask, not for every request.
    """
    try:
        found = placement.explain_candidates(context, query)
    except exception.ArmillaryError as error:
        LOG.info("%s: nearest misses are not known: %s", context.request_id, error)
        return []
    return [
        {"suffix": group["suffix"], "host": miss["provider"]["name"], "lacks": miss["lacks"]}
        for group in found["groups"]
        for miss in group["nearest"]
    ]
