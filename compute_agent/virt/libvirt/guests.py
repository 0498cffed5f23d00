"""Guests of one host: find, define, start, stop and remove them."""

import contextlib
import dataclasses
import itertools
import logging
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from oslo_config import cfg

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE, InstancePlacement
from compute_agent.virt.driver import SHUTDOWN, Feature, GuestInfo
from compute_agent.virt.image_cache import ImageCache
from compute_agent.virt.image_service import ImageService
from compute_agent.virt.instance_directories import InstanceDirectories
from compute_agent.virt.libvirt import ownership, power_states
from compute_agent.virt.libvirt.capabilities import GuestKind
from compute_agent.virt.libvirt.connection import Connection
from compute_agent.virt.libvirt.disks import disk_room, file_storage, hypervisor_access, images
from compute_agent.virt.libvirt.disks.disk_room import DiskRoom
from compute_agent.virt.libvirt.disks.file_storage import FileStorage
from compute_agent.virt.libvirt.disks.images import BadImage
from compute_agent.virt.libvirt.disks.instance_files import InstanceFiles
from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from compute_agent.virt.libvirt.disks.storage import GIB, DiskStorage, Role
from compute_agent.virt.libvirt.domain import domain_xml, guest_networks, live_xml
from compute_agent.virt.libvirt.domain.domain_xml import GuestSpec
from compute_agent.virt.libvirt.domain.guest_devices import GuestDevices
from compute_agent.virt.libvirt.domain.guest_disks import BUSES, GuestDisk
from compute_agent.virt.libvirt.domain.guest_hardware import GuestHardware
from compute_agent.virt.libvirt.domain.pins import Pins
from compute_agent.virt.libvirt.host_properties import HostFacts
from compute_agent.virt.libvirt.record import NAMESPACE, PREFIX, DiskSizes, GuestRecord
from objects.images.image_meta import ImageMeta
from objects.instance import Instance

LOG = logging.getLogger(__name__)

POLL_SECONDS = 0.25
DEFAULT_BUS = "virtio"


