"""Loader of compute drivers: find the configured drivers and create their hosts."""

import collections
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from oslo_config import cfg

from armillary import exception, plugin_loading
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
    named = names or conf.compute.driver
    found: dict[str, DriverClass] = plugin_loading.load(NAMESPACE, "[compute] driver", named)
    drivers = [
        driver for name in named for driver in found[name].make_hosts(conf, Path(conf.state_path))
    ]
    counts = collections.Counter(driver.host for driver in drivers)
    twice = sorted(host for host, count in counts.items() if count > 1)
    if twice:
        raise exception.ConfigurationError(
            reason=f"[compute] driver creates several hosts with the same name: {', '.join(twice)}"
        )
    if not drivers:
        raise exception.ConfigurationError(reason="[compute] driver creates no hosts")
    return drivers
