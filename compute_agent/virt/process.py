"""Workloads that are operating-system processes, within the limits of their flavors.

An image names the program: ``process_command`` is a command line in shell quoting (no shell runs
it), and ``process_environment`` a JSON object of texts. Each workload has a directory, which is its
HOME and working directory, and a small process beside it that outlives the agent
(``process_shim``).
"""

from __future__ import annotations

import collections
import dataclasses
import json
import logging
import os
import pwd
import shlex
import shutil
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from oslo_config import cfg

from armillary import exception
from compute_agent.instance_place import ANYWHERE, InstancePlace
from compute_agent.pci_devices import PciDevice
from compute_agent.virt import cgroups, machine, machine_numa, machine_pci
from compute_agent.virt.cpu_split import CpuSplit
from compute_agent.virt.device_spec import DeviceSpec, pick
from compute_agent.virt.driver import ComputeDriver, GuestInfo, HostResources, Readings
from compute_agent.virt.machine_cpu import CpuMeter
from compute_agent.virt.process_guest import ProcessGuest, ProcessSpec, ProcessStatus
from objects.flavor import Flavor
from objects.instance import Instance
from objects.numa import HostCell, format_cpus

LOG = logging.getLogger(__name__)

DIRECTORY_NAME = "processes"
HYPERVISOR_TYPE = "process"
COMMAND_PROPERTY = "process_command"
ENVIRONMENT_PROPERTY = "process_environment"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
UUID_VARIABLE = "ARMILLARY_INSTANCE_UUID"
CPUS_VARIABLE = "ARMILLARY_CPUS"
CELLS_VARIABLE = "ARMILLARY_NUMA_CELLS"
DEVICES_VARIABLE = "ARMILLARY_PCI_DEVICES"


