"""The workloads of this machine: each begun, begun again, ended, and cleared away."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from oslo_config import cfg

from armillary import exception
from compute_agent.instance_place import InstancePlace
from compute_agent.virt.cgroups import Cgroups
from compute_agent.virt.driver import GuestInfo
from compute_agent.virt.process_files import File
from compute_agent.virt.process_guest import ProcessGuest, ProcessSpec, ProcessStatus
from compute_agent.virt.process_specs import Command, SpecMaker, list_guests
from objects.instance import Instance


class Workloads:
    """What may be done with the workloads of a directory. Who calls holds the instance's lock.

    Methods raise BuildFailed and BuildAborted when something cannot be started, TimeoutError when
    it cannot be ended, and OSError.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        host: str,
        directory: Path,
        specs: SpecMaker,
        cgroups: Cgroups | None,
    ) -> None:
        self._conf = conf
        self._host = host
        self._directory = directory
        self._cgroups = cgroups
        self._choosing = threading.Lock()
        self.specs = specs

    def get(self, uuid: str) -> ProcessGuest:
        """Return the workload of an instance, whether or not it exists."""
        return ProcessGuest(self._directory / uuid, self._host)

    def list_guests(self) -> Iterable[ProcessGuest]:
        """Yield all of them."""
        return list_guests(self._directory, self._host)

    def prepare(
        self,
        guest: ProcessGuest,
        instance: Instance,
        place: InstancePlace,
        command: Command,
        files: Sequence[File] = (),
    ) -> None:
        """Make what is needed to start it."""
        with self._choosing:  # CPUs are chosen by what the others have written down
            guest.prepare(self.specs.make(guest, instance, place, command), files)

    def renew(
        self, guest: ProcessGuest, instance: Instance, place: InstancePlace, command: Command
    ) -> None:
        """End what is left of it, and make what is needed to start it again with what it kept."""
        guest.stop()
        with self._choosing:
            guest.renew(self.specs.make(guest, instance, place, command))

    def start(self, guest: ProcessGuest) -> ProcessStatus:
        """Start what is prepared, and watch it for a while.

        Raises BuildFailed also when it ended badly meanwhile. Nothing is undone.
        """
        options = self._conf.process
        try:
            guest.start(options.start_timeout_seconds)
        except OSError as error:
            raise exception.BuildFailed(
                instance_uuid=guest.uuid, host=self._host,
                reason=f"starting it failed: {os.strerror(error.errno or 0)}",
            ) from error  # fmt: skip
        return self.judged(guest, guest.settle(options.settle_seconds))

    def wait_started(self, guest: ProcessGuest) -> None:
        """Wait for a start that somebody else began, who was killed perhaps."""
        guest.wait_started(self._conf.process.start_timeout_seconds)

    def judged(self, guest: ProcessGuest, status: ProcessStatus) -> ProcessStatus:
        """Return the status; raise BuildFailed if it ended badly while it was being watched."""
        if status.is_running or status.exit_code == 0:
            return status
        if status.seconds is not None and status.seconds > self._conf.process.settle_seconds:
            return status
        line = guest.last_line()
        raise exception.BuildFailed(
            instance_uuid=guest.uuid, host=self._host,
            reason=f"its process ended at once with exit code {status.exit_code}"
            + (f"; its last line was: {line}" if line else ""),
        )  # fmt: skip

    def stop(
        self, guest: ProcessGuest, grace_seconds: float | None = None, *, is_hard: bool = False
    ) -> None:
        """End all its processes, and keep the rest of it."""
        guest.stop(grace_seconds, is_hard=is_hard)
        if self._cgroups is not None:
            self._cgroups.kill(guest.uuid)

    def start_as_before(self, guest: ProcessGuest, spec: ProcessSpec) -> None:
        """Start with a specification that it had."""
        guest.stop()
        guest.renew(spec)
        self.start(guest)

    def clear(self, guest: ProcessGuest) -> None:
        """Stop a workload and remove all of it; none there is fine."""
        if guest.exists:
            guest.stop()
        if self._cgroups is not None:
            self._cgroups.destroy(guest.uuid)
        guest.remove()


def info(guest: ProcessGuest) -> GuestInfo:
    """Return a workload as the agent wants to see it."""
    noted = (guest.spec() or {}).get("place")
    place = InstancePlace.from_plain(noted) if noted else None
    status = guest.status() or ProcessStatus(False)
    if status.is_running:
        return GuestInfo(guest.uuid, "running", place=place)
    return GuestInfo(guest.uuid, "shutdown", status.exit_code, place, is_moving=guest.is_detached)
