"""Monitors: metrics of a host, reported in its attribute ``metrics`` for weighers.

Each is a plugin in ``armillary.compute.monitors`` named KIND.NAME (``cpu.virt_driver``). Only one
monitor of each kind may be enabled, so that every metric has a single source.
"""

import abc
import collections
import dataclasses
import logging
import math
from collections.abc import Sequence

from oslo_config import cfg

from armillary import exception, plugin_loading
from compute_agent.virt.driver import ComputeDriver, Readings

LOG = logging.getLogger(__name__)

NAMESPACE = "armillary.compute.monitors"
OPTION = "[DEFAULT] compute_monitors"


class Monitor(abc.ABC):
    """Measures one kind of metric on one host. Called from one thread at a time."""

    def __init__(self, conf: cfg.ConfigOpts, driver: ComputeDriver) -> None:
        self._conf = conf
        self._driver = driver

    @abc.abstractmethod
    def measure(self) -> Readings | None:
        """Return finite numbers by metric and their time; None if nothing can be measured.

        Percentages (names ending in ``.percent``) are fractions, 0 to 1. Called for each report of
        the host, at most a few times a second, so it must not block for long. An exception is
        logged once, and the metrics are omitted until the next success.
        """


@dataclasses.dataclass(frozen=True, slots=True)
class MonitorPlugin:
    """A configured monitor: KIND.NAME and its class."""

    name: str
    monitor_class: type[Monitor]


def load_plugins(conf: cfg.ConfigOpts) -> list[MonitorPlugin]:
    """Return the monitors that ``compute_monitors`` names.

    Raises PluginNotFound, and ConfigurationError for two of one kind or one that cannot be loaded.
    """
    names: list[str] = conf.compute_monitors
    kinds = collections.Counter(name.partition(".")[0] for name in dict.fromkeys(names))
    twice = sorted(kind for kind, count in kinds.items() if count > 1)
    if twice:
        raise exception.ConfigurationError(
            reason=f"{OPTION} names several monitors of one kind: {', '.join(twice)}; keep one"
        )
    if not names:
        return []
    found = plugin_loading.load(NAMESPACE, OPTION, dict.fromkeys(names))
    return [MonitorPlugin(name, monitor_class) for name, monitor_class in found.items()]


@dataclasses.dataclass(frozen=True, slots=True)
class Metric:
    """A measured value, its time (ISO 8601), and the monitor that measured it."""

    name: str
    value: float
    timestamp: str
    source: str


class HostMonitors:
    """The monitors of one host."""

    def __init__(
        self, conf: cfg.ConfigOpts, plugins: Sequence[MonitorPlugin], driver: ComputeDriver
    ) -> None:
        self._host = driver.host
        self._monitors = {plugin.name: plugin.monitor_class(conf, driver) for plugin in plugins}
        self._failing: set[str] = set()

    def metrics(self) -> list[Metric]:
        """Return the metrics of all working monitors."""
        metrics: list[Metric] = []
        for name, monitor in self._monitors.items():
            try:
                metrics += _metrics(name, monitor.measure())
            except Exception as error:
                self._note_failure(name, error)
            else:
                self._note_success(name)
        return metrics

    def _note_failure(self, name: str, error: Exception) -> None:
        if name not in self._failing:
            self._failing.add(name)
            LOG.warning(
                "Monitor %s of host %s failed, its metrics are omitted: %s: %s",
                name, self._host, type(error).__name__, error,
            )  # fmt: skip

    def _note_success(self, name: str) -> None:
        if name in self._failing:
            self._failing.remove(name)
            LOG.info("Monitor %s of host %s works again", name, self._host)


def _metrics(source: str, readings: Readings | None) -> list[Metric]:
    """Return the readings as metrics. Raises ValueError unless all are finite numbers."""
    if readings is None:
        return []
    for name, value in readings.values.items():
        if isinstance(value, bool) or not math.isfinite(value):
            raise ValueError(f"{name} is {value!r}, not a finite number")
    timestamp = readings.at.isoformat()
    values = sorted(readings.values.items())
    return [Metric(name, value, timestamp, source) for name, value in values]
