"""Cold migration of workloads: their command, and their files up to a limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oslo_config import cfg

from armillary import exception
from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.virt.driver import GuestInfo
from compute_agent.virt.process import process_files
from compute_agent.virt.process.process_guest import ProcessGuest
from compute_agent.virt.process.process_lifecycle import Workloads, info
from compute_agent.virt.process.process_power import ProcessPower
from compute_agent.virt.process.process_specs import Command
from compute_agent.work.named_locks import NamedLocks
from objects.instance import Instance

DRIVER = "process"
"""Driver name in a migration payload."""


class ProcessMoves:
    """Implementation of ``ComputeDriver`` for workloads that move from or to this machine."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        host: str,
        workloads: Workloads,
        power: ProcessPower,
        locks: NamedLocks,
    ) -> None:
        self._conf = conf
        self._host = host
        self._workloads = workloads
        self._power = power
        self._locks = locks

    def detach(self, uuid: str, grace_seconds: float) -> dict[str, Any]:
        with self._locks.hold(uuid), self._power.errors("Detach", uuid):
            guest = self._power.get("Detach", uuid)
            command = Command.kept(guest)
            if command is None:
                raise self._power.failed("Detach", uuid, "its command is unknown")
            try:
                files = self._pack(guest, grace_seconds)
            except ValueError as error:
                raise self._power.failed("Detach", uuid, str(error)) from error
            guest.note_detached(True)
            return {"driver": DRIVER, "host": self._host, **command.to_plain(), "files": files}

    def attach(
        self,
        instance: Instance,
        place: InstancePlacement,
        migration_payload: Mapping[str, Any],
        *,
        is_on: bool,
    ) -> GuestInfo:
        uuid = instance.uuid
        with self._locks.hold(uuid), self._power.errors("Attach", uuid):
            guest = self._workloads.get(uuid)
            if guest.is_detached and migration_payload.get("host") != self._host:
                self._workloads.clear(guest)  # left over from an earlier stay on this host
            if guest.is_detached:
                guest.note_detached(False)
                self._power.settle(guest, instance, place, is_on=is_on)
                return info(guest)
            files = self._files(instance, migration_payload)
            try:
                if not guest.exists:
                    command = self._command(instance, migration_payload)
                    self._workloads.prepare(guest, instance, place, command, files)
                if is_on:
                    self._switch_on(guest, instance, place)
            except (exception.BuildFailed, exception.BuildAborted, OSError):
                self._workloads.clear(guest)
                raise
            return info(guest)

    def _switch_on(self, guest: ProcessGuest, instance: Instance, place: InstancePlacement) -> None:
        """Start it unless that was done before; do not run an ended workload again."""
        status = guest.status()
        if status is not None and status.is_running:
            self._workloads.wait_started(guest)
        elif status is None:
            self._workloads.renew(guest, instance, place, self._power.command(guest, instance))
            self._workloads.start(guest)

    def _pack(self, guest: ProcessGuest, grace_seconds: float) -> Sequence[process_files.Entry]:
        """Stop it and return its files. Raises ValueError, OSError; then it runs as before."""
        bytes_max = self._conf.process.move_files_max_bytes
        process_files.measure(guest.home, bytes_max)  # before stopping it in vain
        spec, status = guest.kept_spec(), guest.status()
        self._workloads.stop(guest, grace_seconds)
        try:
            return process_files.pack(guest.home, bytes_max)
        except (ValueError, OSError):
            if spec is not None and status is not None and status.is_running:
                self._workloads.start_as_before(guest, spec)
            raise

    def _files(
        self, instance: Instance, migration_payload: Mapping[str, Any]
    ) -> list[process_files.File]:
        """Return the files received. Raises OperationFailed."""
        if migration_payload.get("driver") != DRIVER:
            reason = f"the other host uses a different driver: {migration_payload.get('driver')}"
            raise self._power.failed("Attach", instance.uuid, reason)
        bytes_max = self._conf.process.move_files_max_bytes
        try:
            return process_files.check(migration_payload.get("files") or (), bytes_max)
        except ValueError as error:
            raise self._power.failed("Attach", instance.uuid, str(error)) from error

    def _command(self, instance: Instance, migration_payload: Mapping[str, Any]) -> Command:
        """Return the command from the instance's image, else the one received."""
        if instance.image is not None:
            return Command.of(instance)
        try:
            return Command.from_plain(migration_payload)
        except ValueError as error:
            raise self._power.failed("Attach", instance.uuid, str(error)) from error
