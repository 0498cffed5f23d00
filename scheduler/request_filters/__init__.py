"""Request filters: edits of the request spec before placement is queried. Base class and loop.

Requirements that placement can check (traits, aggregates) exclude hosts at the lowest cost.
"""

from collections.abc import Sequence

from oslo_config import cfg

from armillary import exception
from objects.request_spec import RequestLevelParams, RequestSpec
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.plugins import loading, plugin_calls

NAMESPACE = "armillary.scheduler.request_filters"


class BaseRequestFilter:
    """Base class of all request filters."""

    _conf: cfg.ConfigOpts

    def __init__(self, conf: cfg.ConfigOpts | None = None) -> None:
        """Keep the configuration, unless ``loading.construct`` has set it."""
        if conf is not None:
            self._conf = conf

    def apply(self, spec: RequestSpec, cluster_metadata: ClusterMetadata) -> None:
        """Add provider requirements to ``spec.request_level_params``; the spec is a copy.

        Raises ``RequestFilterFailed`` if no host can serve the request.
        """
        raise NotImplementedError


def load_request_filters(conf: cfg.ConfigOpts) -> list[BaseRequestFilter]:
    """Create the request filters of ``[scheduler] request_filters``; raise as ``plugins.load``."""
    return loading.load(
        loading.entry_points(NAMESPACE),
        conf.scheduler.request_filters,
        BaseRequestFilter,
        make=lambda each: loading.construct(each, conf),
        option="[scheduler] request_filters",
    )


def apply_all(
    request_filters: Sequence[BaseRequestFilter],
    spec: RequestSpec,
    cluster_metadata: ClusterMetadata,
) -> None:
    """Run the request filters in order; raise ``RequestFilterFailed`` or ``PluginFailed``."""
    if spec.request_level_params is None:
        spec.request_level_params = RequestLevelParams.from_values()
    for each in request_filters:
        try:
            plugin_calls.ask(each, each.apply, spec, cluster_metadata)
        except loading.PluginFailed as error:
            if isinstance(error.__cause__, exception.RequestFilterFailed):
                raise error.__cause__ from None
            raise
