"""Process driver: workloads as operating-system processes with the limits of their flavors.

The image defines the program: ``process_command`` is a command line in shell quoting (run without a
shell), ``process_environment`` a JSON object of strings, and ``process_restart`` the restart
policy: never, on-failure or always. Each workload has a directory, which is its HOME and working
directory, and a small supervisor process that outlives the agent (``process_shim``).
"""

import contextlib
import dataclasses
import logging
import os
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

from oslo_config import cfg

from armillary import exception
from armillary.files import private_files
from compute_agent.host.instance_topology import ANYWHERE, InstancePlacement
from compute_agent.host.pci_devices import PciDevice
from compute_agent.virt.driver import RUNNING, Feature, GuestInfo, HostResources, Readings
from compute_agent.virt.image_cache import ImageCache
from compute_agent.virt.image_service import ImageService
from compute_agent.virt.instance_directories import InstanceDirectories
from compute_agent.virt.machine import machine, machine_numa, machine_pci
from compute_agent.virt.machine.cpu_split import CpuSplit
from compute_agent.virt.machine.device_spec import DeviceSpec, pick
from compute_agent.virt.machine.machine_metrics import MachineMeters
from compute_agent.virt.metrics import Kind
from compute_agent.virt.process import cgroups, process_archives
from compute_agent.virt.process.process_files import File
from compute_agent.virt.process.process_guest import DRAFT, TRASH, ProcessGuest, ProcessStatus
from compute_agent.virt.process.process_isolation import Isolation, may_pass
from compute_agent.virt.process.process_lease import LeaseFile
from compute_agent.virt.process.process_lifecycle import Workloads, info
from compute_agent.virt.process.process_operations import ProcessOperations
from compute_agent.virt.process.process_specs import (
    COMMAND_PROPERTY,
    Command,
    SpecMaker,
    list_guests,
)
from compute_agent.virt.process.process_strays import Strays
from compute_agent.virt.snapshot_store import SnapshotStore
from objects.images.image_meta import ImageMeta
from objects.images.image_record import INSTANCE_UUID
from objects.instance import Instance
from objects.numa import HostCell

LOG = logging.getLogger(__name__)

DIRECTORY_NAME = "processes"
HYPERVISOR_TYPE = "process"


