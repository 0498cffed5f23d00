"""Specification of a workload's process: command, environment and limits."""

import collections
import dataclasses
import json
import shlex
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from oslo_config import cfg

from armillary import exception
from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.virt import config_drive
from compute_agent.virt.instance_directories import InstanceDirectories
from compute_agent.virt.machine import machine
from compute_agent.virt.machine.cpu_split import CpuSplit
from compute_agent.virt.process.cgroups import Cgroups
from compute_agent.virt.process.process_guest import ProcessGuest
from compute_agent.virt.process.process_isolation import Isolation
from compute_agent.virt.process.process_strays import (
    GUARD_VARIABLE,
    HOST_VARIABLE,
    UUID_VARIABLE,
    Strays,
)
from compute_agent.virt.process.shim.spec import ProcessSpec, Restart
from objects.flavor import Flavor
from objects.instance import Instance
from objects.numa import HostCell, format_cpus

COMMAND_PROPERTY = "process_command"
ENVIRONMENT_PROPERTY = "process_environment"
RESTART_PROPERTY = "process_restart"
NEVER = "never"
RESTART_POLICIES = (NEVER, "on-failure", "always")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CPUS_VARIABLE = "ARMILLARY_CPUS"
CELLS_VARIABLE = "ARMILLARY_NUMA_CELLS"
DEVICES_VARIABLE = "ARMILLARY_PCI_DEVICES"
CONFIG_DRIVE_VARIABLE = "ARMILLARY_CONFIG_DRIVE"
_HOST_VARIABLES = (
    UUID_VARIABLE, HOST_VARIABLE, GUARD_VARIABLE, CPUS_VARIABLE, CELLS_VARIABLE, DEVICES_VARIABLE,
    CONFIG_DRIVE_VARIABLE,
)  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Command:
    """The command of a workload, independent of host, directory and placement."""

    argv: list[str]
    environment: dict[str, str]
    restart_policy: str = NEVER

    @classmethod
    def of(cls, instance: Instance) -> Self:
        """Return the command from an instance's image. Raises ImageUnsupported, BuildAborted."""
        properties = instance.image.properties if instance.image is not None else {}
        try:
            argv = shlex.split(properties.get(COMMAND_PROPERTY, ""))
            environment = json.loads(properties.get(ENVIRONMENT_PROPERTY) or "{}")
        except (ValueError, RecursionError) as error:
            reason = f"the image's command or environment is malformed: {error}"
            raise _aborted(instance, reason) from error
        if not argv or not argv[0]:
            reason = f"the image has no property {COMMAND_PROPERTY}"
            raise exception.ImageUnsupported(instance_uuid=instance.uuid, reason=reason)
        if not _is_environment(environment):
            raise _aborted(instance, f"{ENVIRONMENT_PROPERTY} is not a JSON object of strings")
        if any("\0" in text for text in argv):
            raise _aborted(instance, "the image's command contains a zero byte")
        policy = properties.get(RESTART_PROPERTY, NEVER)
        if policy not in RESTART_POLICIES:
            reason = f"{RESTART_PROPERTY} is '{policy}', not one of {', '.join(RESTART_POLICIES)}"
            raise _aborted(instance, reason)
        return cls(argv, environment, policy)

    @classmethod
    def kept(cls, guest: ProcessGuest) -> Self | None:
        """Return the command that a guest was started with, or None if it was not stored."""
        spec = guest.spec()
        if spec is None:
            return None
        environment = {
            name: text
            for name, text in spec.environment.items()
            if name not in _HOST_VARIABLES and (name, text) != ("HOME", str(guest.home))
        }
        return cls(spec.argv, environment, NEVER if spec.restart is None else spec.restart.policy)

    def to_plain(self) -> dict[str, object]:
        return dataclasses.asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the command from ``to_plain``. Raises ValueError; the sender is not trusted."""
        argv, environment = plain.get("argv"), plain.get("environment")
        policy = plain.get("restart_policy")
        is_argv = isinstance(argv, list) and all(
            isinstance(text, str) and "\0" not in text for text in argv
        )
        if not (argv and is_argv and _is_environment(environment) and policy in RESTART_POLICIES):
            raise ValueError("the command sent by the other host is malformed")
        return cls(list(argv), dict(environment or {}), str(policy))


class SpecMaker:
    """Creates the shim's specification from a command and this host's limits.

    ``list_guests`` returns all workloads of the host, to balance the use of CPUs. ``lease`` is the
    file of their lease, ``strays`` knows their marks.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        cgroups: Cgroups | None,
        split: CpuSplit,
        cells: Sequence[HostCell],
        isolation: Isolation | None,
        list_guests: Callable[[], Iterable[ProcessGuest]],
        lease: Path,
        strays: Strays,
    ) -> None:
        self._conf = conf
        self._cgroups = cgroups
        self._split = split
        self._cells = cells
        self._list_guests = list_guests
        self._isolation = isolation
        self._lease = lease
        self._strays = strays

    def make(
        self, guest: ProcessGuest, instance: Instance, place: InstancePlacement, command: Command
    ) -> ProcessSpec:
        """Return the specification; create or update its cgroup. Raises OSError."""
        options = self._conf.process
        flavor = instance.flavor
        controllers = self._cgroups.controllers if self._cgroups is not None else frozenset()
        home = {"PATH": PATH, "HOME": str(guest.home)}
        told = {**self._strays.marks(guest.uuid), **self._place_environment(place)}
        if guest.has_config_drive or (not guest.exists and config_drive.is_wanted(instance)):
            told[CONFIG_DRIVE_VARIABLE] = str(guest.config_drive)
        namespaces = (
            None
            if self._isolation is None
            else self._isolation.namespaces_of(
                guest.home,
                guest.config_drive,
                temporary=guest.temporary,
                shared_memory_mb=flavor.memory_mb,
            )
        )
        return ProcessSpec(
            argv=command.argv,
            environment={**home, **command.environment, **told},
            cgroup=self._make_cgroup(guest.uuid, flavor, place),
            rlimits=self._rlimits(flavor, limits_memory="memory" not in controllers),
            cpus=self._cpus(guest, flavor.vcpus, place, has_quota="cpu" in controllers),
            user=None if self._isolation is None else self._isolation.user,
            stop_grace_seconds=options.stop_grace_seconds,
            console_max_bytes=options.console_max_bytes,
            place=None if place.is_anywhere else place.to_plain(),
            restart=self._restart(command.restart_policy),
            uid=self._uid(guest),
            namespaces=namespaces,
            lease=None if self._conf.compute.guest_lease == "off" else str(self._lease),
            disk_bytes_max=_disk_bytes(flavor),
            temporary=None if namespaces is None else namespaces["temporary"],
        )

    def _uid(self, guest: ProcessGuest) -> int | None:
        """Return its own user, or None if workloads have none of their own. Raises OSError."""
        if self._isolation is None or self._isolation.uid_base is None:
            return None
        others = (each.spec() for each in self._list_guests() if each.uuid != guest.uuid)
        taken = [spec.uid for spec in others if spec is not None]
        own = guest.spec()
        had = None if own is None else own.uid
        return self._isolation.uid(uuid.UUID(guest.uuid).int, had, taken)

    def _rlimits(self, flavor: Flavor, *, limits_memory: bool) -> dict[str, int]:
        limits = {"RLIMIT_CORE": 0}
        if (disk := _disk_bytes(flavor)) is not None:
            limits["RLIMIT_FSIZE"] = disk  # a file at once; all together are measured
        if limits_memory and flavor.memory_mb:
            # Not RLIMIT_AS: many runtimes reserve far more address space than they use.
            limits["RLIMIT_DATA"] = flavor.memory_mb * machine.MIB
        if self._isolation is not None and self._isolation.limits_user:
            limits["RLIMIT_NPROC"] = self._conf.process.pids_max
        return limits

    def _place_environment(self, place: InstancePlacement) -> dict[str, str]:
        """Return the environment variables that describe the placement, if there is one."""
        told = {}
        topology = place.numa_topology
        if topology is not None:
            told[CPUS_VARIABLE] = format_cpus(place.cpus(self._cells) or ())
            told[CELLS_VARIABLE] = format_cpus(topology.host_cells)
        if place.pci_devices:
            told[DEVICES_VARIABLE] = ",".join(device.address for device in place.pci_devices)
        return told

    def _restart(self, policy: str) -> Restart | None:
        if policy == NEVER:
            return None
        options = self._conf.process
        return Restart(
            policy,
            options.restart_delay_seconds,
            options.restart_delay_seconds_max,
            options.settle_seconds,
        )

    def _make_cgroup(
        self, instance_uuid: str, flavor: Flavor, place: InstancePlacement
    ) -> str | None:
        if self._cgroups is None:
            return None
        topology = place.numa_topology
        path = self._cgroups.create(
            instance_uuid,
            memory_mb=flavor.memory_mb,
            swap_mb=flavor.swap_mb,
            vcpus=max(1, flavor.vcpus),
            pids=self._conf.process.pids_max,
            cpus=self._own_or_shared(place),
            cells=topology.host_cells if topology is not None else None,
        )
        return str(path)

    def _cpus(
        self, guest: ProcessGuest, vcpus: int, place: InstancePlacement, *, has_quota: bool
    ) -> list[int] | None:
        """Return the CPUs for a workload; None means all that the agent may use."""
        if place.numa_topology is None and not has_quota:
            return self._choose_cpus(guest, vcpus)
        cpus = self._own_or_shared(place)
        return None if cpus is None else sorted(cpus)

    def _own_or_shared(self, place: InstancePlacement) -> frozenset[int] | None:
        """Return the CPUs of its placement, else the shared CPUs if they are configured."""
        own = place.cpus(self._cells)
        if own is None and self._split.is_configured:
            return self._split.shared
        return own

    def _choose_cpus(self, guest: ProcessGuest, vcpus: int) -> list[int] | None:
        """Return the least used CPUs, or its current ones if their number is unchanged.

        None means all CPUs.
        """
        available = self._split.shared
        if vcpus >= len(available):
            return sorted(available) if self._split.is_configured else None
        wanted = max(1, vcpus)
        had = _cpus_of(guest)
        if len(had) == wanted and available.issuperset(had):
            return had
        shares: collections.Counter[int] = collections.Counter()
        for other in self._list_guests():
            if other.uuid != guest.uuid:
                shares.update(_cpus_of(other))
        return sorted(sorted(available, key=lambda cpu: (shares[cpu], cpu))[:wanted])


def list_guests(directories: InstanceDirectories, host: str) -> Iterable[ProcessGuest]:
    """Yield the workloads that have a directory, ordered, without drafts and trash."""
    for path in directories.list():
        yield ProcessGuest(path, host)


def _cpus_of(guest: ProcessGuest) -> list[int]:
    spec = guest.spec()
    return [] if spec is None else spec.cpus or []


def _disk_bytes(flavor: Flavor) -> int | None:
    """Return what a workload's files may take; a flavor without a root disk sets no limit."""
    return (flavor.root_gb + flavor.ephemeral_gb) * machine.GIB if flavor.root_gb else None


def _is_environment(value: Any) -> bool:
    return isinstance(value, dict) and all(
        name and "=" not in name and isinstance(text, str) and "\0" not in name + text
        for name, text in value.items()
    )


def _aborted(instance: Instance, reason: str) -> exception.BuildAborted:
    return exception.BuildAborted(instance_uuid=instance.uuid, reason=reason)
