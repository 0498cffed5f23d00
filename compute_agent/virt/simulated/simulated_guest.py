"""State of a simulated guest, its changes, and its console. Pure."""

import dataclasses
import enum
import functools
import random
from collections.abc import Iterator
from datetime import datetime
from typing import Self

from compute_agent.virt.driver import PAUSED, RUNNING, SHUTDOWN, SUSPENDED, GuestInfo
from objects.instance import Instance

EVENTS_MAX = 16
INFOS_CACHED_MAX = 8192
"""Size of the cache. Agents poll all their guests every second, and few have changed."""


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
    ASIDE = "aside"
    """Set aside while it is rebuilt; its power state is that from before."""


class Event(enum.StrEnum):
    """Event in a guest's console."""

    BOOT = "boot"
    OFF = "off"
    ARRIVED = "arrived"
    ARRIVED_PAUSED = "arrived-paused"
    RESIZED = "resized"
    PAUSED = "paused"
    SUSPENDED = "suspended"
    CONTINUED = "continued"
    RESCUE = "rescue"


HELD = {PAUSED: Event.PAUSED, SUSPENDED: Event.SUSPENDED}
"""Power states in which a guest waits to continue."""


@dataclasses.dataclass(frozen=True, slots=True)
class SimulatedGuest:
    """One guest on one host; immutable. Sizes are those of its current flavor.

    ``source`` is the source host of its live migration to this host. The power state of a guest
    that is arriving is paused if it will be paused here, and shutdown if it will run.
    """

    uuid: str
    role: Role = Role.HERE
    power_state: str = RUNNING
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

    @property
    def is_running(self) -> bool:
        return self.power_state == RUNNING

    @property
    def is_off(self) -> bool:
        return self.power_state == SHUTDOWN

    @property
    def is_movable_live(self) -> bool:
        """Whether its memory is on its host: it runs, or is paused."""
        return self.power_state in (RUNNING, PAUSED)

    def info(self) -> GuestInfo:
        is_off = self.role in (Role.ARRIVING, Role.ASIDE)
        power_state = SHUTDOWN if is_off else self.power_state
        return _info(self.uuid, power_state, self.role not in (Role.HERE, Role.ASIDE))

    def sized(self, instance: Instance) -> Self:
        flavor = instance.flavor
        return dataclasses.replace(
            self, vcpus=flavor.vcpus, memory_mb=flavor.memory_mb, disk_gb=instance.disk_gb
        )

    def booted(self, now: datetime) -> Self:
        """Return the guest after a boot, no longer moving."""
        return self._noting(Event.BOOT, now, role=Role.HERE, power_state=RUNNING)

    def rescued(self, now: datetime) -> Self:
        """Return the guest after a boot of another image in its place."""
        return self._noting(Event.RESCUE, now, role=Role.HERE, power_state=RUNNING)

    def held(self, power_state: str, now: datetime) -> Self:
        """Return the guest paused or suspended; unchanged if it already is."""
        if self.power_state == power_state:
            return self
        return self._noting(HELD[power_state], now, power_state=power_state)

    def continued(self, now: datetime) -> Self:
        """Return the guest running again; unchanged unless it is paused or suspended."""
        if self.power_state not in HELD:
            return self
        return self._noting(Event.CONTINUED, now, power_state=RUNNING)

    def off(self, now: datetime) -> Self:
        """Return the guest powered off; unchanged if it already is."""
        return self if self.is_off else self._noting(Event.OFF, now, power_state=SHUTDOWN)

    def resized(self, instance: Instance, now: datetime) -> Self:
        """Return the guest with a new flavor and unchanged power state, no longer moving."""
        new = self.sized(instance)
        if new == self:
            return dataclasses.replace(self, role=Role.HERE)
        return new._noting(Event.RESIZED, now, role=Role.HERE)

    def arrived(self, now: datetime) -> Self:
        """Return the guest after its live migration to this host; a paused one stays paused."""
        event, power_state = Event.ARRIVED, RUNNING
        if self.power_state == PAUSED:
            event, power_state = Event.ARRIVED_PAUSED, PAUSED
        return self._noting(event, now, role=Role.HERE, power_state=power_state)

    def moved(self, role: Role) -> Self:
        """Return the guest off, in a role in which it does not run here."""
        return dataclasses.replace(self, role=role, power_state=SHUTDOWN)

    def _noting(self, event: Event, now: datetime, *, power_state: str | None = None,
                role: Role | None = None) -> Self:  # fmt: skip
        size = f"{self.vcpus} vCPUs, {self.memory_mb} MiB of memory, {self.disk_gb} GiB of disk"
        noted = (now.strftime("%Y-%m-%dT%H:%M:%SZ"), event, size)
        return dataclasses.replace(
            self,
            role=self.role if role is None else role,
            power_state=self.power_state if power_state is None else power_state,
            events=(*self.events, noted)[-EVENTS_MAX:],
        )


@functools.lru_cache(maxsize=INFOS_CACHED_MAX)
def _info(uuid: str, power_state: str, is_moving: bool) -> GuestInfo:
    return GuestInfo(uuid, power_state, is_moving=is_moving)


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
    Event.ARRIVED_PAUSED: "paused on {host} after a live migration",
    Event.RESIZED: "now {size}",
    Event.PAUSED: "paused",
    Event.SUSPENDED: "suspended",
    Event.CONTINUED: "running again",
    Event.RESCUE: "booting in rescue mode, with the disk of the guest",
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
