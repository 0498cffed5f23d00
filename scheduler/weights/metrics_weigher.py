"""Weigher by metrics that compute monitors report."""

import logging
from typing import Any

import numpy as np
from oslo_config import cfg

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.hosts.host_metrics import MetricColumns, values_of
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable
from scheduler.plugins.loading import CannotDecide
from scheduler.plugins.weight_setting import WeightSetting

LOG = logging.getLogger(__name__)


class MetricsWeigher(weights.BaseHostWeigher):
    """Prefers hosts with a greater weighted sum of the metrics in ``[metrics] weight_setting``.

    Each metric is multiplied by its ratio there. A negative ratio, or a negative ``[metrics]
    weight_multiplier``, prefers lower values. Metrics that are fractions count in whole percents.
    The multiplier's key in aggregate metadata is ``metrics_weight_multiplier``.

    If ``required`` is off, a host that does not report one of the metrics has the weight
    ``weight_of_unavailable``; metrics with a ratio of 0 are ignored. If it is on, the default, such
    a host fails the request: the reason names the metric, and the log also names the host. Use
    MetricsFilter to exclude such hosts.
    """

    host_attributes = ("metrics", "host")

    is_host_local = True

    multiplier_option = "metrics_weight_multiplier"

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._setting = WeightSetting("[metrics] weight_setting")
        self._columns = MetricColumns()

    def applies_to(self, spec: RequestSpec) -> bool:
        return bool(self._ratios)

    def multiplier(self) -> float:
        return float(self._conf.metrics.weight_multiplier)

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        assert self._override is not None
        multiplier = self._override.of(host_state.aggregates, self.multiplier())
        found = _weight_or_missing(host_state.metrics, multiplier, self._ratios)
        return self._unavailable(found, host_state.host) if isinstance(found, str) else found

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        ratios = self._ratios
        found = np.zeros(len(hosts))
        if not ratios:
            return found
        values = self._columns.read(hosts, ratios)
        is_missing = np.isnan(values)
        with np.errstate(over="ignore", invalid="ignore"):  # a sum may be infinite, as for one host
            for value, is_none, ratio in zip(values, is_missing, ratios.values(), strict=True):
                found += np.where(is_none, 0.0, value * ratio)
        has_ratio = np.array([ratio != 0 for ratio in ratios.values()])
        is_missed = is_missing & has_ratio[:, np.newaxis] & (self.multipliers(hosts) != 0)
        positions = np.flatnonzero(is_missed.any(axis=0))
        if len(positions):
            first = int(positions[0])
            name = [*ratios][int(np.argmax(is_missed[:, first]))]
            found[positions] = self._unavailable(name, hosts.value("host", first))
        return found

    def _unavailable(self, name: str, host: str) -> float:
        if not self._conf.metrics.required:
            return float(self._conf.metrics.weight_of_unavailable)
        LOG.warning("%s does not report %s, which MetricsWeigher requires", host, name)
        raise CannotDecide(
            self,
            f"a host does not report {name}, which [metrics] weight_setting names and [metrics] "
            "required demands; enable MetricsFilter to exclude such hosts",
        )

    @property
    def _ratios(self) -> dict[str, float]:
        return self._setting.parsed(self._conf.metrics.weight_setting)


def _weight_or_missing(metrics: Any, multiplier: float, ratios: dict[str, float]) -> float | str:
    """Return a host's weight, or the name of the metric that it does not report."""
    values = values_of(metrics, ratios)
    total = 0.0
    for name, ratio in ratios.items():
        if name in values:
            total += values[name] * ratio
        elif ratio and multiplier:
            return name
    return total
