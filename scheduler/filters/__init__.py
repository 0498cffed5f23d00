"""Filters: yes or no to a host; their base class, and the loop that runs them over all hosts.

An answer depends on the host, the request and the configuration alone: no network, no database, no
clock, no dice. For one request it may change with the instances chosen so far only on their hosts,
unless the request belongs to a server group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from oslo_config import cfg

from objects.request_spec import RequestSpec
from scheduler import plugins
from scheduler.host_state import HostState
from scheduler.host_table import HostTable, Mask

__all__ = ["BaseHostFilter", "FilterChain", "Mask", "load_filters", "per_distinct"]

NAMESPACE = "armillary.scheduler.filters"

T = TypeVar("T")

Report = Callable[[str, int, int, str | None], None]
"""Takes a filter's name, hosts before it, hosts it removed, and the reason of one of these."""


class BaseHostFilter:
    """Base of all filters; a filter needs ``host_passes`` only."""

    run_filter_once_per_request: ClassVar[bool] = False
    """True when the answer does not depend on what runs on the host: it is asked for the first
    instance of a request only."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        """Tell whether one more instance of the request may go to a host."""
        raise NotImplementedError

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> Mask:
        """Answer ``host_passes`` for all hosts at once; by default host by host."""
        return np.fromiter(
            (bool(self.host_passes(host, spec)) for host in hosts), np.bool_, len(hosts)
        )

    def explain(self, host_state: HostState, spec: RequestSpec) -> str | None:
        """Say why a host does not pass, without its name; None says nothing."""
        return None


class FilterChain:
    """Filters in their order."""

    def __init__(self, filters: Sequence[BaseHostFilter]) -> None:
        self._filters = filters
        self.repeated = [f for f in filters if not f.run_filter_once_per_request]
        self.names = [type(f).__name__ for f in filters]

    def run(self, hosts: HostTable, spec: RequestSpec, report: Report) -> HostTable:
        """Return the hosts that pass all filters; stop at the first that leaves none."""
        for each in self._filters:
            before = len(hosts)
            if before == 0:
                break
            mask = mask_of(each, hosts, spec)
            kept = np.flatnonzero(mask)
            reason = None
            if len(kept) < before:
                reason = explain(each, hosts[int(np.argmin(mask))], spec)
                hosts = hosts.take(kept)
            report(type(each).__name__, before, before - len(kept), reason)
        return hosts


def load_filters(conf: cfg.ConfigOpts) -> FilterChain:
    """Make the filters of ``[filter_scheduler] enabled_filters``; raise as ``plugins.load``."""
    return FilterChain(
        plugins.load(
            NAMESPACE,
            conf.filter_scheduler.enabled_filters,
            BaseHostFilter,
            make=lambda each: each(conf),
            option="[filter_scheduler] enabled_filters",
        )
    )


def mask_of(each: BaseHostFilter, hosts: HostTable, spec: RequestSpec) -> Mask:
    """Return a filter's answer for all hosts; raise ``PluginBroke`` when it has none."""
    try:
        mask = np.asarray(each.host_mask(hosts, spec), dtype=np.bool_)
    except Exception as error:
        raise plugins.PluginBroke(each, error) from error
    if mask.shape != (len(hosts),):
        raise plugins.PluginBroke(each, f"host_mask gave {mask.shape} for {len(hosts)} hosts")
    return mask


def passes(each: BaseHostFilter, host_state: HostState, spec: RequestSpec) -> bool:
    """Return a filter's answer for one host; raise ``PluginBroke`` when it has none."""
    try:
        return bool(each.host_passes(host_state, spec))
    except Exception as error:
        raise plugins.PluginBroke(each, error) from error


def explain(each: BaseHostFilter, host_state: HostState, spec: RequestSpec) -> str | None:
    """Return a filter's reason; raise ``PluginBroke`` when it cannot say."""
    try:
        return each.explain(host_state, spec)
    except Exception as error:
        raise plugins.PluginBroke(each, error) from error


def per_distinct(column: Any, question: Callable[[T], bool]) -> Mask:
    """Answer a question for each value of a column, asking only once about each distinct one.

    ``column`` is an array, or a list whose equal values are mostly the same object, as those are
    that drivers report.
    """
    if isinstance(column, np.ndarray):
        values, where = np.unique(column, return_inverse=True)
        answers = np.fromiter((question(value) for value in values.tolist()), np.bool_, len(values))
        found: Mask = answers[where]
        return found
    known: dict[int, bool] = {}
    mask = np.empty(len(column), dtype=np.bool_)
    for position, value in enumerate(column):
        answer = known.get(id(value))
        if answer is None:
            answer = known[id(value)] = question(value)
        mask[position] = answer
    return mask
