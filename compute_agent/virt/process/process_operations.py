"""Operations on this machine's workloads: power, reboot, resize, console, and cold migration.

A workload moves with its command, and with its files up to a limit.
"""

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from oslo_config import cfg

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE, InstancePlacement
from compute_agent.virt.driver import PAUSED, RUNNING, SUSPENDED, ComputeDriver, GuestInfo
from compute_agent.virt.process import process_archives, process_diagnostics, process_files
from compute_agent.virt.process.process_guest import ProcessGuest
from compute_agent.virt.process.process_lifecycle import Workloads, info
from compute_agent.virt.process.process_specs import Command
from compute_agent.virt.process.shim.spec import ProcessSpec
from compute_agent.work.named_locks import NamedLocks
from objects.images.image_meta import ImageMeta
from objects.instance import Instance
from objects.instances.diagnostics import Diagnostics

LOG = logging.getLogger(__name__)

DRIVER = "process"
"""Driver name in a migration payload."""


class ProcessOperations(ComputeDriver):
    """The part of the driver that changes existing workloads, each under its instance's lock.

    An interrupted step leaves the workload running or off, with its files; calling the operation
    again completes it.
    """

    _workloads: Workloads

    def __init__(self, conf: cfg.ConfigOpts, host: str) -> None:
        self._conf = conf
        self._host = host
        self._locks = NamedLocks()

    @property
    def host(self) -> str:
        return self._host

    def power_off(self, instance_uuid: str, *, grace_seconds: float) -> GuestInfo:
        with self._operating("Power off", instance_uuid):
            guest = self._get("Power off", instance_uuid)
            self._workloads.stop(guest, grace_seconds)
            return info(guest)

    def power_on(self, instance: Instance, place: InstancePlacement = ANYWHERE) -> GuestInfo:
        with self._operating("Power on", instance.uuid):
            self._workloads.settle(self._workloads.get(instance.uuid))
            guest = self._get("Power on", instance.uuid)
            guest.note_detached(False)
            self._switch_on(guest, instance, place)
            return info(guest)

    def reboot(
        self, instance: Instance, place: InstancePlacement, *, is_hard: bool, grace_seconds: float
    ) -> GuestInfo:
        with self._operating("Reboot", instance.uuid):
            self._workloads.settle(self._workloads.get(instance.uuid))
            guest = self._get("Reboot", instance.uuid)
            guest.note_detached(False)
            self._workloads.stop(guest, 0.0 if is_hard else grace_seconds, is_hard=is_hard)
            self._switch_on(guest, instance, place)
            return info(guest)

    def pause(self, instance_uuid: str) -> GuestInfo:
        return self._hold("Pause", instance_uuid, PAUSED)

    def unpause(self, instance_uuid: str) -> GuestInfo:
        return self._let_continue("Unpause", instance_uuid)

    def suspend(self, instance_uuid: str) -> GuestInfo:
        """Stop its processes as ``pause`` does: their memory stays."""
        return self._hold("Suspend", instance_uuid, SUSPENDED)

    def resume(self, instance: Instance, place: InstancePlacement) -> GuestInfo:
        return self._let_continue("Resume", instance.uuid)

    def _hold(self, operation: str, uuid: str, power_state: str) -> GuestInfo:
        with self._operating(operation, uuid):
            guest = self._get(operation, uuid)
            if not self._is_on(guest):
                raise self._failed(operation, uuid, "it is not running")
            guest.hold(power_state)
            return info(guest)

    def _let_continue(self, operation: str, uuid: str) -> GuestInfo:
        with self._operating(operation, uuid):
            guest = self._get(operation, uuid)
            guest.let_continue()
            return info(guest)

    def rescue(
        self, instance: Instance, place: InstancePlacement, image: ImageMeta, *,
        grace_seconds: float,
    ) -> GuestInfo:  # fmt: skip
        with self._operating("Rescue", instance.uuid):
            guest = self._get("Rescue", instance.uuid)
            Command.of(instance.with_values(image=image))  # before anything is stopped
            self._workloads.stop(guest, grace_seconds)
            guest.note_rescue(image.obj_to_primitive())
            self._renew(guest, instance, place)
            return info(guest)

    def unrescue(self, instance: Instance, place: InstancePlacement) -> GuestInfo:
        with self._operating("Unrescue", instance.uuid):
            guest = self._get("Unrescue", instance.uuid)
            self._workloads.stop(guest)
            guest.note_rescue(None)
            self._renew(guest, instance, place)
            return info(guest)

    def snapshot(self, instance_uuid: str, image: ImageMeta, path: Path) -> None:
        """Write the files of its directory, while its processes are stopped."""
        with self._operating("Snapshot", instance_uuid):
            guest = self._get("Snapshot", instance_uuid)
            is_running = self._is_on(guest) and guest.held in (None, RUNNING)
            if is_running:
                guest.hold(RUNNING)
            try:
                files = process_files.pack(guest.home, self._conf.process.move_files_max_bytes)
            finally:
                if is_running:
                    guest.let_continue()
        process_archives.write(path, files)

    def resize(self, instance: Instance, place: InstancePlacement, *, is_on: bool) -> GuestInfo:
        with self._operating("Resize", instance.uuid):
            guest = self._get("Resize", instance.uuid)
            guest.note_detached(False)
            self._settle(guest, instance, place, is_on=is_on)
            return info(guest)

    def get_console_output(self, instance_uuid: str, *, lines: int | None) -> str:
        with self._errors("Get console output", instance_uuid):
            return self._get("Get console output", instance_uuid).output(lines)

    def get_diagnostics(self, instance_uuid: str) -> Diagnostics:
        with self._errors("Diagnostics", instance_uuid):
            guest = self._get("Diagnostics", instance_uuid)
            return process_diagnostics.of(guest, info(guest).power_state)

    # Cold migration -------------------------------------------------------------------------------

    def detach(self, instance_uuid: str, *, grace_seconds: float) -> dict[str, object]:
        with self._operating("Detach", instance_uuid):
            guest = self._get("Detach", instance_uuid)
            command = Command.kept(guest)
            if command is None:
                raise self._failed("Detach", instance_uuid, "its command is unknown")
            files = self._pack(guest, grace_seconds)
            guest.note_detached(True)
            sent = [file.to_plain() for file in files]
            return {"driver": DRIVER, "host": self._host, **command.to_plain(), "files": sent}

    def attach(
        self,
        instance: Instance,
        place: InstancePlacement,
        migration_payload: Mapping[str, Any],
        *,
        is_on: bool,
    ) -> GuestInfo:
        with self._operating("Attach", instance.uuid):
            guest = self._workloads.get(instance.uuid)
            if guest.is_detached and migration_payload.get("host") != self._host:
                self._workloads.clear(guest)  # left over from an earlier stay on this host
            if guest.is_detached:
                guest.note_detached(False)
                self._settle(guest, instance, place, is_on=is_on)
                return info(guest)
            files = self._files(instance, migration_payload)
            try:
                if not guest.exists:
                    command = (
                        Command.from_plain(migration_payload)
                        if instance.image is None
                        else Command.of(instance)
                    )
                    self._workloads.prepare(guest, instance, place, command, files)
                if is_on:
                    self._switch_on_new(guest, instance, place)
            except (exception.BuildFailed, exception.BuildAborted, OSError):
                self._workloads.clear(guest)
                raise
            return info(guest)

    def _pack(self, guest: ProcessGuest, grace_seconds: float) -> Sequence[process_files.File]:
        """Stop it and return its files. Raises ValueError, OSError; then it runs as before."""
        bytes_max = self._conf.process.move_files_max_bytes
        process_files.measure(guest.home, bytes_max)  # before stopping a guest that is too large
        spec, status = guest.spec(), guest.status()
        self._workloads.stop(guest, grace_seconds)
        try:
            return process_files.pack(guest.home, bytes_max)
        except (ValueError, OSError):
            if spec is not None and status is not None and status.is_running:
                self._workloads.start_as_before(guest, spec)
            raise

    def _switch_on_new(
        self, guest: ProcessGuest, instance: Instance, place: InstancePlacement
    ) -> None:
        """Start it unless that was done before; do not run an ended workload again."""
        status = guest.status()
        if status is not None and status.is_running:
            self._workloads.wait_started(guest)
        elif status is None:
            self._renew(guest, instance, place)

    def _files(
        self, instance: Instance, migration_payload: Mapping[str, Any]
    ) -> list[process_files.File]:
        """Return the files received. Raises OperationFailed, ValueError."""
        if migration_payload.get("driver") != DRIVER:
            reason = f"the other host uses a different driver: {migration_payload.get('driver')}"
            raise self._failed("Attach", instance.uuid, reason)
        bytes_max = self._conf.process.move_files_max_bytes
        return process_files.check(migration_payload.get("files") or (), bytes_max)

    # Parts ----------------------------------------------------------------------------------------

    def _settle(
        self, guest: ProcessGuest, instance: Instance, place: InstancePlacement, *, is_on: bool
    ) -> None:
        """Apply the limits of its flavor and placement, and the requested power state.

        If a cgroup enforces all changed limits, the workload keeps running. Otherwise it is stopped
        and started again. A specification that fails to start is reverted.
        """
        before, was_on = guest.spec(), self._is_on(guest)
        command = self._command(guest, instance)
        after = self._workloads.specs.make(guest, instance, place, command)  # sets cgroup limits
        if was_on and is_on and before is not None and not _needs_new_process(before, after):
            self._workloads.wait_started(guest)
            guest.rewrite(after)
            return
        self._workloads.stop(guest)
        if not is_on:
            guest.rewrite(after)
            return
        self._workloads.renew(guest, instance, place, command)
        try:
            self._workloads.start(guest)
        except (exception.BuildFailed, exception.BuildAborted):
            if was_on and before is not None:
                self._start_as_before(guest, before)
            raise

    def _command(self, guest: ProcessGuest, instance: Instance) -> Command:
        """Return its command: from its image, else the one that it was started with.

        While it is rescued, it is the command of the image that rescues it.
        """
        rescue = guest.rescue_image
        if rescue is not None:
            return Command.of(instance.with_values(image=ImageMeta.obj_from_primitive(rescue)))
        kept = Command.kept(guest) if instance.image is None else None
        return kept or Command.of(instance)

    def _get(self, operation: str, uuid: str) -> ProcessGuest:
        """Return an existing workload. Raises OperationFailed."""
        guest = self._workloads.get(uuid)
        if not guest.exists:
            raise self._failed(operation, uuid, "the workload does not exist on the host")
        return guest

    @contextlib.contextmanager
    def _operating(self, operation: str, uuid: str) -> Iterator[None]:
        """Hold the instance's lock; convert errors as ``_errors`` does."""
        with self._locks.hold(uuid), self._errors(operation, uuid):
            yield

    @contextlib.contextmanager
    def _errors(self, operation: str, uuid: str) -> Iterator[None]:
        """Convert the errors of a workload to OperationFailed."""
        try:
            yield
        except (exception.BuildFailed, exception.BuildAborted) as error:
            raise self._failed(operation, uuid, str(error.kwargs["reason"])) from error
        except ValueError as error:  # what another host sent, or files beyond the limits
            raise self._failed(operation, uuid, str(error)) from error
        except OSError as error:  # TimeoutError is one
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise self._failed(operation, uuid, reason) from error

    def _failed(self, operation: str, uuid: str, reason: str) -> exception.OperationFailed:
        return exception.OperationFailed(
            instance_uuid=uuid, host=self._host, operation=operation, reason=reason
        )

    def _switch_on(self, guest: ProcessGuest, instance: Instance, place: InstancePlacement) -> None:
        if self._is_on(guest):
            self._workloads.wait_started(guest)
        else:
            self._renew(guest, instance, place)

    def _renew(self, guest: ProcessGuest, instance: Instance, place: InstancePlacement) -> None:
        self._workloads.renew(guest, instance, place, self._command(guest, instance))
        self._workloads.start(guest)

    def _is_on(self, guest: ProcessGuest) -> bool:
        status = guest.status()
        return status is not None and status.is_running

    def _start_as_before(self, guest: ProcessGuest, spec: ProcessSpec) -> None:
        try:
            self._workloads.start_as_before(guest, spec)
        except (exception.BuildFailed, exception.BuildAborted, OSError) as error:
            LOG.warning("%s: could not be restarted as before: %s", guest.uuid, error)


def _needs_new_process(before: ProcessSpec, after: ProcessSpec) -> bool:
    """Return whether any value differs that only a new process can get."""
    return any(
        getattr(before, name) != getattr(after, name)
        for name in ("argv", "environment", "cgroup", "rlimits", "cpus", "user", "uid")
    )
