"""What a client may send at most: ``[upgrade_levels]``, and the records of the services."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Protocol

from oslo_config import cfg

from armillary import exception, service_history

_UNKNOWN_THERE = ("UnsupportedVersion", "NoSuchMethod")


class VersionCap(Protocol):
    """The highest version that may be sent, looked at before each message."""

    def of(self, server: str | None) -> str | None:
        """Return it for one server, or for any of the topic; None: there is no cap."""
        ...


class OldestServices:
    """The oldest service version of each interface's servers, as far as a process heard of it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._versions: Mapping[str, int] = {}

    def take(self, versions: Mapping[str, int]) -> None:
        """Take over what was heard now: interface, as in ``[upgrade_levels]``, -> version."""
        with self._guard:
            self._versions = {**self._versions, **versions}

    def of(self, interface: str) -> int:
        """Return the version; 0 when nothing is known of any server."""
        return self._versions.get(interface, 0)


class ConfiguredCap:
    """The cap of one interface, as its option stands.

    For ``auto``, ``oldest`` gives the service version of a server, 0 when it is not known: then
    there is no cap.
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
        """Return the cap of an interface whose servers share one queue."""
        return cls(conf, interface, lambda _server: oldest.of(interface))

    def of(self, server: str | None) -> str | None:
        level: str | None = self._conf.upgrade_levels[self._interface]
        if level != service_history.AUTO:
            return level
        version = self._oldest(server)
        return service_history.rpc_version(self._interface, version) if version else None


class FixedCap:
    """A cap that stays as it is."""

    def __init__(self, version: str | None) -> None:
        self._version = version

    def of(self, server: str | None) -> str | None:
        return self._version


def as_cap(cap: VersionCap | str | None) -> VersionCap:
    """Return a cap for what a client was given: a version, or nothing, stays as it is."""
    return FixedCap(cap) if cap is None or isinstance(cap, str) else cap


def is_auto(conf: cfg.ConfigOpts, *interfaces: str) -> bool:
    """Tell whether any of these goes by the records of the services."""
    return any(conf.upgrade_levels[each] == service_history.AUTO for each in interfaces)


def allows(conf: cfg.ConfigOpts, interface: str, version: str) -> bool:
    """Tell whether an option lets a version through, for servers that know it."""
    level = conf.upgrade_levels[interface]
    return level == service_history.AUTO or fits(level, version)


def fits(cap: str | None, version: str) -> bool:
    """Tell whether a version may be sent under a cap."""
    if cap is None:
        return True
    (major, minor), (cap_major, cap_minor) = _parts(version), _parts(cap)
    return major == cap_major and minor <= cap_minor


def is_too_new(error: exception.RpcFailed) -> bool:
    """Tell whether a call failed because its method is not known on the other side."""
    return str(error.kwargs.get("reason", "")).startswith(_UNKNOWN_THERE)


def _parts(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return int(major), int(minor)
