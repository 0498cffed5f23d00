"""Interface of compute drivers: one driver object per host of an agent."""

import abc
import contextlib
import dataclasses
import enum
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE, InstancePlacement
from compute_agent.host.pci_devices import PciDevice
from compute_agent.virt.image_service import ImageService
from compute_agent.virt.metrics import Kind
from objects.images.image_meta import ImageMeta
from objects.instance import Instance
from objects.instances.diagnostics import Diagnostics
from objects.numa import HostCell

RUNNING = "running"
PAUSED = "paused"
SUSPENDED = "suspended"
SHUTDOWN = "shutdown"
"""Power states of a guest."""


@dataclasses.dataclass(frozen=True, slots=True)
class GuestInfo:
    """A guest as the driver sees it.

    ``power_state`` is running, paused, suspended (its memory may be in a file) or shutdown.
    ``exit_code`` is that of a stopped guest, and ``place`` the placement passed to ``spawn``, if
    the driver stores them. ``is_moving``: the guest does not run here because of an unfinished move
    (detached, prepared for a live migration, or migrated away). It did not stop by itself, and the
    operation decides what happens to it. ``reason`` says why it is paused, or that it is off
    because it crashed, if the driver knows.
    """

    instance_uuid: str
    power_state: str
    exit_code: int | None = None
    place: InstancePlacement | None = None
    is_moving: bool = False
    reason: str | None = None

    @property
    def is_off(self) -> bool:
        """Whether it was shut down, or stopped by itself; a suspended guest waits."""
        return self.power_state == SHUTDOWN


@dataclasses.dataclass(frozen=True, slots=True)
class HostResources:
    """Total resources of a host, before reservations: vCPUs, MiB, GiB, dedicated CPUs.

    ``vcpus`` is the number of shared CPUs; ``pcpus`` are additional. ``disk_available_least`` is
    what the file system of guests has free, less what their disks may still grow: negative if they
    are promised more than there is, None if that is unknown.
    """

    vcpus: int
    memory_mb: int
    disk_gb: int
    pcpus: int = 0
    disk_available_least: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Readings:
    """Measured values by metric, and their time (UTC)."""

    values: Mapping[str, float]
    at: datetime


class Feature(enum.StrEnum):
    """Optional capability of a driver; the value describes it in messages."""

    POWER = "start and stop a server"
    REBOOT = "reboot a server"
    PAUSE = "pause a server"
    SUSPEND = "suspend a server"
    RESCUE = "rescue a server"
    SNAPSHOT = "make an image of a server"
    CONSOLE = "show the console of a server"
    SERIAL_CONSOLE = "connect to the serial console of a server"
    COLD_MOVE = "take over a server that is off"
    RESIZE = "give a server another flavor"
    LIVE_MOVE = "move a running server"
    DIAGNOSTICS = "measure a server"
    IMAGE_CACHE = "fetch images"
    ADMIN_PASS = "set the password of a server's administrator"  # noqa: S105 - a description
    CRASH_DUMP = "trigger a crash dump in a server"


class SerialStream(Protocol):
    """An open serial console of a guest. Methods raise OSError when it has ended."""

    def read(self) -> bytes:
        """Return what the guest wrote, as soon as there is something; empty at its end."""

    def write(self, data: bytes) -> None:
        """Send what a user typed."""

    def close(self) -> None:
        """End it, also for a thread that waits in ``read``. It may be closed already."""


class LiveWatch(Protocol):
    """Observer of a live migration: receives progress and may abort it."""

    def progress(self, *, total_mb: int, remaining_mb: int) -> None:
        """Report the memory to copy and what is left of it, MiB."""

    def is_aborted(self) -> bool:
        """Return whether the live migration is to be aborted."""

    def is_forced(self) -> bool:
        """Return whether the rest is to be copied immediately, with the guest paused meanwhile."""


