"""Reserve aggregates for images with certain properties."""

from __future__ import annotations

from collections.abc import Iterable

from objects.aggregate import AVAILABILITY_ZONE_KEY, Aggregate
from objects.request_spec import RequestSpec
from scheduler import aggregate_metadata, filters
from scheduler.host_state import HostState
from scheduler.host_table import HostTable


class AggregateImagePropertiesIsolation(filters.BaseHostFilter):
    """Pass hosts whose aggregates' metadata does not contradict the image's properties.

    For each metadata key that is also a property of the image, the property must be one of the
    values, which have commas between them. An image without the property may use the host all the
    same: this keeps images that say something different away, not those that say nothing.
    """

    run_filter_once_per_request = True

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return _contradiction(host_state.aggregates, spec) is None

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        keys = _properties(spec).keys()
        relevant = [each for each in hosts.facts.aggregates if keys & each.metadata.keys()]
        return aggregate_metadata.per_membership(
            hosts, relevant, lambda found: _contradiction(found, spec) is None
        )

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        key = str(_contradiction(host_state.aggregates, spec))
        values = ", ".join(sorted(aggregate_metadata.words(host_state.aggregates, key)))
        return f"its aggregates are for images whose {key} is {values}"


def _properties(spec: RequestSpec) -> dict[str, str]:
    """Return what the image says of itself; a zone in its properties is none of our business."""
    properties = {} if spec.image is None else spec.image.properties
    return {
        key: str(value)
        for key, value in properties.items()
        if value and key != AVAILABILITY_ZONE_KEY
    }


def _contradiction(aggregates: Iterable[Aggregate], spec: RequestSpec) -> str | None:
    aggregates = list(aggregates)
    for key, value in sorted(_properties(spec).items()):
        allowed = aggregate_metadata.words(aggregates, key)
        if allowed and value not in allowed:
            return key
    return None
