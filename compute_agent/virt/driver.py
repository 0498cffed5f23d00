"""The interface of a driver: one object for each host that an agent carries."""

from __future__ import annotations

import abc
import dataclasses
import enum
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from armillary import exception
from compute_agent.instance_place import ANYWHERE, InstancePlace
from compute_agent.pci_devices import PciDevice
from compute_agent.virt.metrics import Kind
from objects.instance import Instance
from objects.numa import HostCell


@dataclasses.dataclass(frozen=True, slots=True)
class GuestInfo:
    """A guest as the driver sees it. ``power_state`` is running or shutdown.

    ``exit_code`` of an ended one. ``place`` as it was given to ``spawn``, if the driver remembers.
    ``is_moving``: it does not run here because of a move that is not over (detached, prepared for a
    live migration, or gone by one); it did not end, and whoever moves it says what becomes of it.
    """

    instance_uuid: str
    power_state: str
    exit_code: int | None = None
    place: InstancePlace | None = None
    is_moving: bool = False


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


class Feature(enum.StrEnum):
    """What a driver may be able to do with a guest that it built; the value says it in words."""

    POWER = "start and stop a server"
    REBOOT = "reboot a server"
    CONSOLE = "show the console of a server"
    COLD_MOVE = "take over a server that is off"
    RESIZE = "give a server another flavor"
    LIVE_MOVE = "move a running server"


class LiveWatch(Protocol):
    """Whom a driver tells how far a live migration is, and asks whether to go on."""

    def progress(self, *, total_mb: int, remaining_mb: int) -> None:
        """Note how much memory there is to copy and how much is left, MiB."""

    def is_aborted(self) -> bool:
        """Return whether somebody wants the guest to stay where it is."""


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

    @property
    def features(self) -> frozenset[Feature]:
        """What this host can do beyond building and destroying; methods of the rest refuse."""
        return frozenset()

    # One guest in its place. All block until it is done and return the guest as it is then.

    def power_off(self, instance_uuid: str, *, grace_seconds: float) -> GuestInfo:
        """Ask the guest to end, end it after the grace; one that is off stays so.

        Raises OperationFailed, also when there is no such guest; OperationUnsupported.
        """
        raise self._unsupported(Feature.POWER)

    def power_on(self, instance: Instance, place: InstancePlace = ANYWHERE) -> GuestInfo:
        """Start a guest that is off, with what it kept; one that runs goes on running.

        Raises OperationFailed, OperationUnsupported.
        """
        raise self._unsupported(Feature.POWER)

    def reboot(
        self, instance: Instance, place: InstancePlace, *, is_hard: bool, grace_seconds: float
    ) -> GuestInfo:
        """Start a guest anew; a hard reboot asks it nothing. Raises as ``power_on``."""
        raise self._unsupported(Feature.REBOOT)

    def get_console_output(self, instance_uuid: str, *, lines: int | None) -> str:
        """Return the last lines, or all that is kept, of what a guest wrote to its console.

        Raises OperationFailed, OperationUnsupported.
        """
        raise self._unsupported(Feature.CONSOLE)

    # A guest that moves while it is off: from its source to its destination, perhaps the same host.

    def detach(self, instance_uuid: str, *, grace_seconds: float) -> dict[str, Any]:
        """At the source: power off, and return what the destination needs to take the guest over.

        The guest can still be powered on here, until ``destroy``. The answer is plain JSON. Raises
        OperationFailed (the guest is as it was), OperationUnsupported.
        """
        raise self._unsupported(Feature.COLD_MOVE)

    def attach(
        self,
        instance: Instance,
        place: InstancePlace,
        luggage: Mapping[str, Any],
        *,
        is_on: bool,
    ) -> GuestInfo:
        """At the destination: take over a guest that was detached, with its flavor as it is now.

        ``instance.flavor`` may be another than before (RESIZE). ``destroy`` takes it back. Raises
        OperationFailed (nothing is left here), OperationUnsupported.
        """
        raise self._unsupported(Feature.COLD_MOVE)

    def resize(self, instance: Instance, place: InstancePlace, *, is_on: bool) -> GuestInfo:
        """Give a guest that stays on its host the flavor and place that it has now.

        Called again with the former ones it takes that back. Raises OperationFailed,
        OperationUnsupported.
        """
        raise self._unsupported(Feature.RESIZE)

    # A guest that moves while it runs.

    def prepare_live(
        self, instance: Instance, place: InstancePlace, source: Mapping[str, Any]
    ) -> dict[str, Any]:
        """At the destination: get ready to receive a guest; return what the source has to know.

        ``source`` is what ``describe_live`` returned there. ``destroy`` takes it back. Raises
        OperationFailed with the reason when this host cannot take it, OperationUnsupported.
        """
        raise self._unsupported(Feature.LIVE_MOVE)

    def describe_live(self, instance_uuid: str) -> dict[str, Any]:
        """At the source: return what a destination has to know (CPU model, ...), plain JSON.

        Raises OperationFailed when the guest does not run, OperationUnsupported.
        """
        raise self._unsupported(Feature.LIVE_MOVE)

    def live_migrate(
        self, instance: Instance, destination: Mapping[str, Any], watch: LiveWatch
    ) -> None:
        """At the source: hand the running guest over to a destination that is prepared.

        It has left this host when this returns; called again after that it returns at once. Raises
        LiveMigrationAborted, OperationFailed: then the guest runs on here. OperationUnsupported.
        """
        raise self._unsupported(Feature.LIVE_MOVE)

    def complete_live(self, instance: Instance, place: InstancePlace) -> GuestInfo:
        """At the destination: the guest has arrived and runs; make it a guest like any other.

        Raises OperationFailed when it did not arrive, OperationUnsupported.
        """
        raise self._unsupported(Feature.LIVE_MOVE)

    def _unsupported(self, feature: Feature) -> exception.OperationUnsupported:
        return exception.OperationUnsupported(
            host=self.host, operation=feature.value, reason="its driver has no such operation"
        )

    def get_numa_cells(self) -> Sequence[HostCell]:
        """Return the host's NUMA cells, whole; none: no instance with a topology can come here."""
        return ()

    def get_pci_devices(self) -> Sequence[PciDevice]:
        """Return the PCI devices that instances may have, whether or not one has them."""
        return ()

    def get_readings(self, kind: Kind) -> Readings | None:
        """Return what is measured of the host, for the monitor ``KIND.virt_driver``.

        The names are those of ``metrics.METRICS``. None: this driver measures nothing of the kind.
        """
        return None

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of threads and files; guests go on."""
