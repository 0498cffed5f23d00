"""Base classes of filters that compare an attribute with a limit, which aggregates may override."""

from typing import ClassVar

import numpy as np
from oslo_config import cfg

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.aggregate_metadata import NumberOverride
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable, Numbers


class BelowLimit(filters.BaseHostFilter):
    """Base of filters that require ``attribute`` to be below a ``[filter_scheduler]`` option."""

    is_host_local = True

    attribute: ClassVar[str]
    option: ClassVar[str]
    has_text: ClassVar[str]
    """Template for the current value in a reason, such as ``its number of instances is {}``."""

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return bool(getattr(host_state, self.attribute) < self._limit_of(host_state))

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        mask: filters.Mask = np.asarray(hosts.column(self.attribute)) < self._limits(hosts)
        return mask

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        has = self.has_text.format(getattr(host_state, self.attribute))
        return f"{has}, the limit is {self._limit_of(host_state):.0f}"

    def _limit_of(self, host_state: HostState) -> float:
        return self._default

    def _limits(self, hosts: HostTable) -> Numbers | int:
        return self._default

    @property
    def _default(self) -> int:
        limit: int = self._conf.filter_scheduler[self.option]
        return limit


class BelowAggregateLimit(BelowLimit):
    """Base of filters whose limit may be overridden by the aggregate metadata ``option``.

    The metadata is an integer. If several aggregates set it, the lowest value applies; invalid
    values are ignored.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._override = NumberOverride(self.option, whole=True)

    def _limit_of(self, host_state: HostState) -> float:
        return self._override.of(host_state.aggregates, self._default)

    def _limits(self, hosts: HostTable) -> Numbers:
        return self._override.column(hosts, self._default)
