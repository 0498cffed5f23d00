"""Leave hosts out whose metrics are wanted and not there."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import numpy as np
from oslo_config import cfg

from objects.request_spec import RequestSpec
from scheduler import filters, host_metrics
from scheduler.host_state import HostState
from scheduler.host_table import HostTable
from scheduler.metric_columns import MetricColumns
from scheduler.weight_setting import WeightSetting


class MetricsFilter(filters.BaseHostFilter):
    """Pass hosts that report every metric named in ``[metrics] weight_setting``.

    It keeps hosts from MetricsWeigher that it could not weigh: use both. A value that is no number
    counts as none. Hosts report metrics when ``compute_monitors`` is set there. Without names in
    the option all hosts pass.
    """

    host_attributes = ("metrics",)

    judges_apart = True

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
    return wanted - host_metrics.values_of(metrics, wanted).keys()
