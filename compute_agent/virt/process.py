"""Workloads that are operating-system processes, within the limits of their flavors.

An image names the program: ``process_command`` is a command line in shell quoting (no shell runs
it), and ``process_environment`` a JSON object of texts. Each workload has a directory, which is its
HOME and working directory, and a small process beside it that outlives the agent
(``process_shim``).
"""

from __future__ import annotations

import collections
import json
import logging
import os
import pwd
import shlex
import shutil
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from oslo_config import cfg

from armillary import exception
from compute_agent.virt import cgroups, machine
from compute_agent.virt.driver import ComputeDriver, GuestInfo, HostResources
from compute_agent.virt.process_guest import ProcessGuest, ProcessSpec, ProcessStatus
from objects.flavor import Flavor
from objects.instance import Instance

LOG = logging.getLogger(__name__)

DIRECTORY_NAME = "processes"
HYPERVISOR_TYPE = "process"
COMMAND_PROPERTY = "process_command"
ENVIRONMENT_PROPERTY = "process_environment"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
UUID_VARIABLE = "ARMILLARY_INSTANCE_UUID"


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

    def get_resources(self) -> HostResources:
        return machine.resources(self._directory)

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
        return traits | {"HW_CPU_HYPERTHREADING"} if machine.has_hyperthreading() else traits

    def spawn(self, instance: Instance) -> GuestInfo:
        argv, environment = self._command(instance)
        guest = self._guest(instance.uuid)
        status = guest.status()
        if status is None or not status.is_known:
            self._clear(guest)  # what a crash in the middle of a build may have left
            status = self._start(guest, instance, argv, environment)
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

    def _start(
        self, guest: ProcessGuest, instance: Instance, argv: list[str], environment: dict[str, str]
    ) -> ProcessStatus:
        try:
            with self._prepare_lock:  # CPUs are chosen by what the others have written down
                guest.prepare(self._spec(instance, argv, environment))
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
        self, instance: Instance, argv: list[str], environment: dict[str, str]
    ) -> ProcessSpec:
        options = self._conf.process
        flavor = instance.flavor
        controllers = self._cgroups.controllers if self._cgroups is not None else frozenset()
        return ProcessSpec(
            argv=argv,
            environment=environment,
            cgroup=self._make_cgroup(instance.uuid, flavor),
            rlimits=_rlimits(flavor, limits_memory="memory" not in controllers),
            cpus=None if "cpu" in controllers else self._choose_cpus(flavor.vcpus),
            user=options.workload_user,
            stop_grace_seconds=options.stop_grace_seconds,
            console_max_bytes=options.console_max_bytes,
        )

    def _make_cgroup(self, uuid: str, flavor: Flavor) -> str | None:
        if self._cgroups is None:
            return None
        path = self._cgroups.create(
            uuid, memory_mb=flavor.memory_mb, swap_mb=flavor.swap_mb, vcpus=max(1, flavor.vcpus)
        )
        return str(path)

    def _choose_cpus(self, vcpus: int) -> list[int] | None:
        """Return the CPUs that the fewest workloads share; None when all of them are asked."""
        available = os.sched_getaffinity(0)
        if vcpus >= len(available):
            return None
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
    if status.is_running:
        return GuestInfo(guest.uuid, "running")
    return GuestInfo(guest.uuid, "shutdown", status.exit_code)