class ProcessDriver(ComputeDriver):
    """This machine as a host. One directory below the state directory holds all its workloads."""

    def __init__(self, conf: cfg.ConfigOpts, host: str, directory: Path) -> None:
        self._conf = conf
        self._host = host
        self._directory = directory
        self._cgroups: cgroups.Cgroups | None = None
        self._processor = machine.processor()
        self._host_ip = conf.my_ip or machine.own_address()
        self._prepare_lock = threading.Lock()
        self._cpu_meter = CpuMeter()
        available = frozenset(os.sched_getaffinity(0))
        self._split = CpuSplit(available, frozenset(), is_configured=False)
        self._cells: tuple[HostCell, ...] = ()
        self._devices: tuple[PciDevice, ...] = ()

    @classmethod
    def make_hosts(cls, conf: cfg.ConfigOpts, state_path: Path) -> list[Self]:
        """Return the one driver of this machine, called as the machine is ([DEFAULT] host)."""
        return [cls(conf, conf.host, state_path / DIRECTORY_NAME)]

    @property
    def host(self) -> str:
        return self._host

    def init_host(self, instances: Iterable[Instance]) -> None:
        options = self._conf.process
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._directory.chmod(0o711 if options.workload_user else 0o700)
            for trash in self._directory.glob(".trash-*"):
                shutil.rmtree(trash, ignore_errors=True)
        except OSError as error:
            raise exception.ConfigurationError(
                reason=f"workloads need the directory {self._directory}: {error}"
            ) from error
        self._check_user(options.workload_user)
        self._cgroups = self._find_cgroups()
        self._look_inside()

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

    def get_cpu_readings(self) -> Readings | None:
        return self._cpu_meter.read()

    def get_attributes(self) -> dict[str, Any]:
        return {
            "hypervisor_type": HYPERVISOR_TYPE,
            "hypervisor_version": machine.kernel_version(),
            "hypervisor_hostname": self.node,
            "host_ip": self._host_ip,
            "cpu_info": machine.cpu_info(self._processor),
            "supported_instances": [[machine.architecture(), HYPERVISOR_TYPE, "exe"]],
        }

    def get_traits(self) -> frozenset[str]:
        traits = self._processor.traits()
        has_threads = any(cell.siblings for cell in self._cells) or (
            not self._cells and machine.has_hyperthreading()
        )
        return traits | {"HW_CPU_HYPERTHREADING"} if has_threads else traits

    def spawn(self, instance: Instance, place: InstancePlace = ANYWHERE) -> GuestInfo:
        argv, environment = self._command(instance)
        environment |= self._place_environment(place)
        guest = self._guest(instance.uuid)
        status = guest.status()
        if status is None or not status.is_known:
            self._clear(guest)  # what a crash in the middle of a build may have left
            status = self._start(guest, instance, place, argv, environment)
        if self._has_failed(status):
            raise self._undone(guest, self._exit_error(guest, status))
        return _info(guest, status)

    def destroy(self, instance_uuid: str) -> None:
        self._clear(self._guest(instance_uuid))

    def list_guests(self) -> list[GuestInfo]:
        return [
            _info(guest, guest.status() or ProcessStatus(False))
            for guest in self._guests()
            if guest.exists
        ]

    def _guest(self, uuid: str) -> ProcessGuest:
        return ProcessGuest(self._directory / uuid, self.host)

    def _guests(self) -> Iterable[ProcessGuest]:
        for path in sorted(self._directory.iterdir()):
            if not path.name.startswith("."):
                yield ProcessGuest(path, self.host)

    # Starting -------------------------------------------------------------------------------------

    def _command(self, instance: Instance) -> tuple[list[str], dict[str, str]]:
        properties = instance.image.properties if instance.image is not None else {}
        try:
            argv = shlex.split(properties.get(COMMAND_PROPERTY, ""))
            environment = json.loads(properties.get(ENVIRONMENT_PROPERTY) or "{}")
        except ValueError as error:
            reason = f"the image's command or environment is malformed: {error}"
            raise _aborted(instance, reason) from error
        if not argv or not argv[0]:
            raise _aborted(instance, f"the image has no property {COMMAND_PROPERTY}")
        if not _is_environment(environment):
            raise _aborted(instance, f"{ENVIRONMENT_PROPERTY} is not a JSON object of texts")
        if any("\0" in text for text in argv):
            raise _aborted(instance, "the image's command contains a zero byte")
        home = str(self._guest(instance.uuid).home)
        return argv, {"PATH": PATH, "HOME": home, **environment, UUID_VARIABLE: instance.uuid}

    def _place_environment(self, place: InstancePlace) -> dict[str, str]:
        """Return what a workload is told of its place; nothing if it sits anywhere."""
        told = {}
        topology = place.numa_topology
        if topology is not None:
            told[CPUS_VARIABLE] = format_cpus(place.cpus(self._cells) or ())
            told[CELLS_VARIABLE] = format_cpus(topology.host_cells)
        if place.pci_devices:
            told[DEVICES_VARIABLE] = ",".join(device.address for device in place.pci_devices)
        return told

    def _start(
        self,
        guest: ProcessGuest,
        instance: Instance,
        place: InstancePlace,
        argv: list[str],
        environment: dict[str, str],
    ) -> ProcessStatus:
        try:
            with self._prepare_lock:  # CPUs are chosen by what the others have written down
                guest.prepare(self._spec(instance, place, argv, environment))
            guest.start(self._conf.process.start_timeout_seconds)
        except (exception.BuildFailed, exception.BuildAborted) as error:
            raise self._undone(guest, error) from error
        except OSError as error:
            failed = exception.BuildFailed(
                instance_uuid=instance.uuid, host=self.host,
                reason=f"starting it failed: {os.strerror(error.errno or 0)}",
            )  # fmt: skip
            raise self._undone(guest, failed) from error
        return guest.settle(self._conf.process.settle_seconds)

    def _spec(
        self,
        instance: Instance,
        place: InstancePlace,
        argv: list[str],
        environment: dict[str, str],
    ) -> ProcessSpec:
        options = self._conf.process
        flavor = instance.flavor
        controllers = self._cgroups.controllers if self._cgroups is not None else frozenset()
        return ProcessSpec(
            argv=argv,
            environment=environment,
            cgroup=self._make_cgroup(instance.uuid, flavor, place),
            rlimits=_rlimits(flavor, limits_memory="memory" not in controllers),
            cpus=self._cpus(flavor.vcpus, place, has_quota="cpu" in controllers),
            user=options.workload_user,
            stop_grace_seconds=options.stop_grace_seconds,
            console_max_bytes=options.console_max_bytes,
            place=None if place.is_anywhere else place.to_plain(),
        )

    def _make_cgroup(self, uuid: str, flavor: Flavor, place: InstancePlace) -> str | None:
        if self._cgroups is None:
            return None
        topology = place.numa_topology
        path = self._cgroups.create(
            uuid,
            memory_mb=flavor.memory_mb,
            swap_mb=flavor.swap_mb,
            vcpus=max(1, flavor.vcpus),
            cpus=self._own_or_shared(place),
            cells=topology.host_cells if topology is not None else None,
        )
        return str(path)

    def _cpus(self, vcpus: int, place: InstancePlace, *, has_quota: bool) -> list[int] | None:
        """Return the CPUs a workload may run on; None: wherever the agent may."""
        if place.numa_topology is None and not has_quota:
            return self._choose_cpus(vcpus)
        cpus = self._own_or_shared(place)
        return None if cpus is None else sorted(cpus)

    def _own_or_shared(self, place: InstancePlace) -> frozenset[int] | None:
        """Return the CPUs of its place, else those that are shared if these are not simply all."""
        own = place.cpus(self._cells)
        if own is None and self._split.is_configured:
            return self._split.shared
        return own

    def _choose_cpus(self, vcpus: int) -> list[int] | None:
        """Return the CPUs that the fewest workloads share; None when all of them are asked."""
        available = self._split.shared
        if vcpus >= len(available):
            return sorted(available) if self._split.is_configured else None
        shares: collections.Counter[int] = collections.Counter()
        for guest in self._guests():
            shares.update((guest.spec() or {}).get("cpus") or ())
        return sorted(sorted(available, key=lambda cpu: (shares[cpu], cpu))[: max(1, vcpus)])

    def _has_failed(self, status: ProcessStatus) -> bool:
        """Whether it ended badly while it was still being watched, or nobody knows how."""
        if status.is_running or status.exit_code == 0:
            return False
        return status.seconds is None or status.seconds <= self._conf.process.settle_seconds

    def _exit_error(self, guest: ProcessGuest, status: ProcessStatus) -> exception.BuildFailed:
        line = guest.last_line()
        return exception.BuildFailed(
            instance_uuid=guest.uuid, host=self.host,
            reason=f"its process ended at once with exit code {status.exit_code}"
            + (f"; its last line was: {line}" if line else ""),
        )  # fmt: skip

    # Undoing --------------------------------------------------------------------------------------

    def _undone(
        self, guest: ProcessGuest, error: exception.ArmillaryError
    ) -> exception.ArmillaryError:
        """Undo what was begun, and return the error to raise."""
        try:
            self._clear(guest)
        except (OSError, TimeoutError) as undo_error:
            LOG.warning("%s: what its build left could not be removed: %s", guest.uuid, undo_error)
        return error

    def _clear(self, guest: ProcessGuest) -> None:
        """Stop a workload and remove all of it; none there is fine."""
        if guest.exists:
            guest.stop()
        if self._cgroups is not None:
            self._cgroups.destroy(guest.uuid)
        guest.remove()

    # At start -------------------------------------------------------------------------------------

    def _look_inside(self) -> None:
        """Read CPUs, NUMA cells and devices once; they change when the machine starts anew."""
        self._split = CpuSplit.of(self._conf, frozenset(os.sched_getaffinity(0)))
        specs = [DeviceSpec.parse(text) for text in self._conf.pci.device_spec]
        try:
            self._cells = machine_numa.cells(self._split)
        except (OSError, ValueError) as error:
            LOG.warning("The NUMA cells of this machine cannot be read, none are told: %s", error)
        if specs:
            self._devices = pick(machine_pci.devices(), specs)
            LOG.info("%d PCI devices are for workloads ([pci] device_spec)", len(self._devices))

    def _check_user(self, name: str | None) -> None:
        if name is None:
            return
        try:
            pwd.getpwnam(name)
        except KeyError as error:
            raise exception.ConfigurationError(
                reason=f"[process] workload_user: this machine has no user {name}"
            ) from error
        if os.geteuid() != 0:
            raise exception.ConfigurationError(
                reason="[process] workload_user is set, and the agent does not run as root"
            )

    def _find_cgroups(self) -> cgroups.Cgroups | None:
        options = self._conf.process
        if options.limits == "rlimit":
            LOG.info("Limits of workloads: resource limits and CPU affinity, as configured")
            return None
        found = cgroups.find(options.cgroup_parent)
        if options.limits == "cgroup" and (found is None or not found.can_limit):
            raise exception.ConfigurationError(
                reason="[process] limits = cgroup, and the agent may not create cgroups of "
                "version 2 with the controllers cpu and memory; run it as root, have systemd "
                "delegate them, or set limits = auto"
            )
        if found is not None and found.can_limit:
            LOG.info("Limits of workloads: cgroups below %s", found.parent)
        else:
            LOG.info(
                "Limits of workloads: resource limits (memory of each process) and CPU affinity; "
                "the agent may not create cgroups with the controllers cpu and memory"
            )
        return found


def _rlimits(flavor: Flavor, *, limits_memory: bool) -> dict[str, int]:
    limits = {"RLIMIT_CORE": 0}
    if limits_memory and flavor.memory_mb:
        # Not RLIMIT_AS: many runtimes reserve far more addresses than they ever use.
        limits["RLIMIT_DATA"] = flavor.memory_mb * machine.MIB
    return limits


def _is_environment(value: Any) -> bool:
    return isinstance(value, dict) and all(
        name and "=" not in name and isinstance(text, str) and "\0" not in name + text
        for name, text in value.items()
    )


def _aborted(instance: Instance, reason: str) -> exception.BuildAborted:
    return exception.BuildAborted(instance_uuid=instance.uuid, reason=reason)


def _info(guest: ProcessGuest, status: ProcessStatus) -> GuestInfo:
    noted = (guest.spec() or {}).get("place")
    place = InstancePlace.from_plain(noted) if noted else None
    if status.is_running:
        return GuestInfo(guest.uuid, "running", place=place)
    return GuestInfo(guest.uuid, "shutdown", status.exit_code, place)
