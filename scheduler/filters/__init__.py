"""Filters: yes or no to a host; their base class, and the loop that runs them over all hosts.

An answer depends on the host, the request and the configuration alone: no network, no database, no
clock, no dice. For one request it may change with the instances chosen so far only on their hosts,
unless the request belongs to a server group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from oslo_config import cfg

from objects.allocation_candidates import AllocationRequest
from objects.request_spec import RequestSpec, SchedulerLimits
from scheduler import plugin_attributes, plugin_calls, plugins
from scheduler.filters import available
from scheduler.host_state import HostState
from scheduler.host_table import HostTable, Mask
from scheduler.reasons import EXPLAINED_MAX, Reasons, grouped
from scheduler.usage import Positions

__all__ = ["BaseHostFilter", "FilterChain", "Mask", "load_filters", "per_distinct"]

NAMESPACE = "armillary.scheduler.filters"
_OPTION = "[filter_scheduler] enabled_filters"

_TRUTHS = bool | np.bool_ | int  # made once: the question is asked for each host

T = TypeVar("T")

Report = Callable[[str, int, int, Reasons], None]
"""Takes a filter's name, hosts before it, hosts it removed, and why, as far as it was asked."""


class BaseHostFilter:
    """Base of all filters; a filter needs ``host_passes`` only."""

    run_filter_once_per_request: ClassVar[bool] = False
    """True when the answer does not depend on what runs on the host: it is asked for the first
    instance of a request only."""

    RUN_ON_REBUILD: ClassVar[bool] = False
    """True when an instance that stays on its host with another image has to pass: the answer does
    not depend on what is free. Filters without it are not asked then."""

    reason_columns: ClassVar[tuple[str, ...] | None] = None
    """The columns of numbers and truth values that, with the request, decide what ``explain`` says:
    hosts with equal ones have the same reason, and one of them is asked. Empty: one reason for all.
    None: whatever; as many hosts are asked as ``[scheduler] trace_explained_hosts_max`` allows."""

    judges_apart: ClassVar[bool] = False
    """True when in a server group, too, a choice changes the answer on its own host only. Where all
    filters and weighers say so, other hosts are not asked again."""

    host_attributes: ClassVar[tuple[str, ...]] = ()
    """The attributes of ``HostState`` that it reads, but for those that requests name themselves. A
    scheduler does not start with one that nobody declares."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf

    def is_apart(self, spec: RequestSpec) -> bool:
        """Tell whether a choice changes the answer on its own host only, for a request."""
        return self.judges_apart or spec.instance_group is None

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        """Tell whether one more instance of the request may go to a host."""
        raise NotImplementedError

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> Mask:
        """Answer ``host_passes`` for all hosts at once; by default host by host."""
        return np.fromiter(
            (truth(self.host_passes(host, spec)) for host in hosts), np.bool_, len(hosts)
        )

    def explain(self, host_state: HostState, spec: RequestSpec) -> str | None:
        """Say why a host does not pass, without its name; None says nothing."""
        return None

    def candidate_passes(
        self, host_state: HostState, allocation_request: AllocationRequest, spec: RequestSpec
    ) -> bool:
        """Tell whether the instance may be placed by one of the ways that placement offers.

        ``allocation_request`` is what would be claimed: provider -> "resources" -> class -> amount.
        Asked about hosts that pass, where some are offered in several ways or with other providers;
        a host of which no candidate is left does not pass.
        """
        return True

    def zone_lacks(self, attributes: Mapping[str, Any], spec: RequestSpec) -> str | None:
        """Say why no host of another zone can pass; None when some may, or that is not known.

        ``attributes`` are what all hosts of the zone have together, by the rules of
        ``objects.host_attributes``: a sum, the greatest value, a set in which null stands for hosts
        that do not report it. What is missing is not known. Only the request and these may count,
        as options and aggregates of the other zone may be others.
        """
        return None

    def limits(self, host_state: HostState, spec: RequestSpec) -> dict[str, Any]:
        """Return what the chosen host's agent has to keep to when it claims, by default nothing.

        The keys are fields of ``SchedulerLimits``. Asked only about hosts that passed.
        """
        return {}


class FilterChain:
    """Filters in their order."""

    def __init__(
        self, filters: Sequence[BaseHostFilter], *, explained_max: int = EXPLAINED_MAX
    ) -> None:
        self.filters = filters
        self._explained_max = explained_max
        self.repeated = [f for f in filters if not f.run_filter_once_per_request]
        self.names = [type(f).__name__ for f in filters]
        self._limiting = [f for f in filters if _has_limits(f)]

    def run(self, hosts: HostTable, spec: RequestSpec, report: Report) -> HostTable:
        """Return the hosts that pass all filters; stop at the first that leaves none."""
        for each in self.filters:
            before = len(hosts)
            if before == 0:
                break
            mask = mask_of(each, hosts, spec)
            kept = np.flatnonzero(mask)
            reasons: Reasons = []
            if len(kept) < before:
                reasons = reasons_of(
                    each, hosts, np.flatnonzero(~mask), spec, explained_max=self._explained_max
                )
                hosts = hosts.take(kept)
            report(type(each).__name__, before, before - len(kept), reasons)
        return hosts

    def for_rebuild(self) -> FilterChain:
        """Return those filters that an instance has to pass which stays where it is."""
        return FilterChain(
            [each for each in self.filters if each.RUN_ON_REBUILD],
            explained_max=self._explained_max,
        )

    def limits_of(self, host_state: HostState, spec: RequestSpec) -> SchedulerLimits | None:
        """Return the limits that the filters set for a host; of several for one thing the least.

        None when no filter sets any, or none was asked because the host is forced. Raises
        ``PluginBroke`` for limits that are none.
        """
        if spec.is_forced:
            return None
        found: dict[str, Any] = {}
        for each in self._limiting:
            for name, limit in _limits_of(each, host_state, spec).items():
                has_less = name in found and isinstance(limit, int) and found[name] < limit
                if limit is not None and not has_less:
                    found[name] = limit
        return SchedulerLimits.from_values(**found) if found else None


def load_filters(conf: cfg.ConfigOpts) -> FilterChain:
    """Make the filters of ``[filter_scheduler] enabled_filters``; raise as ``plugins.load``.

    Raises ``ConfigurationError``, too, when one relies on what nobody knows of hosts.
    """
    options = conf.filter_scheduler
    found = plugins.load(
        NAMESPACE,
        available.resolve(options.enabled_filters, options.available_filters, BaseHostFilter),
        BaseHostFilter,
        make=lambda each: each(conf),
        option=_OPTION,
    )
    plugin_attributes.check(found, _OPTION)
    return FilterChain(found, explained_max=conf.scheduler.trace_explained_hosts_max)


def mask_of(each: BaseHostFilter, hosts: HostTable, spec: RequestSpec) -> Mask:
    """Return a filter's answer for all hosts; raise ``PluginBroke`` when it has none."""
    mask = plugin_calls.ask(each, lambda: np.asarray(each.host_mask(hosts, spec)))
    if mask.shape != (len(hosts),):
        raise plugins.PluginBroke(each, f"host_mask gave {mask.shape} for {len(hosts)} hosts")
    if mask.dtype.kind not in "biu" and len(mask):
        raise plugins.PluginBroke(each, f"host_mask gave {mask.dtype} for truth values")
    mask = mask.astype(np.bool_)
    return _with_candidates(each, hosts, mask, spec)


