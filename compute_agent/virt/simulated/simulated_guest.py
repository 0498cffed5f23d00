"""State of a simulated guest, its changes, and its console. Pure."""

import dataclasses
import enum
import functools
import random
from collections.abc import Iterator
from datetime import datetime
from typing import Self

from compute_agent.virt.driver import GuestInfo
from objects.flavor import Flavor

EVENTS_MAX = 16
INFOS_CACHED_MAX = 8192
"""Size of the cache. Agents poll all their guests every second, and few have changed."""
RUNNING = "running"
SHUTDOWN = "shutdown"


class Role(enum.StrEnum):
    """Role of this host for the guest."""

    HERE = "here"
    """A regular guest, on or off."""
    DETACHED = "detached"
    """Off and kept until ``destroy``; another host may have taken it over."""
    ARRIVING = "arriving"
    """Prepared for a live migration to this host; it runs on another one."""
    LEFT = "left"
    """Migrated away live; it runs on another host, or soon will."""


class Event(enum.StrEnum):
    """Event in a guest's console."""

    BOOT = "boot"
    OFF = "off"
    ARRIVED = "arrived"
    RESIZED = "resized"


@dataclasses.dataclass(frozen=True, slots=True)
class SimulatedGuest:
    """One guest on one host; immutable. Sizes are those of its current flavor.

    ``source`` is the source host of its live migration to this host.
    """

    uuid: str
    role: Role = Role.HERE
    is_running: bool = True
    vcpus: int = 0
    memory_mb: int = 0
    disk_gb: int = 0
    source: str | None = None
    events: tuple[tuple[str, Event, str], ...] = ()
    """Time (UTC), event and size; the oldest are dropped."""

    @property
    def is_ours(self) -> bool:
        """Whether it can be started here."""
        return self.role in (Role.HERE, Role.DETACHED)

    def info(self) -> GuestInfo:
        return _info(self.uuid, self.is_running, self.role is not Role.HERE)

    def sized(self, flavor: Flavor) -> Self:
        return dataclasses.replace(
            self, vcpus=flavor.vcpus, memory_mb=flavor.memory_mb, disk_gb=flavor.disk_gb
        )

    def booted(self, now: datetime) -> Self:
        """Return the guest after a boot, no longer moving."""
        return self._noting(Event.BOOT, now, role=Role.HERE, is_running=True)

    def off(self, now: datetime) -> Self:
        """Return the guest powered off; unchanged if it already is."""
        return self._noting(Event.OFF, now, is_running=False) if self.is_running else self

    def resized(self, flavor: Flavor, now: datetime) -> Self:
        """Return the guest with a new flavor and unchanged power state, no longer moving."""
        new = self.sized(flavor)
        if new == self:
            return dataclasses.replace(self, role=Role.HERE)
        return new._noting(Event.RESIZED, now, role=Role.HERE)

    def arrived(self, now: datetime) -> Self:
        """Return the guest running after its live migration to this host."""
        return self._noting(Event.ARRIVED, now, role=Role.HERE, is_running=True)

    def moved(self, role: Role) -> Self:
        """Return the guest off, in a role in which it does not run here."""
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


_BOOT_STEPS = (
    "clock and {size}",
    "disk found, file system clean",
    "network up",
    "ready; nothing runs in a simulated guest",
)
_STEP_SECONDS_MAX = 1.5
_SENTENCES = {
    Event.OFF: "shutting down; power off",
    Event.ARRIVED: "running on {host} after a live migration",
    Event.RESIZED: "now {size}",
}


def console_lines(host: str, guest: SimulatedGuest) -> list[str]:
    """Return the kept lines of a guest's console, oldest first; the same ones each time."""
    found: list[str] = []
    for at, event, size in guest.events:
        if event is Event.BOOT:
            found += _boot_lines(at, guest.uuid, size)
        else:
            found.append(f"{at} {_SENTENCES[event].format(host=host, size=size)}")
    return found


def _boot_lines(at: str, uuid: str, size: str) -> Iterator[str]:
    """Yield the lines of a boot, with seconds since its start."""
    yield f"{at} booting simulated guest {uuid}"
    rng = random.Random(f"{at}/{uuid}")  # noqa: S311 - to look alive
    seconds = 0.0
    for step in _BOOT_STEPS:
        yield f"[{seconds:12.6f}] {step.format(size=size)}"
        seconds += rng.uniform(0.0, _STEP_SECONDS_MAX)
