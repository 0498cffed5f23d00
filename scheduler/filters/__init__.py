"""Filters: reject hosts that cannot run an instance. Base class and filter chain.

A filter's answer depends only on the host, the request and the configuration: no network, database,
clock or random numbers. Within one request, selecting an instance may change the answer only on the
selected host, unless the request belongs to a server group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from oslo_config import cfg

from armillary import exception
from objects.allocations.allocation_candidates import AllocationRequest
from objects.request_spec import RequestSpec, SchedulerLimits
from scheduler.explain.reasons import EXPLAINED_MAX, Reasons, Report, grouped
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable, Mask, Numbers
from scheduler.hosts.usage import Positions
from scheduler.plugins import loading, plugin_calls
from scheduler.plugins.loading import available_filters
from scheduler.request.preselection import preselect

__all__ = ["BaseHostFilter", "FilterChain", "Mask", "load_filters", "per_distinct"]

NAMESPACE = "armillary.scheduler.filters"
_OPTION = "[filter_scheduler] enabled_filters"

_TRUTHS = bool | np.bool_ | int  # built once: it is used for every host

T = TypeVar("T")

Limit = int | Mapping[str, float] | None
"""A limit for the local claim: an amount, or the overcommit ratios of NUMA cells."""

LimitsOf = Callable[[int], SchedulerLimits | None]
"""Maps the position of a host to the limits for the claim there."""


class BaseHostFilter:
    """Base class of all filters; a filter implements ``host_passes``, ``host_mask``, or both."""

    run_filter_once_per_request: ClassVar[bool] = False
    """True if the answer does not depend on what runs on the host: the filter runs only for the
    first instance of a request."""

    RUN_ON_REBUILD: ClassVar[bool] = False
    """True if a rebuild with a new image has to pass this filter: the answer does not depend on
    free resources. Other filters are skipped for rebuilds."""

    reason_columns: ClassVar[tuple[str, ...] | None] = None
    """Numeric and boolean columns that, with the request, determine what ``explain`` returns.
    Hosts with equal values share a reason, so only one of them is explained. An empty tuple means
    one reason for all hosts. None means any host may differ: at most
    ``[scheduler] trace_explained_hosts_max`` hosts are explained."""

    is_host_local: ClassVar[bool] = False
    """True if, even in a server group, selecting a host changes the answer on that host only. If
    all filters and weighers are host-local, other hosts are not evaluated again."""

    host_attributes: ClassVar[tuple[str, ...]] = ()
    """Attributes of ``HostState`` that the filter reads, except those named by requests. The
    scheduler refuses to start if one of them is not declared."""

    _conf: cfg.ConfigOpts

    def __init__(self, conf: cfg.ConfigOpts | None = None) -> None:
        """Keep the configuration, unless ``loading.construct`` has set it."""
        if conf is not None:
            self._conf = conf

    def runs_once_for(self, spec: RequestSpec) -> bool:
        """Return whether a request is answered the same on each host, whatever is placed there.

        Then the filter does not run again for the request after each selection. By default this is
        ``run_filter_once_per_request``.
        """
        return self.run_filter_once_per_request

    def is_host_local_for(self, spec: RequestSpec) -> bool:
        """Return whether, for a request, a selection changes the answer on its own host only."""
        return self.is_host_local or spec.instance_group is None

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        """Return whether a host can take one more instance; by default as ``host_mask`` says."""
        hosts, position = host_state.row
        return bool(np.asarray(self.host_mask(hosts, spec))[position])

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> Mask:
        """Evaluate ``host_passes`` for all hosts in one call; by default host by host."""
        return np.fromiter(
            (truth(self.host_passes(host, spec)) for host in hosts), np.bool_, len(hosts)
        )

    def explain(self, host_state: HostState, spec: RequestSpec) -> str | None:
        """Return why a host does not pass, without its name, or None to give no reason."""
        return None

    def candidate_passes(
        self, host_state: HostState, allocation_request: AllocationRequest, spec: RequestSpec
    ) -> bool:
        """Return whether an allocation request that placement offers is acceptable.

        ``allocation_request`` is what would be claimed: provider -> "resources" -> class -> amount.
        Called for hosts that pass, if some have several candidates or use other providers. A host
        without a remaining candidate does not pass.
        """
        return True

    def alternate_groups(self, hosts: HostTable, spec: RequestSpec) -> Numbers | None:
        """Return a number for each host: an alternate has that of the host it stands in for.

        None, the default, allows any host of the cell. Builds move to alternates without asking the
        filters again, so a rule about several hosts holds only if such a move cannot break it.
        """
        return None

    def zone_lacks(self, attributes: Mapping[str, Any], spec: RequestSpec) -> str | None:
        """Return why no host of another zone can pass; None if some may, or if that is unknown.

        ``attributes`` are the rolled-up attributes of all hosts in the zone, by the rules of
        ``objects.hosts.host_attributes``: a sum, the greatest value, or a set in which null stands
        for hosts that do not report the attribute. A missing key means unknown. The answer may
        depend only on the request and these attributes, because options and aggregates of the other
        zone may differ.
        """
        return None

    def sets_limits_for(self, spec: RequestSpec) -> bool:
        """Return whether ``limits`` may return any for a request; default: yes."""
        return True

    def limits(self, host_state: HostState, spec: RequestSpec) -> Mapping[str, Limit]:
        """Return the limits that the selected host's agent enforces when it claims; default: none.

        The keys are fields of ``SchedulerLimits``. Called only for hosts that passed.
        """
        return {}


class FilterChain:
    """The enabled filters in order."""

    def __init__(
        self, filters: Sequence[BaseHostFilter], *, explained_max: int = EXPLAINED_MAX
    ) -> None:
        self.filters = filters
        self._explained_max = explained_max
        self.names = [type(f).__name__ for f in filters]
        self._limiting = [f for f in filters if type(f).limits is not BaseHostFilter.limits]

    def run(self, ledger: HostLedger, spec: RequestSpec, report: Report) -> HostLedger:
        """Return the hosts that the request allows and that pass all filters.

        Stops at the first filter that leaves none. Forced hosts need to pass only for a rebuild.
        """
        ledger = preselect(ledger, spec, report)
        for each in () if spec.is_forced and not spec.is_rebuild_check else self.filters:
            before = len(ledger)
            if before == 0:
                break
            mask = eligible_mask(each, ledger, spec)
            kept = np.flatnonzero(mask)
            reasons: Reasons = []
            names: list[str] = []
            if len(kept) < before:
                removed = np.flatnonzero(~mask)
                names = ledger.hosts.sample_names(removed)
                reasons = reasons_of(
                    each, ledger.hosts, removed, spec, explained_max=self._explained_max
                )
                ledger = ledger.take(kept)
            report(type(each).__name__, before, before - len(kept), reasons, names)
        return ledger

    def repeated_for(self, spec: RequestSpec) -> list[BaseHostFilter]:
        """Return the filters that run again after each selection for a request."""
        if spec.is_forced:
            return []
        return [
            each for each in self.filters if not plugin_calls.ask(each, each.runs_once_for, spec)
        ]

    def for_rebuild(self) -> FilterChain:
        """Return a chain of only the filters that apply to a rebuild."""
        return FilterChain(
            [each for each in self.filters if each.RUN_ON_REBUILD],
            explained_max=self._explained_max,
        )

    def limits_for(self, spec: RequestSpec, hosts: HostTable) -> LimitsOf:
        """Return what maps the position of a host to the limits for a request's claim there.

        These are None if no filter sets a limit, or if no filter ran because the host is forced.
        Asking for them raises ``PluginFailed`` for invalid limits.
        """
        limiting = [
            each
            for each in self._limiting
            if not spec.is_forced and plugin_calls.ask(each, each.sets_limits_for, spec)
        ]
        if not limiting:
            return unlimited
        return lambda position: _lowest_limits(limiting, hosts[position], spec)


def load_filters(conf: cfg.ConfigOpts) -> FilterChain:
    """Create the filters of ``[filter_scheduler] enabled_filters``; raise as ``plugins.load``.

    Also raises ``ConfigurationError`` if a filter reads a host attribute that is not declared, or
    evaluates no hosts.
    """
    options = conf.filter_scheduler
    found = loading.load(
        available_filters(NAMESPACE, options.available_filters, BaseHostFilter),
        options.enabled_filters,
        BaseHostFilter,
        make=lambda each: loading.construct(each, conf),
        option=_OPTION,
    )
    loading.check_attributes(found, _OPTION)
    for each in found:
        own = type(each)
        if (own.host_passes, own.host_mask) == (
            BaseHostFilter.host_passes, BaseHostFilter.host_mask,
        ):  # fmt: skip
            raise exception.ConfigurationError(
                reason=f"{_OPTION}: {own.__name__} has neither host_passes nor host_mask"
            )
    return FilterChain(found, explained_max=conf.scheduler.trace_explained_hosts_max)


# Checked answers of filters ----------------------------------------------------------------------


def mask_of(each: BaseHostFilter, hosts: HostTable, spec: RequestSpec) -> Mask:
    """Return a filter's mask over all hosts; raise ``PluginFailed`` if it is invalid."""
    mask = plugin_calls.ask(each, lambda: np.asarray(each.host_mask(hosts, spec)))
    if mask.shape != (len(hosts),):
        raise loading.PluginFailed(
            each, f"host_mask returned shape {mask.shape} for {len(hosts)} hosts"
        )
    if mask.dtype.kind not in "biu" and len(mask):
        raise loading.PluginFailed(each, f"host_mask returned {mask.dtype}, expected booleans")
    return mask.astype(np.bool_)


