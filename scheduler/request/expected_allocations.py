"""Allocations that an instance is expected to have in placement, by flavor and image."""

from __future__ import annotations

from collections import Counter

from armillary import exception
from objects.request_spec import RequestSpec
from objects.resource_query import ResourceQuery
from scheduler.request import resource_query


def expected_allocations(spec: RequestSpec) -> list[dict[str, int]]:
    """Return the requested amounts, summed over all providers, one dict per alternative.

    Pinned CPUs have two alternatives. Empty if the request cannot be expressed as a query.
    """
    try:
        queries = resource_query.build_both(spec, limit=0)
    except exception.RequestFilterFailed:
        return []
    return [_amounts(query) for query in queries if query is not None]


def _amounts(query: ResourceQuery) -> dict[str, int]:
    amounts: Counter[str] = Counter()
    for group in query.groups:
        amounts.update(group.resources)
    return dict(amounts)
