"""Operations on workloads that stay on this machine: stop, start, reboot and resize."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator

from armillary import exception
from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.virt.driver import GuestInfo
from compute_agent.virt.process.process_guest import ProcessGuest, ProcessSpec
from compute_agent.virt.process.process_lifecycle import Workloads, info
from compute_agent.virt.process.process_specs import Command
from compute_agent.work.named_locks import NamedLocks
from objects.instance import Instance

LOG = logging.getLogger(__name__)


class ProcessPower:
    """Implementation of ``ComputeDriver`` for workloads, each under its instance's lock.

    An interrupted step leaves the workload running or off, with its files; calling the operation
    again completes it.
    """

    def __init__(self, host: str, workloads: Workloads, locks: NamedLocks) -> None:
        self._host = host
        self._workloads = workloads
        self._locks = locks

    def power_off(self, uuid: str, grace_seconds: float) -> GuestInfo:
        with self._locks.hold(uuid), self.errors("Power off", uuid):
            guest = self.get("Power off", uuid)
            self._workloads.stop(guest, grace_seconds)
            return info(guest)

    def power_on(self, instance: Instance, place: InstancePlacement) -> GuestInfo:
        with self._locks.hold(instance.uuid), self.errors("Power on", instance.uuid):
            guest = self.get("Power on", instance.uuid)
            guest.note_detached(False)
            self._switch_on(guest, instance, place)
            return info(guest)

    def reboot(
        self, instance: Instance, place: InstancePlacement, *, is_hard: bool, grace_seconds: float
    ) -> GuestInfo:
        with self._locks.hold(instance.uuid), self.errors("Reboot", instance.uuid):
            guest = self.get("Reboot", instance.uuid)
            guest.note_detached(False)
            self._workloads.stop(guest, 0.0 if is_hard else grace_seconds, is_hard=is_hard)
            self._switch_on(guest, instance, place)
            return info(guest)

    def resize(self, instance: Instance, place: InstancePlacement, *, is_on: bool) -> GuestInfo:
        with self._locks.hold(instance.uuid), self.errors("Resize", instance.uuid):
            guest = self.get("Resize", instance.uuid)
            guest.note_detached(False)
            self.settle(guest, instance, place, is_on=is_on)
            return info(guest)

    def output(self, uuid: str, lines: int | None) -> str:
        with self.errors("Get console output", uuid):
            return self.get("Get console output", uuid).output(lines)

    def settle(
        self, guest: ProcessGuest, instance: Instance, place: InstancePlacement, *, is_on: bool
    ) -> None:
        """Apply the limits of its flavor and placement, and the requested power state.

        If a cgroup enforces all changed limits, the workload keeps running. Otherwise it is stopped
        and started again. A specification that fails to start is reverted.
        """
        before, was_on = guest.kept_spec(), self._is_on(guest)
        command = self.command(guest, instance)
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

    def command(self, guest: ProcessGuest, instance: Instance) -> Command:
        """Return its command: from its image, else the one that it was started with."""
        kept = Command.kept(guest) if instance.image is None else None
        return kept or Command.of(instance)

    def get(self, operation: str, uuid: str) -> ProcessGuest:
        """Return an existing workload. Raises OperationFailed."""
        guest = self._workloads.get(uuid)
        if not guest.exists:
            raise self.failed(operation, uuid, "the workload does not exist on the host")
        return guest

    @contextlib.contextmanager
    def errors(self, operation: str, uuid: str) -> Iterator[None]:
        """Convert the errors of a workload to OperationFailed."""
        try:
            yield
        except (exception.BuildFailed, exception.BuildAborted) as error:
            raise self.failed(operation, uuid, str(error.kwargs["reason"])) from error
        except OSError as error:  # TimeoutError is one
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise self.failed(operation, uuid, reason) from error

    def failed(self, operation: str, uuid: str, reason: str) -> exception.OperationFailed:
        """Return an OperationFailed error."""
        return exception.OperationFailed(
            instance_uuid=uuid, host=self._host, operation=operation, reason=reason
        )

    def _switch_on(self, guest: ProcessGuest, instance: Instance, place: InstancePlacement) -> None:
        if self._is_on(guest):
            self._workloads.wait_started(guest)
            return
        self._workloads.renew(guest, instance, place, self.command(guest, instance))
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
        for name in ("argv", "environment", "cgroup", "rlimits", "cpus", "user")
    )
