"""libvirt driver: virtual machines on this machine's libvirt daemon."""

import dataclasses
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from oslo_config import cfg

from armillary import concurrency, exception
from compute_agent.host.pci_devices import PciDevice
from compute_agent.virt.driver import Feature, HostResources, Readings
from compute_agent.virt.image_service import ImageService
from compute_agent.virt.libvirt import connection
from compute_agent.virt.libvirt.capabilities import cpu_info, supported_instances
from compute_agent.virt.libvirt.disks import config_disks, hypervisor_access, storages
from compute_agent.virt.libvirt.disks.storage import GIB
from compute_agent.virt.libvirt.domain import guest_networks
from compute_agent.virt.libvirt.guests import Guests
from compute_agent.virt.libvirt.host_properties import HostFacts
from compute_agent.virt.libvirt.operations import LibvirtOperations
from compute_agent.virt.machine import machine
from compute_agent.virt.machine.machine_metrics import MachineMeters
from compute_agent.virt.metrics import Kind
from objects.images.image_meta import ImageMeta
from objects.instance import Instance
from objects.numa import HostCell

LOG = logging.getLogger(__name__)


class LibvirtDriver(LibvirtOperations):
    """This machine as a host of virtual machines, named after [DEFAULT] host.

    Guests are persistent domains with the instance's UUID, identified by our metadata. The daemon
    stores them; this object has no state of its own. Each guest has a directory below
    ``[libvirt] instances_path``.
    """

    def __init__(self, conf: cfg.ConfigOpts, library: Any) -> None:
        super().__init__(conf, library)
        self._connection = connection.Connection(library, conf.libvirt.connection_uri)
        self._meters = MachineMeters(Path(conf.libvirt.instances_path))
        self._devices: tuple[PciDevice, ...] = ()
        self._facts_found: HostFacts | None = None
        self._image_service: ImageService | None = None

    @classmethod
    def make_hosts(cls, conf: cfg.ConfigOpts, state_path: Path) -> list[Self]:
        """Return the single driver of this machine. Raises ConfigurationError."""
        if concurrency.backend() != concurrency.THREADING:
            raise exception.ConfigurationError(
                reason="[compute] driver = libvirt needs [DEFAULT] concurrency_backend = "
                "threading, because libvirt's calls would block all green threads"
            )
        return [cls(conf, connection.load_library())]

    def init_host(self, instances: Iterable[Instance]) -> None:
        options = self._conf.libvirt
        storages.check_options(self._conf)
        if options.force_config_drive and config_disks.program() is None:
            raise exception.ConfigurationError(
                reason="[libvirt] force_config_drive needs a program that writes config drives: "
                f"install one of {', '.join(config_disks.PROGRAMS)}"
            )
        try:
            hypervisor_access.make_directory(Path(options.instances_path))
        except OSError as error:
            raise exception.ConfigurationError(
                reason=f"[libvirt] instances_path: {options.instances_path}: {error.strerror}"
            ) from error
        try:
            self._facts_found = HostFacts(self._conf, self._connection)
        except exception.Unavailable as error:
            raise exception.ConfigurationError(
                reason=f"[libvirt] connection_uri: {error.kwargs['reason']}"
            ) from error
        guest_networks.check(self._conf, self._library, self._connection.get())
        self._open_ways()
        self._devices = self._facts.pci_devices()
        storage = storages.of(self._conf)
        self._use(
            Guests(
                self._conf, self.host, self._connection, self._facts, storage,
                image_service=self._image_service,
            )
        )  # fmt: skip
        self._end_copies()
        self._keep_room()

    def _open_ways(self) -> None:
        """Let the hypervisor's user reach the directories of guests and of their images."""
        options, own = self._conf.libvirt, Path(self._conf.state_path)
        user = self._facts.hypervisor_user
        instances, images = Path(options.instances_path), Path(options.images_path)
        hypervisor_access.open_way(instances, user, own, "[libvirt] instances_path")
        if options.images_type != "qcow2":  # guests' disks do not refer to them
            return
        if self._conf.glance.auth_type is not None:  # the agent fetches images to there
            try:
                hypervisor_access.make_directory(images)
            except OSError as error:
                raise exception.ConfigurationError(
                    reason=f"[libvirt] images_path: {images}: {error.strerror}"
                ) from error
        if images.is_dir():
            hypervisor_access.open_way(images, user, own, "[libvirt] images_path")

    def close(self) -> None:
        self._connection.close()

    # The host -------------------------------------------------------------------------------------

    def get_resources(self) -> HostResources:
        split = self._facts.split
        instances = Path(self._conf.libvirt.instances_path)
        room = self._guests.storage.room(instances)
        return dataclasses.replace(
            machine.resources(instances),
            disk_gb=room.total_bytes // GIB if self._conf.libvirt.report_disk else 0,
            disk_available_least=room.free_bytes // GIB - self._guests.disk_growth_gb(),
            vcpus=len(split.shared),
            pcpus=len(split.dedicated),
            memory_mb=self._facts.memory_mb,
        )

    def get_attributes(self) -> dict[str, Any]:
        facts = self._facts
        return {
            "hypervisor_type": facts.hypervisor_type,
            "hypervisor_version": facts.hypervisor_version,
            "hypervisor_hostname": self.node,
            "host_ip": self._conf.my_ip or machine.own_address(),
            "cpu_info": cpu_info(facts.cpu),
            "supported_instances": supported_instances(facts.kinds, facts.virt_type),
            "cached_images": self._guests.image_cache.list_ids(
                self._conf.image_cache.report_images_max
            ),
        }

    def get_traits(self) -> frozenset[str]:
        return self._facts.traits()

    def get_numa_cells(self) -> Sequence[HostCell]:
        return self._facts.cells

    def get_pci_devices(self) -> Sequence[PciDevice]:
        return self._devices

    def get_readings(self, kind: Kind) -> Readings | None:
        return self._meters.read(kind)

    @property
    def features(self) -> frozenset[Feature]:
        can = frozenset(Feature) - {Feature.LIVE_MOVE, Feature.ADMIN_PASS}
        return can | {Feature.LIVE_MOVE} if self._facts.capabilities.migrates_live else can

    @property
    def _facts(self) -> HostFacts:
        assert self._facts_found is not None  # set by init_host
        return self._facts_found

    def use_image_service(self, service: ImageService) -> None:
        self._image_service = service

    def cache_image(self, image: ImageMeta) -> None:
        self._guests.cache_image(image)

    def expire_images(self) -> None:
        self._guests.image_cache.expire()
