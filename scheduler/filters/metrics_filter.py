"""Filter that requires hosts to report the configured metrics."""

from collections.abc import Set
from typing import Any

import numpy as np
from oslo_config import cfg

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.host_metrics import MetricColumns, values_of
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable
from scheduler.plugins.weight_setting import WeightSetting


class MetricsFilter(filters.BaseHostFilter):
    """Pass hosts that report every metric named in ``[metrics] weight_setting``.

    Use it together with MetricsWeigher, to which it passes only hosts that can be weighed. A value
    that is not a number counts as missing. Hosts report metrics if ``compute_monitors`` is set on
    them. If the option names no metrics, all hosts pass.
    """

    host_attributes = ("metrics",)

    is_host_local = True

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._setting = WeightSetting("[metrics] weight_setting")
        self._columns = MetricColumns()

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return not _missing(host_state.metrics, self._wanted)

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        wanted = self._wanted
        if not wanted:
            return np.ones(len(hosts), dtype=np.bool_)
        is_missing = np.isnan(self._columns.read(hosts, wanted))
        is_reported: filters.Mask = ~np.any(is_missing, axis=0)
        return is_reported

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        return f"does not report {', '.join(sorted(_missing(host_state.metrics, self._wanted)))}"

    @property
    def _wanted(self) -> Set[str]:
        return self._setting.parsed(self._conf.metrics.weight_setting).keys()


def _missing(metrics: Any, wanted: Set[str]) -> Set[str]:
    return wanted - values_of(metrics, wanted).keys()
