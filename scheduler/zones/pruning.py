"""Pruning: skip zones whose capabilities show that they cannot serve a request."""

import dataclasses
from collections.abc import Iterator, Sequence

from armillary import exception
from objects.request_spec import RequestSpec
from objects.resource_query import ResourceQuery
from scheduler.filters import BaseHostFilter
from scheduler.plugins import plugin_calls
from scheduler.request import resource_query
from scheduler.zones.capabilities import Capabilities


@dataclasses.dataclass(frozen=True, slots=True)
class Needs:
    """Requirements that apply to every host for a request, in any zone.

    ``queries`` are the alternative placement queries, one of which must be satisfied. They contain
    the requirements of flavor and image, but nothing that the request filters, aggregates and
    options of a single zone add.
    """

    spec: RequestSpec
    queries: tuple[ResourceQuery, ...]


def needs_of(spec: RequestSpec) -> Needs:
    """Return the needs of a request; no queries if it cannot be expressed as a placement query."""
    plain = spec.with_values(request_level_params=None, requested_destination=None)
    try:
        queries = resource_query.build_both(plain, limit=0)
    except (exception.RequestFilterFailed, exception.InvalidResourceQuery):
        return Needs(spec, ())
    return Needs(spec, tuple(query for query in queries if query is not None))


class Pruner:
    """Compares needs with capabilities. Sound: a pruned zone has no host that would pass.

    ``filters`` are those of this zone; each is applied only to zones that also run it.
    """

    def __init__(self, filters: Sequence[BaseHostFilter]) -> None:
        self._filters = [
            each for each in filters if type(each).zone_lacks is not BaseHostFilter.zone_lacks
        ]

    def why_not(self, capabilities: Capabilities, needs: Needs, profile: str) -> str | None:
        """Return why no zone of a sub-tree can serve the request; None if one may."""
        if not capabilities.hosts:
            return "it has no host that is up and enabled"
        if profile not in capabilities.profiles:
            return f"no zone there uses the weighing profile {profile!r}"
        for each in self._filters:
            if type(each).__name__ in capabilities.filters:
                lack: str | None = plugin_calls.ask(
                    each, each.zone_lacks, capabilities.attributes, needs.spec
                )
                if lack is not None:
                    return lack
        lacks = [next(_lacks(capabilities, query), None) for query in needs.queries]
        return None if not lacks or None in lacks else lacks[0]


def _lacks(capabilities: Capabilities, query: ResourceQuery) -> Iterator[str]:
    """Yield the requirements of a query that no provider of a zone can meet."""
    resources = capabilities.resources
    for group in query.groups:
        for name, amount in group.resources.items():
            if resources is not None and resources.get(name, 0) < amount:
                most = resources.get(name, 0)
                yield f"{name}: {amount:,} requested, at most {most:,} free on one provider"
    if capabilities.traits is None:
        return
    traits = set(capabilities.traits)
    wanted = [[trait] for trait in query.root_required]
    for any_of in (*wanted, *(some for group in query.groups for some in group.required_traits)):
        if traits.isdisjoint(any_of):
            yield f"no provider has the trait {' or '.join(any_of)}"
