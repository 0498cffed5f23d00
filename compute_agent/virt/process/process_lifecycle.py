"""Lifecycle of this machine's workloads: prepare, start, stop and remove."""

import logging
import os
import threading
from collections.abc import Iterable, Sequence

from oslo_config import cfg

from armillary import exception
from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.virt import config_drive
from compute_agent.virt.driver import RUNNING, SHUTDOWN, GuestInfo
from compute_agent.virt.instance_directories import InstanceDirectories
from compute_agent.virt.process import process_guards
from compute_agent.virt.process.cgroups import Cgroups
from compute_agent.virt.process.process_files import File
from compute_agent.virt.process.process_guest import ProcessGuest, ProcessStatus
from compute_agent.virt.process.process_specs import Command, SpecMaker, list_guests
from compute_agent.virt.process.process_strays import Strays
from compute_agent.virt.process.shim.spec import ProcessSpec
from objects.instance import Instance

LOG = logging.getLogger(__name__)


class Workloads:
    """Operations on the workloads of a host. The caller holds the instance's lock.

    Methods raise BuildFailed and BuildAborted if a workload cannot be started, TimeoutError if it
    cannot be stopped, and OSError.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        host: str,
        directories: InstanceDirectories,
        specs: SpecMaker,
        cgroups: Cgroups | None,
        strays: Strays,
    ) -> None:
        self._conf = conf
        self._host = host
        self._directories = directories
        self._cgroups = cgroups
        self._strays = strays
        self._silent: set[str] = set()
        self._choosing = threading.Lock()
        self.specs = specs
        self.unconfirmed: set[str] = set()
        """Workloads of which the conductor may not know that they are here."""

    def get(self, uuid: str) -> ProcessGuest:
        """Return the workload of an instance, whether or not it exists.

        If it runs although its directory was lost, the directory is made again. Raises Invalid if
        it is not a UUID, OSError if its directory is a symbolic link, TimeoutError if its
        supervisor lives and does not answer.
        """
        guest = ProcessGuest(self._directories.of(uuid), self._host)
        process_guards.restore(guest)
        return guest

    def list_guests(self) -> Iterable[ProcessGuest]:
        """Return the workloads, those too that run although their directories were lost.

        Raises OSError.
        """
        self._restore_all()
        return list_guests(self._directories, self._host)

    def list_infos(self) -> list[GuestInfo]:
        """Return all that is here, as ``GuestInfo``. Raises OSError.

        What cannot be read runs if its supervisor lives, or if processes of it were found.
        """
        found = {guest.uuid: info(guest) for guest in self.list_guests() if guest.exists}
        for directory in self._directories.list_former():
            found.setdefault(directory.stem, GuestInfo(directory.stem, SHUTDOWN))
        for uuid in self._silent | self._strays.running():
            if uuid not in found or found[uuid].is_off:
                found[uuid] = GuestInfo(uuid, RUNNING)
        return [found[uuid] for uuid in sorted(found)]

    def _restore_all(self) -> None:
        """Have supervisors recreate lost directories, as far as they answer."""
        silent = set()
        for uuid in process_guards.list_guarded(self._directories.parent):
            try:
                self.get(uuid)
            except OSError as error:  # TimeoutError is one
                silent.add(uuid)
                if uuid not in self._silent:
                    LOG.warning("%s: cannot restore its directory: %s", uuid, error)
        self._silent = silent

    def prepare(
        self,
        guest: ProcessGuest,
        instance: Instance,
        place: InstancePlacement,
        command: Command,
        files: Sequence[File] = (),
    ) -> None:
        """Create what is needed to start it."""
        self.unconfirmed.add(guest.uuid)
        with self._choosing:  # CPUs are chosen by the stored specifications of the others
            drive = config_drive.contents(instance) if config_drive.is_wanted(instance) else None
            guest.prepare(self.specs.make(guest, instance, place, command), files, drive)

    def renew(
        self, guest: ProcessGuest, instance: Instance, place: InstancePlacement, command: Command
    ) -> None:
        """Stop what is left of it, and prepare another start with its data."""
        guest.stop()
        with self._choosing:
            guest.renew(self.specs.make(guest, instance, place, command))

    def start(self, guest: ProcessGuest) -> ProcessStatus:
        """Start a prepared workload, and wait for the settle time.

        Also raises BuildFailed if it fails within that time. Nothing is undone.
        """
        options = self._conf.process
        self._strays.end(guest.uuid)
        try:
            guest.start(options.start_timeout_seconds)
        except OSError as error:
            raise exception.BuildFailed(
                instance_uuid=guest.uuid, host=self._host,
                reason=f"starting it failed: {os.strerror(error.errno or 0)}",
            ) from error  # fmt: skip
        return self.check_started(guest, guest.settle(options.settle_seconds))

    def wait_started(self, guest: ProcessGuest) -> None:
        """Wait for a start that was begun earlier, perhaps before an agent restart."""
        guest.wait_started(self._conf.process.start_timeout_seconds)

    def check_started(self, guest: ProcessGuest, status: ProcessStatus) -> ProcessStatus:
        """Return the status; raise BuildFailed if it failed within the settle time."""
        if status.is_running or status.exit_code == 0:
            return status
        if status.seconds is not None and status.seconds > self._conf.process.settle_seconds:
            return status
        line = guest.last_line()
        raise exception.BuildFailed(
            instance_uuid=guest.uuid, host=self._host,
            reason=f"its process ended immediately with exit code {status.exit_code}"
            + (f"; its last line was: {line}" if line else ""),
        )  # fmt: skip

    def stop(
        self, guest: ProcessGuest, grace_seconds: float | None = None, *, is_hard: bool = False
    ) -> None:
        """End all its processes, and keep its data."""
        guest.stop(grace_seconds, is_hard=is_hard)
        if self._cgroups is not None:
            self._cgroups.kill(guest.uuid)
        self._strays.end(guest.uuid)

    def start_as_before(self, guest: ProcessGuest, spec: ProcessSpec) -> None:
        """Start with an earlier specification."""
        guest.stop()
        guest.renew(spec)
        self.start(guest)

    def is_aside(self, uuid: str) -> bool:
        """Return whether a workload was set aside. Raises OSError."""
        return self._directories.former(uuid).exists()

    def set_aside(self, guest: ProcessGuest) -> None:
        """Stop a workload, and keep its directory under another name; idempotent."""
        if self._former(guest).exists:
            self.clear(guest)  # built by a rebuild that was interrupted
            return
        status = guest.status()
        is_on = status is not None and status.is_running
        guest.note_aside(is_on or bool(guest.ran_before))
        self.stop(guest)
        guest.rename(self._former(guest).directory)

    def put_back(
        self, guest: ProcessGuest, instance: Instance, place: InstancePlacement
    ) -> bool | None:
        """Have the workload that was set aside again; return whether it ran, None: there is none.

        It is started if it ran, unless that fails.
        """
        former = self._former(guest)
        if former.exists:
            self.clear(guest)
            former.rename(guest.directory)
        ran = guest.ran_before
        command = Command.kept(guest)
        if ran and command is not None:
            try:
                self.renew(guest, instance, place, command)
                self.start(guest)
            except (exception.BuildFailed, exception.BuildAborted) as error:
                LOG.warning("%s: cannot be started again: %s", guest.uuid, error)
        guest.note_aside(None)
        return ran

    def settle(self, guest: ProcessGuest) -> None:
        """Have one workload, after a rebuild that is not begun again: the new one if it runs.

        Otherwise the former one has its directory again, to be started.
        """
        former = self._former(guest)
        if not former.exists:
            return
        status = guest.status()
        if status is not None and status.is_running:
            former.remove()
            return
        self.clear(guest)
        former.rename(guest.directory)
        guest.note_aside(None)

    def drop_aside(self, guest: ProcessGuest) -> None:
        """Remove the workload that was set aside; a missing one is ignored."""
        self._former(guest).remove()

    def _former(self, guest: ProcessGuest) -> ProcessGuest:
        return ProcessGuest(self._directories.former(guest.uuid), self._host)

    def clear(self, guest: ProcessGuest) -> None:
        """Stop a workload and remove it completely; a missing one is ignored."""
        if guest.exists:
            guest.stop()
        if self._cgroups is not None:
            self._cgroups.destroy(guest.uuid)
        self._strays.end(guest.uuid)
        guest.remove()


def info(guest: ProcessGuest) -> GuestInfo:
    """Return a workload as ``GuestInfo``."""
    spec = guest.spec()
    place = InstancePlacement.from_plain(spec.place) if spec is not None and spec.place else None
    status = guest.status() or ProcessStatus(False)
    if status.is_running:
        return GuestInfo(guest.uuid, guest.held or RUNNING, place=place)
    return GuestInfo(guest.uuid, SHUTDOWN, status.exit_code, place, is_moving=guest.is_detached)
