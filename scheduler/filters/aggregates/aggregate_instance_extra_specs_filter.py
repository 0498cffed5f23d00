"""Filter that matches flavor extra specs against aggregate metadata.

It is the node selector of Kubernetes (required node affinity): aggregates carry the labels.
"""

from collections.abc import Iterable, Iterator

from objects.aggregate import Aggregate
from objects.extra_specs import extra_spec_operators
from objects.extra_specs.extra_spec_operators import Predicate
from objects.flavor import Flavor
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts import aggregate_metadata
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable

SCOPE = "aggregate_instance_extra_specs"


class AggregateInstanceExtraSpecsFilter(filters.BaseHostFilter):
    """Pass hosts whose aggregate metadata meets every extra spec of the flavor.

    ``aggregate_instance_extra_specs:KEY`` sets a requirement on the metadata ``KEY``: an operator
    with operands (``>= 4``, ``<in> avx``, ``<or> a <or> b``), or the exact text. At least one value
    of the host's aggregates, each split at commas, must meet it; a host without the key fails. A
    key without a scope means the same, so use scopes if flavors have extra specs for other
    purposes. Keys with another scope are ignored.
    """

    run_filter_once_per_request = True

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        keys = {key for key, _question in _demands(spec.flavor)}
        relevant = [
            each for each in hosts.cluster_metadata.aggregates if keys & each.metadata.keys()
        ]
        return aggregate_metadata.per_membership(
            hosts, relevant, lambda found: _first_unmet(found, spec.flavor) is None
        )

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        key = _first_unmet(host_state.aggregates, spec.flavor)
        values = sorted(aggregate_metadata.words(host_state.aggregates, str(key)))
        return f"its aggregates' {key} is {', '.join(values) if values else 'not set'}"


def _demands(flavor: Flavor) -> Iterator[tuple[str, Predicate]]:
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