class ComputeDriver(abc.ABC):
    """Manages the guests of one host. Methods may be called from several threads.

    Every method is idempotent per instance: spawning a running guest or destroying a missing one is
    not an error. A driver does not depend on its process's memory: ``list_guests`` works after a
    restart.
    """

    @property
    @abc.abstractmethod
    def host(self) -> str:
        """Name of the host, as in service and compute node records."""

    @property
    def node(self) -> str:
        """Name of the hypervisor; equal to the host's unless overridden."""
        return self.host

    @abc.abstractmethod
    def init_host(self, instances: Iterable[Instance]) -> None:
        """Initialise the host.

        ``instances`` are those that the journal lists as built or being built here. Raises
        ConfigurationError if the host cannot be used.
        """

    @property
    def keeps_lease(self) -> bool:
        """Whether guests are held without the agent once their lease has expired."""
        return False

    def extend_lease(self, until: float, *, is_strict: bool) -> None:  # noqa: B027 - optional
        """Let all guests run until ``until``, in seconds of CLOCK_BOOTTIME.

        Then they are held if the agent is stalled, with ``is_strict`` also if its process is
        gone. Only for a driver that keeps leases.
        """

    def note_unconfirmed(self, instance_uuids: Collection[str]) -> None:  # noqa: B027 - optional
        """Let all guests but these run on when the agent's process is gone.

        The conductor does not know yet that these are here, and may let them run elsewhere. Only
        for a driver that keeps leases.
        """

    @abc.abstractmethod
    def get_resources(self) -> HostResources:
        """Return the host's current resources."""

    @abc.abstractmethod
    def get_attributes(self) -> dict[str, object]:
        """Return the values that ``host_attributes`` declares for Collector.DRIVER, by name.

        Those whose default is None may be left out.
        """

    @abc.abstractmethod
    def get_traits(self) -> frozenset[str]:
        """Return the standard traits of the host (os-traits names)."""

    @abc.abstractmethod
    def spawn(self, instance: Instance, place: InstancePlacement = ANYWHERE) -> GuestInfo:
        """Build and start the guest with its placement; block until it runs.

        Raises BuildFailed if another host may succeed, BuildAborted if none can. A partial build is
        undone; if that is impossible now, raises BuildNotUndone: the build keeps its claims, and is
        repeated after ``destroy``.
        """

    def recover(
        self,
        instance: Instance,
        place: InstancePlacement,
        *,
        former_host: str,
        is_rebuilt: bool = False,
    ) -> GuestInfo:
        """Build the guest of a host that is down here; from its disks, if this host reaches them.

        ``is_rebuilt``: not from its disks, since that host was to rebuild the guest, or had begun.
        Nothing runs on the former host any more. Raises as ``spawn``; then the disks are the former
        host's again.
        """
        return self.spawn(instance, place)

    def ready_to_rebuild(self, instance: Instance) -> contextlib.AbstractContextManager[bool]:
        """Have and check what ``spawn`` needs to replace a guest, as long as the context lasts.

        It lends whether the guest can be set aside meanwhile: if the driver can do that, and there
        is room for both. The guest is left alone. Entering it raises BuildFailed, BuildAborted.
        """
        return contextlib.nullcontext(False)

    def set_aside(self, instance_uuid: str) -> None:
        """Stop a guest, and keep it beside the one that ``spawn`` builds in its place. Idempotent.

        What an interrupted rebuild has built in its place is removed. Raises OperationFailed.
        """
        raise NotImplementedError

    def put_back(self, instance: Instance, place: InstancePlacement) -> bool | None:
        """Remove what was built in place of a guest, and have it as before ``set_aside``.

        Return whether it ran, None if no guest was set aside. One that ran is started, unless that
        fails. Raises OperationFailed if it cannot be put back.
        """
        return None

    def drop_aside(self, instance_uuid: str) -> None:
        """Remove a guest that was set aside, as the new one runs. Raises OperationFailed."""
        raise NotImplementedError

    @abc.abstractmethod
    def destroy(self, instance_uuid: str) -> None:
        """Stop the guest and remove it completely, also one set aside; a missing one is ignored."""

    @abc.abstractmethod
    def list_guests(self) -> list[GuestInfo]:
        """Return every guest on this host that this driver created."""

    def list_addresses(self) -> Mapping[str, Sequence[str]]:
        """Return the IP addresses of running guests by UUID, of those with a network of their own.

        A guest whose addresses are not known is left out.
        """
        return {}

    @property
    def features(self) -> frozenset[Feature]:
        """Supported features; methods of other features raise OperationUnsupported."""
        return frozenset()

    def use_image_service(self, service: ImageService) -> None:  # noqa: B027 - optional
        """Fetch images that are not on this host from there; called before ``init_host``."""

    def cache_image(self, image: ImageMeta) -> None:
        """Have an image's data on this host, before a guest is built from it. Idempotent.

        Raises OperationUnsupported, ImageNotFound, Invalid, Forbidden, Unavailable (ImageCacheFull
        is one) and OSError.
        """
        raise self._unsupported(Feature.IMAGE_CACHE)

    def expire_images(self) -> None:  # noqa: B027 - optional
        """Remove images from this host that are old and that no guest uses. Raises OSError."""

    # Guests on this host. Methods block until they are done and return the guest's new state.

    def power_off(self, instance_uuid: str, *, grace_seconds: float) -> GuestInfo:
        """Ask the guest to shut down, and kill it after the grace period.

        A guest that is off stays off. Raises OperationFailed, also if the guest does not exist, and
        OperationUnsupported.
        """
        raise self._unsupported(Feature.POWER)

    def power_on(self, instance: Instance, place: InstancePlacement = ANYWHERE) -> GuestInfo:
        """Start a guest that is off, with its data; a running one keeps running.

        Raises OperationFailed, OperationUnsupported.
        """
        raise self._unsupported(Feature.POWER)

    def reboot(
        self, instance: Instance, place: InstancePlacement, *, is_hard: bool, grace_seconds: float
    ) -> GuestInfo:
        """Restart a guest; a hard reboot skips the shutdown. Raises as ``power_on``."""
        raise self._unsupported(Feature.REBOOT)

    def pause(self, instance_uuid: str) -> GuestInfo:
        """Stop a running guest where it is; a paused one stays so. Raises as ``power_on``."""
        raise self._unsupported(Feature.PAUSE)

    def unpause(self, instance_uuid: str) -> GuestInfo:
        """Let a paused guest continue; a running one keeps running. Raises as ``power_on``."""
        raise self._unsupported(Feature.PAUSE)

    def suspend(self, instance_uuid: str) -> GuestInfo:
        """Stop a running guest where it is, and free its memory if possible; idempotent.

        Raises as ``power_on``.
        """
        raise self._unsupported(Feature.SUSPEND)

    def resume(self, instance: Instance, place: InstancePlacement) -> GuestInfo:
        """Let a suspended guest continue; a running one keeps running. Raises as ``power_on``."""
        raise self._unsupported(Feature.SUSPEND)

    def rescue(
        self, instance: Instance, place: InstancePlacement, image: ImageMeta, *,
        grace_seconds: float,
    ) -> GuestInfo:  # fmt: skip
        """Shut a guest down, and run an image in its place that has the guest's data.

        Idempotent. Raises as ``power_on``.
        """
        raise self._unsupported(Feature.RESCUE)

    def unrescue(self, instance: Instance, place: InstancePlacement) -> GuestInfo:
        """End what runs in its place, and start the guest. Raises as ``power_on``."""
        raise self._unsupported(Feature.RESCUE)

    def snapshot(self, instance_uuid: str, image: ImageMeta, path: Path) -> None:
        """Write the guest's data to a new file, in the format that ``spawn`` reads of an image.

        The guest continues. Raises OperationFailed, OperationUnsupported, OSError.
        """
        raise self._unsupported(Feature.SNAPSHOT)

    def get_console_output(self, instance_uuid: str, *, lines: int | None) -> str:
        """Return the last lines of a guest's console output, or all that is kept.

        Raises OperationFailed, OperationUnsupported.
        """
        raise self._unsupported(Feature.CONSOLE)

    def open_serial_console(self, instance_uuid: str) -> SerialStream:
        """Open the serial console of a running guest; one that is open already ends.

        Raises OperationFailed, OperationUnsupported.
        """
        raise self._unsupported(Feature.SERIAL_CONSOLE)

    def get_diagnostics(self, instance_uuid: str) -> Diagnostics:
        """Return what the driver measures of a guest now.

        Raises OperationFailed, OperationUnsupported.
        """
        raise self._unsupported(Feature.DIAGNOSTICS)

    def set_admin_password(self, instance_uuid: str, password: str) -> None:
        """Set the password of the administrator in a running guest.

        It is never logged. Raises OperationFailed, OperationUnsupported.
        """
        raise self._unsupported(Feature.ADMIN_PASS)

    def trigger_crash_dump(self, instance_uuid: str) -> None:
        """Tell the kernel of a running or paused guest to dump its memory where it keeps dumps.

        Raises OperationFailed, OperationUnsupported.
        """
        raise self._unsupported(Feature.CRASH_DUMP)

    # Cold migration: a guest that is off moves from source to destination, perhaps the same host.

    def detach(self, instance_uuid: str, *, grace_seconds: float) -> dict[str, object]:
        """At the source: power off, and return what the destination needs to take the guest over.

        Until ``destroy``, the guest can still be powered on here. The result is plain JSON, with
        ``NEEDS_SOURCE`` if it is worth nothing after ``destroy``: then the guest is stored as an
        image before it leaves its host for a while, which needs Feature.SNAPSHOT. Raises
        OperationFailed (the guest is unchanged), OperationUnsupported.
        """
        raise self._unsupported(Feature.COLD_MOVE)

    def attach(
        self,
        instance: Instance,
        place: InstancePlacement,
        migration_payload: Mapping[str, Any],
        *,
        is_on: bool,
    ) -> GuestInfo:
        """At the destination: take over a detached guest with its current flavor.

        ``instance.flavor`` may have changed (RESIZE). ``destroy`` undoes it. Raises OperationFailed
        (nothing is left here), OperationUnsupported.
        """
        raise self._unsupported(Feature.COLD_MOVE)

    def resize(self, instance: Instance, place: InstancePlacement, *, is_on: bool) -> GuestInfo:
        """Apply the current flavor and placement to a guest that stays on its host.

        Calling it again with the former ones reverts it. Raises OperationFailed,
        OperationUnsupported.
        """
        raise self._unsupported(Feature.RESIZE)

    def settle(self, instance: Instance) -> None:  # noqa: B027 - optional
        """Release what only the former flavor of a resized guest needed: there is no way back.

        A missing guest is ignored; idempotent. Raises OperationFailed.
        """

    # Live migration.

    def prepare_live(
        self, instance: Instance, place: InstancePlacement, source: Mapping[str, Any]
    ) -> dict[str, object]:
        """At the destination: prepare to receive a guest; return what the source needs to know.

        ``source`` is the result of ``describe_live`` there. ``destroy`` undoes it. Raises
        OperationFailed with the reason if this host cannot take the guest, OperationUnsupported.
        """
        raise self._unsupported(Feature.LIVE_MOVE)

    def describe_live(self, instance_uuid: str) -> dict[str, object]:
        """At the source: return what a destination needs to know (CPU model, ...), as plain JSON.

        Raises OperationFailed if the guest neither runs nor is paused, OperationUnsupported.
        """
        raise self._unsupported(Feature.LIVE_MOVE)

    def live_migrate(
        self, instance: Instance, destination: Mapping[str, Any], watch: LiveWatch
    ) -> None:
        """At the source: migrate the guest to a prepared destination; a paused one stays paused.

        The guest has left this host on return; further calls return immediately. Raises
        LiveMigrationAborted or OperationFailed if the guest stays here as it was, Unavailable if
        that is unknown for now, and OperationUnsupported.
        """
        raise self._unsupported(Feature.LIVE_MOVE)

    def complete_live(self, instance: Instance, place: InstancePlacement) -> GuestInfo:
        """At the destination: finish the migration of a guest that arrived, running or paused.

        Raises OperationFailed if it did not arrive, Unavailable if that is unknown for now, and
        OperationUnsupported.
        """
        raise self._unsupported(Feature.LIVE_MOVE)

    def _unsupported(self, feature: Feature) -> exception.OperationUnsupported:
        return exception.OperationUnsupported(
            host=self.host, operation=feature.value, reason="its driver does not support it"
        )

    def get_numa_cells(self) -> Sequence[HostCell]:
        """Return the host's NUMA cells without usage; if empty, no NUMA guest fits here."""
        return ()

    def get_pci_devices(self) -> Sequence[PciDevice]:
        """Return the PCI devices for instances, whether or not they are in use."""
        return ()

    def get_readings(self, kind: Kind) -> Readings | None:
        """Return measurements of the host for the monitor ``KIND.virt_driver``.

        The names are those in ``metrics.METRICS``. None if the driver measures nothing of the kind.
        """
        return None

    def close(self) -> None:  # noqa: B027 - optional, most drivers have nothing to close
        """Release threads and files; guests keep running."""