def passes(each: BaseHostFilter, host_state: HostState, spec: RequestSpec) -> bool:
    """Return a filter's answer for one host; raise ``PluginFailed`` if it is invalid."""
    return plugin_calls.ask(each, lambda: truth(each.host_passes(host_state, spec)))


def eligible_mask(each: BaseHostFilter, ledger: HostLedger, spec: RequestSpec) -> Mask:
    """Return a mask of the hosts that pass and have an acceptable candidate; raise as ``passes``.

    Candidates that the filter rejects are removed from the ledger.
    """
    mask = mask_of(each, ledger.hosts, spec)
    if _judges_candidates(each, ledger):
        for position in np.flatnonzero(mask).tolist():
            mask[position] = _keeps_a_candidate(each, ledger, position, spec)
    return mask


def is_eligible(each: BaseHostFilter, ledger: HostLedger, position: int, spec: RequestSpec) -> bool:
    """Evaluate ``eligible_mask`` for one host."""
    return passes(each, ledger.hosts[position], spec) and (
        not _judges_candidates(each, ledger) or _keeps_a_candidate(each, ledger, position, spec)
    )


def explain(each: BaseHostFilter, host_state: HostState, spec: RequestSpec) -> str | None:
    """Return a filter's reason; raise ``PluginFailed`` if ``explain`` fails."""
    reason = plugin_calls.ask(each, each.explain, host_state, spec)
    if reason is not None and not isinstance(reason, str):
        raise loading.PluginFailed(
            each, f"explain returned {type(reason).__name__}, expected str or None"
        )
    return reason


