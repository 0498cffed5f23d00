"""Which zones need not be asked, since nothing below them can serve a request."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from armillary import exception
from objects.request_spec import RequestSpec
from objects.resource_query import ResourceQuery
from scheduler import plugin_calls, resource_query
from scheduler.filters import BaseHostFilter
from scheduler.zones.capabilities import Capabilities


@dataclasses.dataclass(frozen=True, slots=True)
class Needs:
    """What every host for a request must have, whichever zone it is in.

    ``queries`` are the ways to ask placement for it, one of which has to be met. They ask for what
    flavor and image say, nothing of what request filters, aggregates and options of one zone add.
    """

    spec: RequestSpec
    queries: tuple[ResourceQuery, ...]


def needs_of(spec: RequestSpec) -> Needs:
    """Return what a request needs; nothing is known of one that cannot be read as a question."""
    plain = spec.with_values(request_level_params=None, requested_destination=None)
    try:
        queries = resource_query.build_both(plain, limit=0)
    except (exception.RequestFilterFailed, exception.InvalidResourceQuery):
        return Needs(spec, ())
    return Needs(spec, tuple(query for query in queries if query is not None))


class Pruner:
    """Compares needs with capabilities. Sound: who is ruled out has no host that would pass.

    ``filters`` are those of this zone; each speaks only for zones that run it, too.
    """

    def __init__(self, filters: Sequence[BaseHostFilter]) -> None:
        self._filters = [
            each for each in filters if type(each).zone_lacks is not BaseHostFilter.zone_lacks
        ]

    def why_not(self, capabilities: Capabilities, needs: Needs, profile: str) -> str | None:
        """Say why nothing below a zone can serve the request; None when something may."""
        if not capabilities["hosts"]:
            return "it has no host that is up and enabled"
        if profile not in capabilities["profiles"]:
            return f"no zone there weighs by the profile {profile!r}"
        for each in self._filters:
            if type(each).__name__ in capabilities["filters"]:
                lack: str | None = plugin_calls.ask(
                    each, each.zone_lacks, capabilities["attributes"], needs.spec
                )
                if lack is not None:
                    return lack
        lacks = [next(_lacks(capabilities, query), None) for query in needs.queries]
        return None if not lacks or None in lacks else lacks[0]


def _lacks(capabilities: Capabilities, query: ResourceQuery) -> Iterator[str]:
    """Yield what of a question no provider of a zone can meet."""
    resources: Mapping[str, float] | None = capabilities.get("resources")
    for group in query.groups:
        for name, amount in group.resources.items():
            if resources is not None and resources.get(name, 0) < amount:
                most = resources.get(name, 0)
                yield f"{name}: {amount:,} asked, {most:,} free at most on one provider"
    if "traits" not in capabilities:
        return
    traits = set(capabilities["traits"])
    wanted = [[trait] for trait in query.root_required]
    for any_of in (*wanted, *(some for group in query.groups for some in group.required_traits)):
        if traits.isdisjoint(any_of):
            yield f"no provider has the trait {' or '.join(any_of)}"
