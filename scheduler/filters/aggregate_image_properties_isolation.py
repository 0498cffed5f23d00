"""Reserve aggregates for images with certain properties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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

    With ``[filter_scheduler] aggregate_image_properties_isolation_namespace`` only keys count that
    begin with it and ``aggregate_image_properties_isolation_separator``. The image's property has
    the same long name; elsewhere this option is known to switch the filter off, as no image there
    may have such a property.
    """

    run_filter_once_per_request = True
    RUN_ON_REBUILD = True

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return _contradiction(host_state.aggregates, self._properties(spec)) is None

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        properties = self._properties(spec)
        relevant = [
            each for each in hosts.facts.aggregates if properties.keys() & each.metadata.keys()
        ]
        return aggregate_metadata.per_membership(
            hosts, relevant, lambda found: _contradiction(found, properties) is None
        )

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        key = str(_contradiction(host_state.aggregates, self._properties(spec)))
        values = ", ".join(sorted(aggregate_metadata.words(host_state.aggregates, key)))
        return f"its aggregates are for images whose {key} is {values}"

    def _properties(self, spec: RequestSpec) -> dict[str, str]:
        """Return what the image says of itself; a zone in its properties is not our business."""
        properties = {} if spec.image is None else spec.image.properties
        prefix = self._prefix
        return {
            key: str(value)
            for key, value in properties.items()
            if value and key != AVAILABILITY_ZONE_KEY and key.startswith(prefix)
        }

    @property
    def _prefix(self) -> str:
        options = self._conf.filter_scheduler
        namespace = options.aggregate_image_properties_isolation_namespace
        separator = options.aggregate_image_properties_isolation_separator
        return f"{namespace}{separator}" if namespace else ""


def _contradiction(aggregates: Iterable[Aggregate], properties: Mapping[str, str]) -> str | None:
    aggregates = list(aggregates)
    for key, value in sorted(properties.items()):
        allowed = aggregate_metadata.words(aggregates, key)
        if allowed and value not in allowed:
            return key
    return None