def truth(answer: object) -> bool:
    """Return the answer of ``host_passes`` as a bool. Raises ``TypeError`` for other types."""
    if isinstance(answer, _TRUTHS):
        return bool(answer)
    raise TypeError(f"host_passes returned {answer!r}, expected True or False")


def _judges_candidates(each: BaseHostFilter, ledger: HostLedger) -> bool:
    is_asked = type(each).candidate_passes is not BaseHostFilter.candidate_passes
    return is_asked and ledger.has_several_candidates


def _keeps_a_candidate(
    each: BaseHostFilter, ledger: HostLedger, position: int, spec: RequestSpec
) -> bool:
    host_state = ledger.hosts[position]
    return plugin_calls.ask(
        each,
        ledger.prune,
        position,
        type(each).__name__,
        lambda allocations: bool(each.candidate_passes(host_state, allocations, spec)),
    )


def unlimited(position: int) -> SchedulerLimits | None:
    """Return no limits."""
    return None


def _lowest_limits(
    limiting: Sequence[BaseHostFilter], host_state: HostState, spec: RequestSpec
) -> SchedulerLimits | None:
    """Return the limits of some filters for a host; the lowest wins for each limit."""
    found: dict[str, Limit] = {}
    for each in limiting:
        for name, limit in _limits_of(each, host_state, spec).items():
            former = found.get(name)
            has_less = isinstance(former, int) and isinstance(limit, int) and former < limit
            if limit is not None and not has_less:
                found[name] = limit
    return SchedulerLimits.from_values(found) if found else None


def _limits_of(each: BaseHostFilter, host_state: HostState, spec: RequestSpec) -> dict[str, Limit]:
    def ask() -> dict[str, Limit]:
        limits = dict(each.limits(host_state, spec))
        SchedulerLimits.from_values(limits)  # raises for invalid values
        return limits

    limits = plugin_calls.ask(each, ask)
    if unknown := limits.keys() - SchedulerLimits.fields:
        raise loading.PluginFailed(each, f"limits returned unknown limit {min(map(str, unknown))}")
    return limits


def reasons_of(
    each: BaseHostFilter,
    hosts: HostTable,
    removed: Positions,
    spec: RequestSpec,
    *,
    explained_max: int,
) -> Reasons:
    """Return why a filter removed the hosts at some positions; raise as ``explain``."""
    return grouped(
        lambda host: explain(each, host, spec),
        hosts,
        removed,
        columns=each.reason_columns,
        explained_max=explained_max,
    )


def per_distinct(column: Any, question: Callable[[T], bool]) -> Mask:
    """Evaluate a question for each value of a column, once per distinct value.

    ``column`` is an array, or a list in which equal values are mostly the same object, as in
    driver reports.
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
