"""Loader of compute drivers: find the configured drivers and create their hosts."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Protocol

from oslo_config import cfg
from stevedore import ExtensionManager

from armillary import exception
from compute_agent.virt.driver import ComputeDriver

NAMESPACE = "armillary.compute.drivers"


class DriverClass(Protocol):
    """Interface of a driver plugin: a class that creates one driver per host."""

    def make_hosts(self, conf: cfg.ConfigOpts, state_path: Path) -> list[ComputeDriver]:
        """Return the drivers, not yet initialised. Raises ConfigurationError."""
        ...


def make_drivers(conf: cfg.ConfigOpts, names: Sequence[str] | None = None) -> list[ComputeDriver]:
    """Return a driver for each host of the named drivers, by default ``[compute] driver``.

    Raises PluginNotFound, and ConfigurationError if there are no hosts or duplicate names.
    """
    drivers = [
        driver
        for name in names or conf.compute.driver
        for driver in _driver_class(name).make_hosts(conf, Path(conf.state_path))
    ]
    counts = collections.Counter(driver.host for driver in drivers)
    twice = sorted(host for host, count in counts.items() if count > 1)
    if twice:
        raise exception.ConfigurationError(
            reason=f"[compute] driver creates several hosts of one name: {', '.join(twice)}"
        )
    if not drivers:
        raise exception.ConfigurationError(reason="[compute] driver creates no hosts")
    return drivers


def _driver_class(name: str) -> DriverClass:
    broken: dict[str, BaseException] = {}

    def note_broken(_: Any, entry_point: EntryPoint, error: BaseException) -> None:
        broken[entry_point.name] = error

    found: ExtensionManager[Any] = ExtensionManager(NAMESPACE, on_load_failure_callback=note_broken)
    if name in broken:
        raise exception.ConfigurationError(
            reason=f"[compute] driver: {name} cannot be loaded: {broken[name]}"
        ) from broken[name]
    if name not in found:
        raise exception.PluginNotFound(
            option="[compute] driver", name=name, available=", ".join(sorted(found.names()))
        )
    driver_class: Any = found[name].plugin
    return driver_class
