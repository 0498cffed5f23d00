"""The interface of a driver: one object for each host that an agent carries."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from compute_agent.instance_place import ANYWHERE, InstancePlace
from compute_agent.pci_devices import PciDevice
from objects.instance import Instance
from objects.numa import HostCell


@dataclasses.dataclass(frozen=True, slots=True)
class GuestInfo:
    """A guest as the driver sees it. ``power_state`` is running or shutdown.

    ``exit_code`` of an ended one. ``place`` as it was given to ``spawn``, if the driver remembers.
    """

    instance_uuid: str
    power_state: str
    exit_code: int | None = None
    place: InstancePlace | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class HostResources:
    """What a host has, whole, before anything is reserved: vCPUs, MiB, GiB, dedicated CPUs.

    ``vcpus`` are the CPUs that are shared; ``pcpus`` come on top of them.
    """

    vcpus: int
    memory_mb: int
    disk_gb: int
    pcpus: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Readings:
    """What was measured, metric -> value, and when (UTC)."""

    values: Mapping[str, float]
    at: datetime


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
    def spawn(self, instance: Instance, place: InstancePlace = ANYWHERE) -> GuestInfo:
        """Build and start the guest at its place on the host; blocks until it runs.

        Raises BuildFailed when another host may do, BuildAborted when none can. What was begun is
        undone.
        """

    @abc.abstractmethod
    def destroy(self, instance_uuid: str) -> None:
        """Stop the guest and remove all of it; none there is fine."""

    @abc.abstractmethod
    def list_guests(self) -> list[GuestInfo]:
        """Return every guest on this host that this driver made."""

    def get_numa_cells(self) -> Sequence[HostCell]:
        """Return the host's NUMA cells, whole; none: no instance with a topology can come here."""
        return ()

    def get_pci_devices(self) -> Sequence[PciDevice]:
        """Return the PCI devices that instances may have, whether or not one has them."""
        return ()

    def get_cpu_readings(self) -> Readings | None:
        """Return what is measured of the host's CPUs, for the monitor ``cpu.virt_driver``.

        The names are ``monitors.cpu_virt_driver.METRICS``. None: this driver measures nothing.
        """
        return None

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of threads and files; guests go on."""
