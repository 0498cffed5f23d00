"""Service group drivers: where the times of hosts' heartbeats are kept.

The cell's database stays the authority on which hosts are up and which agents may act. A driver
only saves it a transaction for each heartbeat, and may lose what it was given at any time.
"""

import abc
from collections.abc import Collection

from oslo_config import cfg

from armillary import plugin_loading

NAMESPACE = "armillary.servicegroup.drivers"
OPTION = "[DEFAULT] servicegroup_driver"


class ServiceGroupDriver(abc.ABC):
    """A store of the last heartbeat of each host of a cell; thread-safe.

    Its methods may raise anything. Heartbeats then go to the database until it works again.
    """

    is_outside_database = True
    """False if all heartbeats go to the database; then no method is called."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf

    @abc.abstractmethod
    def record(self, hosts: Collection[str], at_seconds: int) -> None:
        """Keep the time of a heartbeat of all these hosts, in seconds since 1970."""

    @abc.abstractmethod
    def last_seen(self, hosts: Collection[str]) -> dict[str, int]:
        """Return host -> time of its last heartbeat, for those of these hosts that it has."""

    def stop(self) -> None:  # noqa: B027 - most drivers have nothing to close
        """Close what the driver has open, at the end of the process."""


def load(conf: cfg.ConfigOpts) -> ServiceGroupDriver:
    """Return the configured driver. Raises PluginNotFound, ConfigurationError."""
    name = conf.servicegroup_driver
    driver: type[ServiceGroupDriver] = plugin_loading.load(NAMESPACE, OPTION, [name])[name]
    return driver(conf)
