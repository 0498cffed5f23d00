"""A guest that is only said to be there: what is remembered of it, and how it changes. Pure."""

from __future__ import annotations

import dataclasses
import enum
import functools
from datetime import datetime
from typing import Self

from compute_agent.virt.driver import GuestInfo
from objects.flavor import Flavor

EVENTS_MAX = 16
INFOS_CACHED_MAX = 8192
"""Agents look at all their guests every second, and little of it is new."""
RUNNING = "running"
SHUTDOWN = "shutdown"


class Role(enum.StrEnum):
    """What the guest is to this host."""

    HERE = "here"
    """A guest like any other, on or off."""
    DETACHED = "detached"
    """Off, ours until ``destroy``; another host may have taken it over."""
    ARRIVING = "arriving"
    """Prepared for a live migration to here; it runs elsewhere."""
    LEFT = "left"
    """Gone by a live migration; it runs elsewhere, or will."""


class Event(enum.StrEnum):
    """What a guest's console tells of."""

    BOOT = "boot"
    OFF = "off"
    ARRIVED = "arrived"
    RESIZED = "resized"


@dataclasses.dataclass(frozen=True, slots=True)
class SimulatedGuest:
    """One guest on one host; a change makes a new one. Sizes are those of the flavor it has now.

    Sizes of 0 vCPUs are not known: the guest is older than their being remembered. ``source`` is
    the host that it came from, or is coming from, by live migration.
    """

    uuid: str
    role: Role = Role.HERE
    is_running: bool = True
    vcpus: int = 0
    memory_mb: int = 0
    disk_gb: int = 0
    source: str | None = None
    events: tuple[tuple[str, Event, str], ...] = ()
    """When (UTC), what, and how large it was; the oldest are dropped."""

    @property
    def is_ours(self) -> bool:
        """Whether it can be started here."""
        return self.role in (Role.HERE, Role.DETACHED)

    def info(self) -> GuestInfo:
        """Return it as the agent wants to see it."""
        return _info(self.uuid, self.is_running, self.role is not Role.HERE)

    def sized(self, flavor: Flavor) -> Self:
        """Return it with the sizes of a flavor."""
        return dataclasses.replace(
            self, vcpus=flavor.vcpus, memory_mb=flavor.memory_mb, disk_gb=flavor.disk_gb
        )

    def booted(self, now: datetime) -> Self:
        """Return it started anew, on this host for good."""
        return self._noting(Event.BOOT, now, role=Role.HERE, is_running=True)

    def off(self, now: datetime) -> Self:
        """Return it off; one that is off already stays as it is."""
        return self._noting(Event.OFF, now, is_running=False) if self.is_running else self

    def resized(self, flavor: Flavor, now: datetime) -> Self:
        """Return it with a flavor, on this host for good, on or off as it was."""
        new = self.sized(flavor)
        if new == self:
            return dataclasses.replace(self, role=Role.HERE)
        return new._noting(Event.RESIZED, now, role=Role.HERE)

    def arrived(self, now: datetime) -> Self:
        """Return it as it runs where it has come to."""
        return self._noting(Event.ARRIVED, now, role=Role.HERE, is_running=True)

    def moved(self, role: Role) -> Self:
        """Return it off, in a role in which it does not run here."""
        return dataclasses.replace(self, role=role, is_running=False)

    def _noting(self, event: Event, now: datetime, *, is_running: bool | None = None,
                role: Role | None = None) -> Self:  # fmt: skip
        size = f"{self.vcpus} vCPUs, {self.memory_mb} MiB of memory, {self.disk_gb} GiB of disk"
        noted = (now.strftime("%Y-%m-%dT%H:%M:%SZ"), event, size)
        return dataclasses.replace(
            self,
            role=self.role if role is None else role,
            is_running=self.is_running if is_running is None else is_running,
            events=(*self.events, noted)[-EVENTS_MAX:],
        )


@functools.lru_cache(maxsize=INFOS_CACHED_MAX)
def _info(uuid: str, is_running: bool, is_moving: bool) -> GuestInfo:
    return GuestInfo(uuid, RUNNING if is_running else SHUTDOWN, is_moving=is_moving)
