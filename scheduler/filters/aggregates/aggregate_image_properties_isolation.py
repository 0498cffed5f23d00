"""Filter that reserves aggregates for images with certain properties."""

from collections.abc import Iterable, Mapping

from objects.aggregate import AVAILABILITY_ZONE_KEY, Aggregate
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts import aggregate_metadata
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class AggregateImagePropertiesIsolation(filters.BaseHostFilter):
    """Pass hosts whose aggregate metadata does not conflict with the image's properties.

    If a metadata key is also a property of the image, the property must equal one of the
    comma-separated values. An image without the property may still use the host: the filter rejects
    images with a different value, not images without one.

    With ``[filter_scheduler] aggregate_image_properties_isolation_namespace``, only keys that begin
    with the namespace and ``aggregate_image_properties_isolation_separator`` are compared. The
    image property must have the same prefixed name. Some other schedulers do not allow such
    properties on images, so that the option disables the filter there.
    """

    run_filter_once_per_request = True
    RUN_ON_REBUILD = True

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        properties = self._properties(spec)
        relevant = [
            each
            for each in hosts.cluster_metadata.aggregates
            if properties.keys() & each.metadata.keys()
        ]
        return aggregate_metadata.per_membership(
            hosts, relevant, lambda found: _contradiction(found, properties) is None
        )

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        key = str(_contradiction(host_state.aggregates, self._properties(spec)))
        values = ", ".join(sorted(aggregate_metadata.words(host_state.aggregates, key)))
        return f"its aggregates are reserved for images with {key} = {values}"

    def _properties(self, spec: RequestSpec) -> dict[str, str]:
        """Return the image properties to compare; its availability zone is not one of them."""
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