def passes(each: BaseHostFilter, host_state: HostState, spec: RequestSpec) -> bool:
    """Return a filter's answer for one host; raise ``PluginBroke`` when it has none."""
    is_in = plugin_calls.ask(each, lambda: truth(each.host_passes(host_state, spec)))
    return is_in and (
        not _has_candidates(each, host_state.table) or _keeps_a_candidate(each, host_state, spec)
    )


def explain(each: BaseHostFilter, host_state: HostState, spec: RequestSpec) -> str | None:
    """Return a filter's reason; raise ``PluginBroke`` when it cannot say."""
    reason = plugin_calls.ask(each, each.explain, host_state, spec)
    if reason is not None and not isinstance(reason, str):
        raise plugins.PluginBroke(each, f"explain gave {type(reason).__name__}, not a text")
    return reason


def truth(answer: object) -> bool:
    """Return what ``host_passes`` says. Raises ``TypeError`` for what is no truth value."""
    if isinstance(answer, _TRUTHS):
        return bool(answer)
    raise TypeError(f"host_passes gave {answer!r}, neither True nor False")


def _with_candidates(each: BaseHostFilter, hosts: HostTable, mask: Mask, spec: RequestSpec) -> Mask:
    """Return the mask without the hosts of which a filter keeps no candidate."""
    if not _has_candidates(each, hosts):
        return mask
    kept = mask.copy()
    for position in np.flatnonzero(mask).tolist():
        kept[position] = _keeps_a_candidate(each, hosts[position], spec)
    return kept


def _has_candidates(each: BaseHostFilter, hosts: HostTable) -> bool:
    is_asked = type(each).candidate_passes is not BaseHostFilter.candidate_passes
    return is_asked and hosts.has_several_candidates


def _keeps_a_candidate(each: BaseHostFilter, host_state: HostState, spec: RequestSpec) -> bool:
    return plugin_calls.ask(
        each,
        host_state.table.prune,
        host_state.position,
        type(each).__name__,
        lambda allocations: bool(each.candidate_passes(host_state, allocations, spec)),
    )


def _has_limits(each: BaseHostFilter) -> bool:
    return type(each).limits is not BaseHostFilter.limits


def _limits_of(each: BaseHostFilter, host_state: HostState, spec: RequestSpec) -> dict[str, Any]:
    def ask() -> dict[str, Any]:
        limits = dict(each.limits(host_state, spec))
        SchedulerLimits.from_values(**limits)  # refuses values that are none
        return limits

    limits = plugin_calls.ask(each, ask)
    if unknown := limits.keys() - SchedulerLimits.fields:
        raise plugins.PluginBroke(each, f"there is no limit named {min(map(str, unknown))}")
    return limits


def reasons_of(
    each: BaseHostFilter,
    hosts: HostTable,
    removed: Positions,
    spec: RequestSpec,
    *,
    explained_max: int,
) -> Reasons:
    """Return why a filter removes the hosts at some positions; raise as ``explain``."""
    return grouped(
        lambda host: explain(each, host, spec),
        hosts,
        removed,
        columns=each.reason_columns,
        explained_max=explained_max,
    )


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
