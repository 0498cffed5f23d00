"""The interface of a driver: one object for each host that an agent carries."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterable
from typing import Any

from objects.instance import Instance


@dataclasses.dataclass(frozen=True, slots=True)
class GuestInfo:
    """A guest as the driver sees it. ``power_state`` is running or shutdown.

    ``exit_code`` of an ended one.
    """

    instance_uuid: str
    power_state: str
    exit_code: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class HostResources:
    """What a host has, whole, before anything is reserved: vCPUs, MiB, GiB."""

    vcpus: int
    memory_mb: int
    disk_gb: int


class ComputeDriver(abc.ABC):
    """Carries the guests of one host. Methods may be called from several threads.

    Every method may be called twice for the same instance: spawning a guest that runs, or
    destroying one that is gone, is fine. A driver keeps no central state: it can say what runs
    after its process was killed (``list_guests``).
    """

    @property
    @abc.abstractmethod
    def host(self) -> str:
        """Name of the host, as in service and compute node records."""

    @property
    def node(self) -> str:
        """Name of the hypervisor; the host's, unless a driver has another."""
        return self.host

    @abc.abstractmethod
    def init_host(self, instances: Iterable[Instance]) -> None:
        """Take up work.

        ``instances`` are those that the journal says were built or being built here. Raises
        ConfigurationError when the host cannot be used.
        """

    @abc.abstractmethod
    def get_resources(self) -> HostResources:
        """Return what the host has now."""

    @abc.abstractmethod
    def get_attributes(self) -> dict[str, Any]:
        """Return the values that ``host_attributes`` declares for Collector.DRIVER, by name."""

    @abc.abstractmethod
    def get_traits(self) -> frozenset[str]:
        """Return the standard traits of the host (os-traits names)."""

    @abc.abstractmethod
    def spawn(self, instance: Instance) -> GuestInfo:
        """Build and start the guest; blocks until it runs.

        Raises BuildFailed when another host may do, BuildAborted when none can. What was begun is
        undone.
        """

    @abc.abstractmethod
    def destroy(self, instance_uuid: str) -> None:
        """Stop the guest and remove all of it; none there is fine."""

    @abc.abstractmethod
    def list_guests(self) -> list[GuestInfo]:
        """Return every guest on this host that this driver made."""

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of threads and files; guests go on."""
