"""Version caps of RPC clients: versions pinned with ``[upgrade_levels]`` for rolling upgrades.

With ``auto``, the caps follow the versions of the running services.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Protocol

from oslo_config import cfg

from armillary import service_history


class VersionCap(Protocol):
    """The highest version that may be sent, queried before each message."""

    def of(self, server: str | None) -> str | None:
        """Return the cap for one server, or for any server of the topic; None: no cap."""
        ...


class OldestServices:
    """The oldest service version of each interface's servers known to this process."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._versions: Mapping[str, int] = {}

    def take(self, versions: Mapping[str, int]) -> None:
        """Update with interface, as in ``[upgrade_levels]``, -> version."""
        with self._guard:
            self._versions = {**self._versions, **versions}

    def of(self, interface: str) -> int:
        """Return the oldest version; 0 if no server is known."""
        return self._versions.get(interface, 0)


class ConfiguredCap:
    """The cap of one interface by its current option.

    For ``auto``, ``oldest`` returns the service version of a server. If that is 0, unknown, there
    is no cap.
    """

    def __init__(
        self, conf: cfg.ConfigOpts, interface: str, oldest: Callable[[str | None], int]
    ) -> None:
        self._conf = conf
        self._interface = interface
        self._oldest = oldest

    @classmethod
    def by_oldest(
        cls, conf: cfg.ConfigOpts, interface: str, oldest: OldestServices
    ) -> ConfiguredCap:
        """Return the cap of an interface whose servers share a queue."""
        return cls(conf, interface, lambda _server: oldest.of(interface))

    def of(self, server: str | None) -> str | None:
        level: str | None = self._conf.upgrade_levels[self._interface]
        if level != service_history.AUTO:
            return level
        version = self._oldest(server)
        return service_history.rpc_version(self._interface, version) if version else None


def is_auto(conf: cfg.ConfigOpts, *interfaces: str) -> bool:
    """Return whether the cap of any of these interfaces follows the running services."""
    return any(conf.upgrade_levels[each] == service_history.AUTO for each in interfaces)


def fits(cap: str | None, version: str) -> bool:
    """Return whether a version may be sent under a cap."""
    if cap is None:
        return True
    (major, minor), (cap_major, cap_minor) = _parts(version), _parts(cap)
    return major == cap_major and minor <= cap_minor


def _parts(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return int(major), int(minor)
