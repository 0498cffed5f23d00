"""Monitors: what they measure of a host travels as its attribute ``metrics``, for weighers.

Each is a plugin under ``armillary.compute.monitors``, called KIND.NAME (``cpu.virt_driver``), and
there is at most one of a kind in use, so that no metric comes twice.
"""

from __future__ import annotations

import abc
import collections
import dataclasses
import logging
import math
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint
from typing import Any

from oslo_config import cfg
from stevedore import ExtensionManager

from armillary import exception
from compute_agent.virt.driver import ComputeDriver, Readings

LOG = logging.getLogger(__name__)

NAMESPACE = "armillary.compute.monitors"
OPTION = "[DEFAULT] compute_monitors"


class Monitor(abc.ABC):
    """Measures one kind of thing on one host. Called from one thread at a time."""

    def __init__(self, conf: cfg.ConfigOpts, driver: ComputeDriver) -> None:
        self._conf = conf
        self._driver = driver

    @abc.abstractmethod
    def measure(self) -> Readings | None:
        """Return metric -> finite number, and when that was so; None if nothing can be measured.

        Percentages (names ending in ``.percent``) are parts of 1. It is called at each report of
        the host, at most a few times a second, and must not wait for long. What it raises is
        logged once, and its metrics are left out until it succeeds again.
        """


@dataclasses.dataclass(frozen=True, slots=True)
class MonitorPlugin:
    """A monitor as it is configured: KIND.NAME and the class behind it."""

    name: str
    monitor_class: type[Monitor]


def load_plugins(conf: cfg.ConfigOpts) -> list[MonitorPlugin]:
    """Return what ``compute_monitors`` names.

    Raises PluginNotFound, and ConfigurationError for two of one kind or a broken plugin.
    """
    names: list[str] = conf.compute_monitors
    kinds = collections.Counter(name.partition(".")[0] for name in dict.fromkeys(names))
    twice = sorted(kind for kind, count in kinds.items() if count > 1)
    if twice:
        raise exception.ConfigurationError(
            reason=f"{OPTION} names two monitors of the same kind, {', '.join(twice)}; keep one"
        )
    if not names:
        return []
    broken: dict[str, BaseException] = {}

    def note_broken(_: Any, entry_point: EntryPoint, error: BaseException) -> None:
        broken[entry_point.name] = error

    found: ExtensionManager[Any] = ExtensionManager(NAMESPACE, on_load_failure_callback=note_broken)
    return [_plugin(name, found, broken) for name in dict.fromkeys(names)]


def _plugin(
    name: str, found: ExtensionManager[Any], broken: Mapping[str, BaseException]
) -> MonitorPlugin:
    if name in broken:
        raise exception.ConfigurationError(
            reason=f"{OPTION}: {name} cannot be loaded: {broken[name]}"
        ) from broken[name]
    if name not in found:
        raise exception.PluginNotFound(
            option=OPTION, name=name, available=", ".join(sorted(found.names()))
        )
    return MonitorPlugin(name, found[name].plugin)


class HostMonitors:
    """The monitors of one host."""

    def __init__(
        self, conf: cfg.ConfigOpts, plugins: Sequence[MonitorPlugin], driver: ComputeDriver
    ) -> None:
        self._host = driver.host
        self._monitors = {plugin.name: plugin.monitor_class(conf, driver) for plugin in plugins}
        self._failing: set[str] = set()

    def metrics(self) -> list[dict[str, Any]]:
        """Return the metrics of all monitors that work: dicts of name, value, timestamp, source."""
        metrics: list[dict[str, Any]] = []
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
                "Monitor %s of host %s fails, its metrics are left out: %s: %s",
                name, self._host, type(error).__name__, error,
            )  # fmt: skip

    def _note_success(self, name: str) -> None:
        if name in self._failing:
            self._failing.remove(name)
            LOG.info("Monitor %s of host %s works again", name, self._host)


def _metrics(source: str, readings: Readings | None) -> list[dict[str, Any]]:
    """Return readings in the form that travels. Raises ValueError for what is no finite number."""
    if readings is None:
        return []
    for name, value in readings.values.items():
        if isinstance(value, bool) or not math.isfinite(value):
            raise ValueError(f"{name} is {value!r}, not a finite number")
    timestamp = readings.at.isoformat()
    return [
        {"name": name, "value": value, "timestamp": timestamp, "source": source}
        for name, value in sorted(readings.values.items())
    ]
