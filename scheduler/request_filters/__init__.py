"""Request filters: edits of the request spec before placement is asked; their base class and loop.

What can be asked of placement (traits, aggregates) rules hosts out where it costs least.
"""

from __future__ import annotations

from collections.abc import Sequence

from oslo_config import cfg

from armillary import exception
from objects.request_spec import RequestLevelParams, RequestSpec
from scheduler import plugin_calls, plugins
from scheduler.facts import Facts

NAMESPACE = "armillary.scheduler.request_filters"


class BaseRequestFilter:
    """Base of all request filters."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf

    def apply(self, spec: RequestSpec, facts: Facts) -> None:
        """Add to ``spec.request_level_params`` what a provider must have; the spec is a copy.

        Raises ``RequestFilterFailed`` when the request cannot be served anywhere.
        """
        raise NotImplementedError


def load_request_filters(conf: cfg.ConfigOpts) -> list[BaseRequestFilter]:
    """Make the request filters of ``[scheduler] request_filters``; raise as ``plugins.load``."""
    return plugins.load(
        NAMESPACE,
        conf.scheduler.request_filters,
        BaseRequestFilter,
        make=lambda each: each(conf),
        option="[scheduler] request_filters",
    )


def apply_all(
    request_filters: Sequence[BaseRequestFilter], spec: RequestSpec, facts: Facts
) -> None:
    """Run the request filters in order; raise ``RequestFilterFailed`` or ``PluginBroke``."""
    if spec.request_level_params is None:
        spec.request_level_params = RequestLevelParams.from_values()
    for each in request_filters:
        try:
            plugin_calls.ask(each, each.apply, spec, facts)
        except plugins.PluginBroke as error:
            if isinstance(error.__cause__, exception.RequestFilterFailed):
                raise error.__cause__ from None
            raise