class Guests:
    """Single steps on guests. Raises libvirt's errors (libvirtError)."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        host: str,
        connection: Connection,
        facts: HostFacts,
        storage: DiskStorage,
        *,
        image_service: ImageService | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._conf = conf
        self.host = host
        self.connection = connection
        self.facts = facts
        self.storage = storage
        self.disk_room = DiskRoom()
        self._local = storage if storage.is_in_directory else FileStorage()
        self._local.copy_seconds = storage.copy_seconds
        self._sleep = sleep
        self._clock = clock
        self._directories = InstanceDirectories(Path(conf.libvirt.instances_path))
        self.image_directory = Path(conf.libvirt.images_path)
        self.image_cache = ImageCache(
            conf, self.image_directory, host, self._bases, service=image_service
        )

    @property
    def library(self) -> Any:
        return self.connection.library

    def files(self, uuid: str) -> InstanceFiles:
        """Return the files of a guest, whether or not they exist.

        Raises Invalid if it is not a UUID, OSError if its directory is a symbolic link.
        """
        return self._files_in(self._directories.of(uuid))

    def former_files(self, uuid: str) -> InstanceFiles:
        """Return what a guest had before its rebuild, whether or not it exists. Raises as files."""
        return self._files_in(self._directories.former(uuid))

    def all_files(self) -> Iterator[InstanceFiles]:
        """Yield the files of each guest. Raises OSError."""
        return map(self._files_in, self._directories.list())

    def _files_in(self, directory: Path) -> InstanceFiles:
        """Return the files in a directory; a disk that is there outlives a change of storage."""
        is_local = self._local.find(directory, Role.ROOT) is not None
        return InstanceFiles(directory, self._local if is_local else self.storage)

    def disk_growth_gb(self) -> int:
        """Return by how many GiB the disks of all guests may still grow, rounded up."""
        return math.ceil(sum(each.growth_bytes() for each in self.all_files()) / GIB)

    # Finding --------------------------------------------------------------------------------------

    def find(self, uuid: str) -> Any:
        """Return the domain of one of our guests, or None."""
        try:
            domain = self.connection.get().lookupByUUIDString(uuid)
            return domain if self.record(domain) is not None else None
        except self.library.libvirtError as error:
            if self._is(error, "VIR_ERR_NO_DOMAIN"):
                return None
            raise

    def running(self) -> Iterator[Any]:
        """Yield the domains of our guests that run, or are paused."""
        for domain in self.connection.get().listAllDomains(
            self.library.VIR_CONNECT_LIST_DOMAINS_ACTIVE
        ):
            try:
                if self.record(domain) is not None:
                    yield domain
            except self.library.libvirtError as error:
                if not self._is(error, "VIR_ERR_NO_DOMAIN"):  # it ended meanwhile
                    raise

    def is_undefined(self, uuid: str) -> bool:
        """Return whether only the definition of a guest of this host is missing.

        Raises OSError.
        """
        files = self.files(uuid)
        if not files.exists or files.root is None:
            return False
        note = files.read_note()
        return note.owner == self.host and not note.is_moving

    def record(self, domain: Any) -> GuestRecord | None:
        """Return the record in a guest's metadata; None if it is not one of ours."""
        library = self.library
        try:
            text = domain.metadata(library.VIR_DOMAIN_METADATA_ELEMENT, NAMESPACE, 0)
            return GuestRecord.from_text(text)
        except library.libvirtError as error:
            if self._is(error, "VIR_ERR_NO_DOMAIN_METADATA"):
                return None
            raise
        except ValueError as error:
            LOG.warning("%s: %s", domain.UUIDString(), error)
            return None

    def list(self) -> Iterator[GuestInfo]:
        """Yield every guest: those that are defined, and those with only files."""
        seen = set()
        for domain in self.connection.get().listAllDomains(0):
            try:
                info = self.info(domain)
            except self.library.libvirtError as error:
                if not self._is(error, "VIR_ERR_NO_DOMAIN"):  # it was removed meanwhile
                    raise
                continue
            if info is not None:
                seen.add(info.instance_uuid)
                yield info
        for directory in self._directories.list():
            if directory.name in seen:
                continue
            note = self._files_in(directory).read_note()
            if note.owner == self.host:
                seen.add(directory.name)
                yield GuestInfo(directory.name, SHUTDOWN, is_moving=note.is_moving)
        for directory in self._directories.list_former():
            is_ours = self._files_in(directory).read_note().is_of(self.host)
            if is_ours and directory.stem not in seen:
                yield GuestInfo(directory.stem, SHUTDOWN)

    def info(self, domain: Any) -> GuestInfo | None:
        """Return a guest's current state; None if it is not one of ours."""
        record = self.record(domain)
        if record is None:
            return None
        uuid = domain.UUIDString()
        power_state = power_states.power_state(self.library, domain)
        is_off = power_state == SHUTDOWN
        return GuestInfo(
            uuid,
            power_state,
            place=None if record.place.is_anywhere else record.place,
            reason=power_states.reason_of(self.library, domain, power_state),
            is_moving=is_off and self.files(uuid).read_note().is_moving,
        )

    def is_running(self, domain: Any) -> bool:
        """Return whether it runs here; an incoming migration does not count."""
        return power_states.is_running(self.library, domain)

    # Changing -------------------------------------------------------------------------------------

    def define(
        self,
        instance: Instance,
        place: InstancePlacement = ANYWHERE,
        least: DiskSizes | None = None,
    ) -> Any:
        """Define a guest that is off with its current properties, replacing its definition.

        Raises DiskError, BadImage.
        """
        spec = self.spec(instance, place, least)
        return self.connection.get().defineXML(domain_xml.build(spec))

    def spec(
        self, instance: Instance, place: InstancePlacement, least: DiskSizes | None = None
    ) -> GuestSpec:
        """Return the inputs of a guest's definition. Raises DiskError, BadImage."""
        files = self.files(instance.uuid)
        kind = self.kind(instance)
        disks: tuple[GuestDisk, ...] = files.disks(instance.flavor)
        return GuestSpec(
            uuid=instance.uuid,
            record=GuestRecord.of(instance, place, least),
            domain_type=self.facts.virt_type,
            arch=kind.arch,
            mode=kind.mode,
            machine=self.facts.machine_for(kind, instance.image),
            cpu=self.facts.cpus.for_guest(instance),
            pins=Pins.of(place, self.facts.cells, self.facts.split),
            disks=disks,
            disk_bus=disk_bus(instance),
            console_path=str(files.console),
            network=guest_networks.network_of(instance, self._conf),
            network_filter=guest_networks.filter_of(self._conf),
            devices=GuestDevices.of(instance),
            hardware=GuestHardware.of(instance, str(files.nvram), kind.arch),
        )

    def settle(self, domain: Any, record: GuestRecord) -> None:
        """Record that the last resize of a guest is final: its disks may not be smaller."""
        if record.least == record.disks:
            return
        settled = dataclasses.replace(record, least=record.disks)
        library = self.library
        flags = library.VIR_DOMAIN_AFFECT_CONFIG
        if domain.isActive():
            flags |= library.VIR_DOMAIN_AFFECT_LIVE
        domain.setMetadata(
            library.VIR_DOMAIN_METADATA_ELEMENT, settled.to_text(), PREFIX, NAMESPACE, flags
        )

    @contextlib.contextmanager
    def room_held(self, files: InstanceFiles, role: Role, needed: int) -> Iterator[None]:
        """Keep room on this host for a disk that is being made. Raises DiskError, OSError.

        No other host knows of it, so what several hosts share may be full nevertheless.
        """
        if not files.storage.is_in_directory:
            disk_room.check_storage(files.storage, needed)
            yield
            return
        path = files.storage.draft_path(files.directory, role)
        with self.disk_room.held([(path if files.exists else files.directory, needed)]):
            yield

    def kind(self, instance: Instance) -> GuestKind:
        """Return the kind of a guest here. Raises DiskError for an unsupported architecture."""
        kind = self.facts.kind_for(instance.image)
        if kind is None:
            raise DiskError("this host does not support the image's architecture")
        return kind

    @contextlib.contextmanager
    def held_image(self, image: ImageMeta | None, instance_uuid: str) -> Iterator[None]:
        """Have an image's data on this host, at least until a disk refers to it.

        Raises BadImage, Unavailable, OSError.
        """
        with contextlib.ExitStack() as stack:
            if image is not None and images.FILE_PROPERTY not in image.properties:
                try:
                    stack.enter_context(self.image_cache.held(image, instance_uuid))
                except (exception.NotFound, exception.Invalid, exception.Forbidden) as error:
                    raise BadImage(error.message) from error
            yield

    def cache_image(self, image: ImageMeta) -> None:
        """Have an image's data on this host. Raises as ``ComputeDriver.cache_image``."""
        if images.FILE_PROPERTY not in image.properties and self.image_cache.fetch(image):
            return
        try:
            is_here = images.file_of(image, self.image_directory).path.is_file()
        except (BadImage, DiskError) as error:
            raise exception.Invalid(reason=str(error)) from error
        if not is_here:
            raise exception.OperationUnsupported(
                host=self.host, operation=Feature.IMAGE_CACHE.value,
                reason=f"image {image.id} is not in {self.image_directory}, and cannot be fetched",
            )  # fmt: skip

    def _bases(self) -> set[Path]:
        """Return the files that guests' disks refer to. Raises OSError."""
        directories = itertools.chain(self._directories.list(), self._directories.list_former())
        return {base for each in directories for base in file_storage.bases_in(each)}

    def start(self, domain: Any) -> None:
        """Start a guest; a running one keeps running. Raises OSError."""
        if not domain.isActive():
            directory = self.files(domain.UUIDString()).directory
            hypervisor_access.give(directory, self.facts.hypervisor_user)
        try:
            domain.create()
        except self.library.libvirtError:
            if not domain.isActive():
                raise

    def need_disks(self, domain: Any) -> None:
        """Raise DiskError if a file that a running guest has open was removed.

        The data is gone when the guest ends. Its rescue disk may go; OSError is raised, too.
        """
        if not domain.isActive():
            return
        files = self.files(domain.UUIDString())
        for path in live_xml.disk_paths(domain.XMLDesc(0)):
            if not path.exists() and not files.is_rescue(str(path)):
                raise DiskError(
                    f"its disk {path} is missing, and its data is lost when the guest ends; have "
                    "the hypervisor write it again (virsh blockcopy), or rebuild or delete the "
                    "server"
                )

    def shut_down(self, domain: Any, grace_seconds: float = 0) -> None:
        """Ask a guest to shut down, and kill it after the grace period. Raises as need_disks.

        Without a grace period, it is killed immediately.
        """
        self.need_disks(domain)
        self.keep_defined(domain)
        if grace_seconds > 0 and domain.isActive():
            try:
                domain.shutdown()
            except self.library.libvirtError as error:
                LOG.info("%s cannot be asked to shut down: %s", domain.UUIDString(), error)
            else:
                self._await_end(domain, grace_seconds)
        self._end(domain)
        if domain.hasManagedSaveImage(0):
            domain.managedSaveRemove(0)

    def keep_defined(self, domain: Any) -> None:
        """Define a running guest again that was undefined, as its domain would end with it."""
        if domain.isPersistent() or not self.is_running(domain):
            return
        library = self.library
        flags = library.VIR_DOMAIN_XML_INACTIVE | library.VIR_DOMAIN_XML_SECURE
        LOG.warning("%s was undefined while it runs; defining it again", domain.UUIDString())
        self.connection.get().defineXML(domain.XMLDesc(flags))

    def remove(self, uuid: str) -> None:
        """Stop a guest and remove all that this host owns of it; a missing one is ignored.

        Raises OSError.
        """
        self.disk_room.release(uuid)
        domain = self.find(uuid)
        if domain is not None:
            self.forget(domain)
        files = self.files(uuid)
        if not files.exists:
            return
        if ownership.let_go(files, self.host):
            files.remove()
        else:
            files.leave()

    def forget(self, domain: Any) -> None:
        """Stop and undefine a guest, and keep its files."""
        self._end(domain)
        self._undefine(domain)

    def _await_end(self, domain: Any, seconds: float) -> None:
        give_up_at = self._clock() + seconds
        while domain.isActive() and (left := give_up_at - self._clock()) > 0:
            self._sleep(min(POLL_SECONDS, left))

    def _end(self, domain: Any) -> None:
        try:
            if domain.isActive():
                domain.destroy()
        except self.library.libvirtError:
            if self._is_active(domain):
                raise

    def _undefine(self, domain: Any) -> None:
        library = self.library
        flags = (
            library.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE
            | library.VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA
        )
        if "<nvram" in domain.XMLDesc(0):  # its file may be another host's by now
            flags |= library.VIR_DOMAIN_UNDEFINE_KEEP_NVRAM
        try:
            domain.undefineFlags(flags)
        except library.libvirtError as error:
            if not self._is(error, "VIR_ERR_NO_DOMAIN"):  # a transient domain is already gone
                raise

    def _is_active(self, domain: Any) -> bool:
        try:
            return bool(domain.isActive())
        except self.library.libvirtError as error:
            if self._is(error, "VIR_ERR_NO_DOMAIN"):
                return False
            raise

    def _is(self, error: Any, name: str) -> bool:
        return bool(error.get_error_code() == getattr(self.library, name))


def disk_bus(instance: Instance) -> str:
    """Return the bus of a guest's disks. Raises BadImage for an unsupported one."""
    properties = instance.image.properties if instance.image is not None else {}
    bus: str = properties.get("hw_disk_bus") or DEFAULT_BUS
    if bus not in BUSES:
        raise BadImage(f"hw_disk_bus is {bus}; supported are {', '.join(sorted(BUSES))}")
    return bus
