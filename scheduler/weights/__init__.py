"""Weighers: score hosts. Base class and loading; ``ranking`` has the weighted sum.

The sign of a weigher's multiplier decides between spreading instances and packing them onto few
hosts (bin packing); the multipliers are options of ``[filter_scheduler]``.

A weigher's answer depends only on the host, the request and the configuration: no network,
database, clock or random numbers. Within one request, selecting an instance may change the answer
only on the selected host, unless the request belongs to a server group.
"""

from __future__ import annotations

import functools
from typing import ClassVar

import numpy as np
from oslo_config import cfg

from armillary import exception
from objects.extra_specs.aggregate_metadata import NUMBER_MAX
from objects.request_spec import RequestSpec
from scheduler.hosts.aggregate_metadata import NumberOverride
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable, Numbers
from scheduler.plugins import loading

NAMESPACE = "armillary.scheduler.weighers"
ALL = frozenset(
    {"all_weighers", "scheduler.weights.all_weighers", "nova.scheduler.weights.all_weighers"}
)
"""Spellings of every entry point in ``[filter_scheduler] weight_classes``. Nova's is accepted so
that its documented settings can be copied."""

__all__ = ["BaseHostWeigher", "Numbers", "load_weighers"]


class BaseHostWeigher:
    """Base class of all weighers; only ``host_weight`` is required.

    A higher weight is better. Weighers must not normalise.
    """

    multiplier_option: ClassVar[str | None] = None
    """Option of ``[filter_scheduler]`` that multiplies the normalised weight, and the key of the
    aggregate metadata that overrides it; None multiplies by 1."""

    multiplier_sign: ClassVar[int] = 1
    """-1 for a weigher whose positive multiplier means "avoid"."""

    minval: ClassVar[float | None] = None
    maxval: ClassVar[float | None] = None
    """Bounds of the scale, if it does not range from the least to the greatest weight of the given
    hosts; a weight outside is clamped."""

    is_steady: ClassVar[bool] = False
    """True if a host's weight does not change as a request's instances are placed."""

    is_host_local: ClassVar[bool] = False
    """True if, even in a server group, selecting a host changes the weight on that host only. If
    all filters and weighers are host-local, other hosts are not evaluated again."""

    host_attributes: ClassVar[tuple[str, ...]] = ()
    """Attributes of ``HostState`` that the weigher reads. The scheduler refuses to start if one of
    them is not declared."""

    _conf: cfg.ConfigOpts

    def __init__(self, conf: cfg.ConfigOpts | None = None) -> None:
        """Keep the configuration, unless ``loading.construct`` has set it."""
        if conf is not None:
            self._conf = conf

    @functools.cached_property
    def _override(self) -> NumberOverride | None:
        return NumberOverride(self.multiplier_option) if self.multiplier_option else None

    def is_host_local_for(self, spec: RequestSpec) -> bool:
        """Return whether, for a request, a selection changes the weight on its own host only."""
        return self.is_host_local or spec.instance_group is None

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        """Return how well a host suits one more instance of the request."""
        raise NotImplementedError

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> Numbers:
        """Evaluate ``host_weight`` for all hosts in one call; by default host by host."""
        return np.fromiter((self.host_weight(host, spec) for host in hosts), np.float64, len(hosts))

    def applies_to(self, spec: RequestSpec) -> bool:
        """Return whether hosts can differ for a request; if not, the weigher is skipped."""
        return True

    def multiplier(self) -> float:
        """Return the configured multiplier."""
        if self.multiplier_option is None:
            return 1.0
        return float(self._conf.filter_scheduler[self.multiplier_option])

    def multipliers(self, hosts: HostTable) -> Numbers:
        """Return the effective multiplier of each host."""
        if self._override is None:
            return np.full(len(hosts), self.multiplier_sign * self.multiplier())
        return self.multiplier_sign * self._override.column(hosts, self.multiplier())


def load_weighers(conf: cfg.ConfigOpts) -> list[BaseHostWeigher]:
    """Create the weighers of ``[filter_scheduler] weight_classes``; raise as ``plugins.load``.

    Also raises ``ConfigurationError`` if a weigher reads a host attribute that is not declared.
    """

    def make(each: type[BaseHostWeigher]) -> BaseHostWeigher:
        weigher = loading.construct(each, conf)
        _check_multiplier(weigher)
        return weigher

    available = loading.entry_points(NAMESPACE)
    enabled: list[str] = conf.filter_scheduler.weight_classes
    names = [name for name in enabled if name not in ALL]
    if len(names) < len(enabled):
        names += [name for name in available if name not in names]
    option = "[filter_scheduler] weight_classes"
    found = loading.load(available, names, BaseHostWeigher, make=make, option=option)
    loading.check_attributes(found, option)
    return found


def _check_multiplier(weigher: BaseHostWeigher) -> None:
    """Raise ``ConfigurationError`` if a multiplier is not a number with which weights add up."""
    name = type(weigher).__name__
    option = f"[filter_scheduler] {weigher.multiplier_option}, the multiplier of {name},"
    try:
        multiplier = float(weigher.multiplier())
    except (TypeError, ValueError) as error:
        raise exception.ConfigurationError(reason=f"{option} is not a number: {error}") from error
    if not abs(multiplier) < NUMBER_MAX:
        raise exception.ConfigurationError(
            reason=f"{option} is {multiplier}; it must be within {-NUMBER_MAX} and {NUMBER_MAX}"
        )
