"""Match what a flavor demands with the metadata of the host's aggregates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from objects import extra_spec_operators
from objects.aggregate import Aggregate
from objects.extra_spec_operators import Question
from objects.flavor import Flavor
from objects.request_spec import RequestSpec
from scheduler import aggregate_metadata, filters
from scheduler.host_state import HostState
from scheduler.host_table import HostTable

SCOPE = "aggregate_instance_extra_specs"


class AggregateInstanceExtraSpecsFilter(filters.BaseHostFilter):
    """Pass hosts whose aggregates' metadata meets each of the flavor's extra specs.

    ``aggregate_instance_extra_specs:KEY`` demands something of the metadata ``KEY``: an operator
    with operands (``>= 4``, ``<in> avx``, ``<or> a <or> b``), or the text itself. One of the values
    that the host's aggregates have, each split at commas, must do; a host without any fails. A key
    without a scope means the same, so use scopes when flavors have extra specs that are meant for
    others; keys with another scope are ignored.
    """

    run_filter_once_per_request = True

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return _first_unmet(host_state.aggregates, spec.flavor) is None

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        keys = {key for key, _question in _demands(spec.flavor)}
        relevant = [each for each in hosts.facts.aggregates if keys & each.metadata.keys()]
        return aggregate_metadata.per_membership(
            hosts, relevant, lambda found: _first_unmet(found, spec.flavor) is None
        )

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        key = _first_unmet(host_state.aggregates, spec.flavor)
        values = sorted(aggregate_metadata.words(host_state.aggregates, str(key)))
        return f"its aggregates' {key} is {', '.join(values) if values else 'not set'}"


def _demands(flavor: Flavor) -> Iterator[tuple[str, Question]]:
    for key, requirement in sorted(flavor.extra_specs.items()):
        scope, colon, name = key.partition(":")
        if not colon:
            yield key, extra_spec_operators.parse(requirement)
        elif scope == SCOPE:
            yield name, extra_spec_operators.parse(requirement)


def _first_unmet(aggregates: Iterable[Aggregate], flavor: Flavor) -> str | None:
    aggregates = list(aggregates)
    for key, question in _demands(flavor):
        if not any(map(question, aggregate_metadata.words(aggregates, key))):
            return key
    return None