class ProcessDriver(ProcessOperations):
    """This machine as a host. One directory in the state directory holds all its workloads."""

    def __init__(self, conf: cfg.ConfigOpts, host: str, directory: Path) -> None:
        super().__init__(conf, host)
        self._directory = directory
        self._images = self._image_cache()
        self._cgroups: cgroups.Cgroups | None = None
        self._isolation: Isolation | None = None
        self._processor = machine.processor()
        self._host_ip = conf.my_ip or machine.own_address()
        self._meters = MachineMeters(directory)
        self._lease = LeaseFile(directory)
        self._strays = Strays(directory, host)
        available = frozenset(os.sched_getaffinity(0))
        self._split = CpuSplit(available, frozenset(), is_configured=False)
        self._cells: tuple[HostCell, ...] = ()
        self._devices: tuple[PciDevice, ...] = ()
        self._connect()

    @classmethod
    def make_hosts(cls, conf: cfg.ConfigOpts, state_path: Path) -> list[Self]:
        """Return the single driver of this machine, named after [DEFAULT] host."""
        return [cls(conf, conf.host, state_path / DIRECTORY_NAME)]

    def init_host(self, instances: Iterable[Instance]) -> None:
        try:
            private_files.make_directory(self._directory)
            for left in (TRASH, DRAFT):
                for path in self._directory.glob(f"{left}*"):
                    shutil.rmtree(path, ignore_errors=True)
        except OSError as error:
            raise exception.ConfigurationError(
                reason=f"cannot use the workload directory {self._directory}: {error}"
            ) from error
        self._cgroups = self._find_cgroups()
        limits_pids = self._cgroups is not None and "pids" in self._cgroups.controllers
        self._isolation = Isolation.decide(self._conf, self._directory, limits_pids=limits_pids)
        self._let_users_pass(self._isolation)
        self._look_inside()
        self._connect()
        self._strays.search({instance.uuid for instance in instances})
        for guest in self._workloads.list_guests():
            if not guest.is_confirmed:
                self._workloads.unconfirmed.add(guest.uuid)
            if guest.held == RUNNING:  # the agent was killed during a snapshot
                guest.let_continue()

    @property
    def keeps_lease(self) -> bool:
        return True

    def extend_lease(self, until: float, *, is_strict: bool) -> None:
        self._lease.extend(until, is_strict=is_strict)

    def note_unconfirmed(self, instance_uuids: Collection[str]) -> None:
        unconfirmed = self._workloads.unconfirmed
        for uuid in unconfirmed.difference(instance_uuids):
            self._workloads.get(uuid).confirm()
            unconfirmed.discard(uuid)

    def use_image_service(self, service: ImageService) -> None:
        self._images = self._image_cache(service)

    def _image_cache(self, service: ImageService | None = None) -> ImageCache:
        directory = Path(self._conf.image.store_path)
        return ImageCache(self._conf, directory, self.host, service=service)

    def cache_image(self, image: ImageMeta) -> None:
        if INSTANCE_UUID not in image.properties:
            if image.properties.get(COMMAND_PROPERTY):
                return  # it names a program, and has no data for workloads
            reason = "workloads use the data of images that were made of workloads, and no other"
        elif self._images.fetch(image):
            return
        else:
            reason = f"image {image.id} is not here, and there is no way to the image service"
        raise exception.OperationUnsupported(
            host=self.host, operation=Feature.IMAGE_CACHE.value, reason=reason
        )

    def expire_images(self) -> None:
        self._images.expire()

    def close(self) -> None:
        self._lease.close()

    def get_resources(self) -> HostResources:
        return dataclasses.replace(
            machine.resources(self._directory),
            vcpus=len(self._split.shared),
            pcpus=len(self._split.dedicated),
        )

    def get_numa_cells(self) -> Sequence[HostCell]:
        return self._cells

    def get_pci_devices(self) -> Sequence[PciDevice]:
        return self._devices

    def get_readings(self, kind: Kind) -> Readings | None:
        return self._meters.read(kind)

    def get_attributes(self) -> dict[str, object]:
        return {
            "hypervisor_type": HYPERVISOR_TYPE,
            "hypervisor_version": machine.kernel_version(),
            "hypervisor_hostname": self.node,
            "host_ip": self._host_ip,
            "cpu_info": machine.cpu_info(self._processor),
            "isolation": {} if self._isolation is None else dict(self._isolation.described),
            "supported_instances": [[machine.architecture(), HYPERVISOR_TYPE, "exe"]],
            "cached_images": self._images.list_ids(self._conf.image_cache.report_images_max),
        }

    def get_traits(self) -> frozenset[str]:
        traits = self._processor.traits()
        has_threads = any(cell.siblings for cell in self._cells) or (
            not self._cells and machine.has_hyperthreading()
        )
        return traits | {"HW_CPU_HYPERTHREADING"} if has_threads else traits

    def spawn(self, instance: Instance, place: InstancePlacement = ANYWHERE) -> GuestInfo:
        command = Command.of(instance)
        guest = self._workloads.get(instance.uuid)
        with self._locks.hold(instance.uuid):
            try:
                status = guest.status()
                if status is None or not status.is_known:
                    self._workloads.clear(guest)  # remains of a build that crashed
                    status = self._build(guest, instance, place, command)
                self._workloads.check_started(guest, status)
            except (exception.BuildFailed, exception.BuildAborted) as error:
                raise self._undone(guest, error) from error
            return info(guest)

    @contextlib.contextmanager
    def ready_to_rebuild(self, instance: Instance) -> Iterator[bool]:
        Command.of(instance)
        try:
            self._image_files(instance)
        except OSError as error:
            raise self._build_failed(instance, error) from error
        yield self._workloads.get(instance.uuid).exists or self._workloads.is_aside(instance.uuid)

    def set_aside(self, instance_uuid: str) -> None:
        with self._operating("Rebuild", instance_uuid):
            self._workloads.set_aside(self._workloads.get(instance_uuid))

    def put_back(self, instance: Instance, place: InstancePlacement) -> bool | None:
        with self._operating("Rebuild", instance.uuid):
            guest = self._workloads.get(instance.uuid)
            return self._workloads.put_back(guest, instance, place)

    def drop_aside(self, instance_uuid: str) -> None:
        with self._operating("Rebuild", instance_uuid):
            self._workloads.drop_aside(self._workloads.get(instance_uuid))

    def destroy(self, instance_uuid: str) -> None:
        guest = self._workloads.get(instance_uuid)
        if guest.exists:
            guest.stop()  # so that the holder of the lock releases it soon
        with self._locks.hold(instance_uuid):
            self._workloads.clear(guest)
            self._workloads.drop_aside(guest)

    def list_guests(self) -> list[GuestInfo]:
        return self._workloads.list_infos()

    @property
    def features(self) -> frozenset[Feature]:
        return frozenset(Feature) - {
            Feature.LIVE_MOVE, Feature.ADMIN_PASS, Feature.CRASH_DUMP, Feature.SERIAL_CONSOLE,
        }  # fmt: skip

    def _build(
        self, guest: ProcessGuest, instance: Instance, place: InstancePlacement, command: Command
    ) -> ProcessStatus:
        try:
            self._workloads.prepare(guest, instance, place, command, self._image_files(instance))
        except OSError as error:
            raise self._build_failed(instance, error) from error
        return self._workloads.start(guest)

    def _build_failed(self, instance: Instance, error: OSError) -> exception.BuildFailed:
        reason = f"starting it failed: {os.strerror(error.errno or 0)}"
        return exception.BuildFailed(instance_uuid=instance.uuid, host=self.host, reason=reason)

    def _image_files(self, instance: Instance) -> Sequence[File]:
        """Return the files of an image that was made of a workload. Raises BuildAborted, OSError.

        The data of other images means nothing here.
        """
        image = instance.image
        if image is None or INSTANCE_UUID not in image.properties:
            return ()
        path = SnapshotStore(self._conf).path(image.id)
        try:
            with self._images.held(image, instance.uuid):
                return self._read_image(instance, image, path)
        except (exception.NotFound, exception.Invalid, exception.Forbidden) as error:
            reason = error.message
            raise exception.BuildAborted(instance_uuid=instance.uuid, reason=reason) from error

    def _read_image(self, instance: Instance, image: ImageMeta, path: Path) -> Sequence[File]:
        if not path.exists():
            reason = f"this host does not have the data of image {image.id} in {path.parent}"
            raise exception.BuildFailed(instance_uuid=instance.uuid, host=self.host, reason=reason)
        try:
            bytes_max = self._conf.process.move_files_max_bytes
            return process_archives.read(path, bytes_max, image.sha512)
        except ValueError as error:
            reason = f"the data of image {image.id} cannot be used: {error}"
            raise exception.BuildAborted(instance_uuid=instance.uuid, reason=reason) from error

    def _undone(
        self, guest: ProcessGuest, error: exception.ArmillaryError
    ) -> exception.ArmillaryError:
        """Undo a partial build, and return the error to raise."""
        try:
            self._workloads.clear(guest)
        except OSError as undo_error:  # TimeoutError is one
            LOG.warning("%s: cannot remove what its build left: %s", guest.uuid, undo_error)
        return error

    # Startup --------------------------------------------------------------------------------------

    def _connect(self) -> None:
        """Manage the workloads with the detected resources of this machine."""
        directories = InstanceDirectories(self._directory)
        specs = SpecMaker(
            self._conf, self._cgroups, self._split, self._cells, self._isolation,
            lambda: list_guests(directories, self.host), self._lease.path, self._strays,
        )  # fmt: skip
        self._workloads = Workloads(
            self._conf, self.host, directories, specs, self._cgroups, self._strays
        )

    def _look_inside(self) -> None:
        """Read CPUs, NUMA cells and devices once; they only change with a reboot."""
        self._split = CpuSplit.of(self._conf, frozenset(os.sched_getaffinity(0)))
        specs = DeviceSpec.parse_all(self._conf.pci.device_spec)
        try:
            self._cells = machine_numa.cells(self._split)
        except (OSError, ValueError) as error:
            LOG.warning("Cannot read the NUMA cells of this machine, reporting none: %s", error)
        if specs:
            self._devices = pick(machine_pci.devices(), specs)
            LOG.info("[pci] device_spec: PCI devices for workloads: %d", len(self._devices))

    def _let_users_pass(self, isolation: Isolation) -> None:
        """Let other users reach their workloads' homes, if they see this machine's directories.

        They may pass the directories, and read none.
        """
        self._directory.chmod(0o711 if isolation.is_other_user else 0o700)
        if not isolation.is_other_user or isolation.namespaces.has_mounts:
            return
        state = self._directory.parent.absolute()
        if state.stat().st_uid == os.geteuid():
            state.chmod(stat.S_IMODE(state.stat().st_mode) | 0o011)
        closed = [str(path) for path in state.parents if not may_pass(path)]
        if closed:
            LOG.warning(
                "Workloads start in their homes and cannot name them: their users may not pass %s; "
                "choose another [DEFAULT] state_path", ", ".join(closed),
            )  # fmt: skip

    def _find_cgroups(self) -> cgroups.Cgroups | None:
        options = self._conf.process
        if options.limits == "rlimit":
            LOG.info("Workload limits: resource limits and CPU affinity, as configured")
            return None
        found = cgroups.find(options.cgroup_parent, self.host)
        if options.limits == "cgroup" and (found is None or not found.can_limit):
            raise exception.ConfigurationError(
                reason="[process] limits = cgroup, but the agent may not create cgroups v2 with "
                "the controllers cpu and memory; run it as root, let systemd delegate them, or "
                "set limits = auto"
            )
        if found is not None and found.can_limit:
            LOG.info("Workload limits: cgroups below %s", found.parent)
        else:
            LOG.info(
                "Workload limits: resource limits (memory per process) and CPU affinity; "
                "the agent may not create cgroups with the controllers cpu and memory"
            )
        return found
