"""What a server may hold in placement, by its flavor and image."""

from __future__ import annotations

from collections import Counter

from armillary import exception
from objects.request_spec import RequestSpec
from objects.resource_query import ResourceQuery
from scheduler import resource_query


def ways_to_hold(spec: RequestSpec) -> list[dict[str, int]]:
    """Return the amounts of all providers together, as they are asked for.

    Pinned CPUs may be held in two ways. Nothing for what could not be asked for.
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
