"""Requirements of a request that no enabled filter reads, and that have no effect therefore."""

from collections.abc import Collection, Iterator

from objects.extra_specs import host_query
from objects.request_spec import RequestSpec
from scheduler.filters.affinity import different_host_filter, same_host_filter
from scheduler.filters.affinity.simple_cidr_affinity_filter import ADDRESS_HINT, NETWORK_HINT
from scheduler.filters.aggregates.aggregate_instance_extra_specs_filter import SCOPE
from scheduler.filters.trusted_filter import KEY

_READER_OF_HINT = {
    same_host_filter.HINT: "SameHostFilter",
    different_host_filter.HINT: "DifferentHostFilter",
    ADDRESS_HINT: "SimpleCIDRAffinityFilter",
    host_query.HINT: "JsonFilter",
}
_KNOWN_HINTS = {"group", NETWORK_HINT, *_READER_OF_HINT}
_NAME_LENGTH_MAX = 60
_NAMED_MAX = 5
_READER_OF_SCOPE = {
    "capabilities:": "ComputeCapabilitiesFilter",
    f"{SCOPE}:": "AggregateInstanceExtraSpecsFilter",
    KEY: "TrustedFilter",
}
"""Key of extra specs, or its beginning -> the filter that reads it."""


def notes(spec: RequestSpec, enabled: Collection[str]) -> list[str]:
    """Return a sentence for each property of the request that no enabled filter may read."""
    unread = [
        f"{what} is not checked: {reader} is not enabled in the scheduler."
        for what, reader in dict.fromkeys(_asked(spec))
        if reader not in enabled
    ]
    unknown = sorted(spec.scheduler_hints.keys() - _KNOWN_HINTS)
    if unknown:
        names = ", ".join(name[:_NAME_LENGTH_MAX] for name in unknown[:_NAMED_MAX])
        unread.append(f"Only a plugin could read these scheduler hints: {names}.")
    return unread


def _asked(spec: RequestSpec) -> Iterator[tuple[str, str]]:
    """Yield what the request asks for, and the filter that reads it."""
    if spec.numa_topology is not None:
        yield "The placement of CPUs and memory on NUMA cells", "NUMATopologyFilter"
    if spec.pci_requests:
        yield "The choice of PCI devices", "PciPassthroughFilter"
    for name, reader in _READER_OF_HINT.items():
        if spec.hint(name):
            yield f"The scheduler hint {name}", reader
    for key in spec.flavor.extra_specs:
        for beginning, reader in _READER_OF_SCOPE.items():
            if key.startswith(beginning):
                yield f"The extra spec {beginning.rstrip(':')}", reader
