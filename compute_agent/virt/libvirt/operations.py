"""Operations of the libvirt driver on guests: build, power, snapshots, consoles and moves."""

import contextlib
import dataclasses
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from oslo_config import cfg

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE, InstancePlacement
from compute_agent.virt.driver import (
    PAUSED,
    SHUTDOWN,
    SUSPENDED,
    ComputeDriver,
    Feature,
    GuestInfo,
    LiveWatch,
    SerialStream,
)
from compute_agent.virt.libvirt import diagnostics, guest_addresses
from compute_agent.virt.libvirt.connection import Connection
from compute_agent.virt.libvirt.daemon_restarts import outcome_known, repeated
from compute_agent.virt.libvirt.disks import disk_room
from compute_agent.virt.libvirt.disks.images import BadImage
from compute_agent.virt.libvirt.disks.qemu_img import DiskError, UnsafeImage
from compute_agent.virt.libvirt.former_guests import FormerGuests
from compute_agent.virt.libvirt.guest_builder import GuestBuilder
from compute_agent.virt.libvirt.guest_snapshots import GuestSnapshots
from compute_agent.virt.libvirt.guests import Guests
from compute_agent.virt.libvirt.moves.cold_moves import ColdMoves
from compute_agent.virt.libvirt.moves.live_moves import CannotMove, LiveMoves, MoveAborted
from compute_agent.virt.libvirt.moves.payloads import ColdPayload, LiveDestination, LiveSource
from compute_agent.virt.libvirt.moves.remote_uris import UnknownPeer
from compute_agent.virt.libvirt.record import DiskSizes, GuestRecord, least_sizes
from compute_agent.virt.libvirt.rescue import Rescue
from compute_agent.virt.libvirt.serial_stream import LibvirtSerialStream
from objects.images.image_meta import ImageMeta
from objects.instance import Instance
from objects.instances.diagnostics import Diagnostics
from objects.instances.instance_command import NEEDS_SOURCE

LOG = logging.getLogger(__name__)


class NoGuest(Exception):
    """The guest of the operation does not exist or is not running."""


_FAILURES = (
    BadImage, CannotMove, DiskError, NoGuest, OSError, UnknownPeer, exception.Unavailable,
)  # fmt: skip
"""Errors of guest operations, besides libvirt's own."""


class LibvirtOperations(ComputeDriver):
    """The part of the driver that is about guests; ``LibvirtDriver`` is about the host as well."""

    def __init__(self, conf: cfg.ConfigOpts, library: Any) -> None:
        self._conf = conf
        self._library = library

    def _use(self, guests: Guests) -> None:
        """Work on these guests from now on; the driver calls it from ``init_host``."""
        self._guests = guests
        self._builder = GuestBuilder(self._conf, guests)
        self._snapshots = GuestSnapshots(guests)
        self._cold = ColdMoves(self._conf, guests)
        self._live = LiveMoves(self._conf, guests)
        self._former = FormerGuests(guests)
        self._rescue = Rescue(guests, self._start_redefined)

    @property
    def host(self) -> str:
        return str(self._conf.host)

    @property
    def daemon(self) -> Connection:
        return self._guests.connection

    # Guests ---------------------------------------------------------------------------------------

    @repeated
    def spawn(self, instance: Instance, place: InstancePlacement = ANYWHERE) -> GuestInfo:
        with self._building(instance.uuid):
            return self._info(self._builder.build(instance, place))

    @repeated
    def recover(
        self,
        instance: Instance,
        place: InstancePlacement,
        *,
        former_host: str,
        is_rebuilt: bool = False,
    ) -> GuestInfo:
        with self._checking(instance.uuid):
            if is_rebuilt:
                self._former.set_aside_of(instance.uuid, former_host)
            else:
                self._former.take_back_of(instance.uuid, former_host)
        with self._building(instance.uuid):
            domain = self._builder.recover(instance, place, former_host)
            self._former.drop_of(instance.uuid, former_host)
            return self._info(domain)

    @contextlib.contextmanager
    def ready_to_rebuild(self, instance: Instance) -> Iterator[bool]:
        self._check_host(instance)
        with contextlib.ExitStack() as stack:
            with self._checking(instance.uuid):
                has_room = stack.enter_context(self._builder.replaceable(instance))
            yield has_room

    @repeated
    def _check_host(self, instance: Instance) -> None:
        with self._checking(instance.uuid):
            self._former.take_back_files(instance.uuid)
            self._builder.check_host(instance)

    @repeated
    def set_aside(self, instance_uuid: str) -> None:
        with self._operating(instance_uuid, "Rebuild"):
            self._former.set_aside(instance_uuid)

    @repeated
    def put_back(self, instance: Instance, place: InstancePlacement) -> bool | None:
        with self._operating(instance.uuid, "Rebuild"):
            return self._former.put_back(instance.uuid)

    @repeated
    def drop_aside(self, instance_uuid: str) -> None:
        with self._operating(instance_uuid, "Rebuild"):
            self._former.drop(instance_uuid)

    @repeated
    def destroy(self, instance_uuid: str) -> None:
        with self._operating(instance_uuid, "Deletion"):
            self._former.remove(instance_uuid)

    def list_guests(self) -> list[GuestInfo]:
        return list(self._guests.list())

    def list_addresses(self) -> Mapping[str, Sequence[str]]:
        found = {}
        for domain in self._guests.running():
            try:
                found[domain.UUIDString()] = guest_addresses.find(self._library, domain)
            except self._library.libvirtError as error:  # it has ended meanwhile
                LOG.debug("Cannot find the addresses of a guest: %s", error)
        return found

    @repeated
    def power_off(self, instance_uuid: str, *, grace_seconds: float) -> GuestInfo:
        with self._operating(instance_uuid, "Stop"):
            if self._guests.find(instance_uuid) is None and self._guests.is_undefined(
                instance_uuid
            ):
                return GuestInfo(instance_uuid, SHUTDOWN)
            domain = self._existing(instance_uuid)
            self._guests.shut_down(domain, grace_seconds)
            self._record_staying(instance_uuid)
            return self._info(domain)

    @repeated
    def power_on(self, instance: Instance, place: InstancePlacement = ANYWHERE) -> GuestInfo:
        with self._operating(instance.uuid, "Start"):
            self._former.settle(instance.uuid)
            domain = self._guests.find(instance.uuid)
            if domain is None or not domain.isActive():
                domain = self._start_redefined(domain, instance, place)
            return self._info(domain)

    @repeated
    def reboot(
        self, instance: Instance, place: InstancePlacement, *, is_hard: bool, grace_seconds: float
    ) -> GuestInfo:
        with self._operating(instance.uuid, "Reboot"):
            self._former.settle(instance.uuid)
            domain = self._guests.find(instance.uuid)
            if domain is not None:
                self._guests.shut_down(domain, 0 if is_hard else grace_seconds)
            return self._info(self._start_redefined(domain, instance, place))

    @repeated
    def pause(self, instance_uuid: str) -> GuestInfo:
        with self._operating(instance_uuid, "Pause"):
            domain = self._running(instance_uuid)
            if self._info(domain).power_state != PAUSED:
                domain.suspend()  # libvirt's word
            return self._info(domain)

    @repeated
    def unpause(self, instance_uuid: str) -> GuestInfo:
        with self._operating(instance_uuid, "Unpause"):
            domain = self._existing(instance_uuid)
            if self._info(domain).power_state == PAUSED:
                domain.resume()
            return self._info(domain)

    @repeated
    def suspend(self, instance_uuid: str) -> GuestInfo:
        with self._operating(instance_uuid, "Suspend"):
            domain = self._existing(instance_uuid)
            self._guests.need_disks(domain)
            if self._info(domain).power_state != SUSPENDED:
                self._running(instance_uuid).managedSave(0)
            return self._info(domain)

    @repeated
    def resume(self, instance: Instance, place: InstancePlacement) -> GuestInfo:
        with self._operating(instance.uuid, "Resume"):
            domain = self._existing(instance.uuid)
            if self._info(domain).power_state == SUSPENDED:
                self._guests.start(domain)  # restores its memory
            return self._info(domain)

    @repeated
    def rescue(
        self, instance: Instance, place: InstancePlacement, image: ImageMeta, *,
        grace_seconds: float,
    ) -> GuestInfo:  # fmt: skip
        with self._operating(instance.uuid, "Rescue"):
            self._former.settle(instance.uuid)
            return self._info(self._rescue.begin(instance, place, image, grace_seconds))

    @repeated
    def unrescue(self, instance: Instance, place: InstancePlacement) -> GuestInfo:
        with self._operating(instance.uuid, "Unrescue"):
            return self._info(self._rescue.end(instance, place))

    @repeated
    def snapshot(self, instance_uuid: str, image: ImageMeta, path: Path) -> None:
        with self._operating(instance_uuid, "Snapshot"):
            self._snapshots.copy(self._existing(instance_uuid), image, path)

    def _end_copies(self) -> None:
        """End the copies of snapshots that an earlier agent left."""
        try:
            self._snapshots.end_all()
        except (self._library.libvirtError, *_FAILURES) as error:
            LOG.warning("Cannot look for copies of disks that were left unfinished: %s", error)

    def _keep_room(self) -> None:
        """Keep the room for guests that are on their way here: their sources go on with them."""
        try:
            self._live.keep_room()
        except (DiskError, OSError) as error:
            LOG.warning("Cannot look for guests that are on their way here: %s", error)

    def get_console_output(self, instance_uuid: str, *, lines: int | None) -> str:
        with self._operating(instance_uuid, "Console output"):
            self._existing(instance_uuid)
            return self._guests.files(instance_uuid).last_console_lines(lines)

    def trigger_crash_dump(self, instance_uuid: str) -> None:
        """Inject a non-maskable interrupt, which the kernel has to be configured to dump at."""
        with self._operating(instance_uuid, "Crash dump"):
            domain = self._running(instance_uuid)
            try:
                domain.injectNMI(0)
            except self._library.libvirtError as error:
                if error.get_error_code() not in self._cannot:
                    raise
                raise exception.OperationUnsupported(
                    host=self.host, operation=Feature.CRASH_DUMP.value, reason=_said(error)
                ) from error

    @property
    def _cannot(self) -> tuple[int, ...]:
        """Codes of what a hypervisor cannot do."""
        library = self._library
        return (
            library.VIR_ERR_NO_SUPPORT, library.VIR_ERR_OPERATION_UNSUPPORTED,
            library.VIR_ERR_ARGUMENT_UNSUPPORTED, library.VIR_ERR_CONFIG_UNSUPPORTED,
        )  # fmt: skip

    def open_serial_console(self, instance_uuid: str) -> SerialStream:
        with self._operating(instance_uuid, "Serial console"):
            self._running(instance_uuid)
            return LibvirtSerialStream(
                self._library, self._conf.libvirt.connection_uri, instance_uuid
            )

    def get_diagnostics(self, instance_uuid: str) -> Diagnostics:
        with self._operating(instance_uuid, "Diagnostics"):
            domain = self._existing(instance_uuid)
            return diagnostics.of(self._library, domain, self._info(domain).power_state)

    # Moves ----------------------------------------------------------------------------------------

    @repeated
    def detach(self, instance_uuid: str, *, grace_seconds: float) -> dict[str, object]:
        with self._operating(instance_uuid, "Detaching"):
            domain = self._existing(instance_uuid)
            was_on = bool(domain.isActive())
            self._guests.shut_down(domain, grace_seconds)
            try:
                payload = self._cold.describe(instance_uuid, self._record(domain))
                return {**dataclasses.asdict(payload), NEEDS_SOURCE: True}
            except (DiskError, OSError):
                if was_on:
                    self._guests.start(domain)
                raise

    @repeated
    def attach(
        self,
        instance: Instance,
        place: InstancePlacement,
        migration_payload: Mapping[str, Any],
        *,
        is_on: bool,
    ) -> GuestInfo:
        sent = ColdPayload.from_plain(migration_payload)
        try:
            with self._operating(instance.uuid, "Taking over"):
                return self._info(self._take_over(instance, place, sent, is_on=is_on))
        except exception.OperationFailed:
            if sent.host != self.host:
                self._undo(instance.uuid)
            raise

    @repeated
    def resize(self, instance: Instance, place: InstancePlacement, *, is_on: bool) -> GuestInfo:
        with self._operating(instance.uuid, "Resize"):
            domain = self._existing(instance.uuid)
            record = self._record(domain)
            least = least_sizes(instance.flavor, record.disks, record.least)
            is_done = record == GuestRecord.of(instance, place, least)
            if not is_done or not is_on:
                self._guests.shut_down(domain)
            self._record_staying(instance.uuid)
            if not is_done:
                self._guests.files(instance.uuid).fit(instance.flavor)
                domain = self._guests.define(instance, place, least)
            if is_on:
                self._guests.start(domain)
            return self._info(domain)

    @repeated
    def settle(self, instance: Instance) -> None:
        with self._operating(instance.uuid, "Confirming a resize"):
            domain = self._guests.find(instance.uuid)
            if domain is not None:
                self._guests.settle(domain, self._record(domain))
                self._guests.files(instance.uuid).remove_extra_but(instance.flavor)

    @repeated
    def prepare_live(
        self, instance: Instance, place: InstancePlacement, source: Mapping[str, Any]
    ) -> dict[str, object]:
        running = LiveSource.from_plain(source)
        try:
            with self._operating(instance.uuid, "Preparing a live migration"):
                ready = self._live.prepare(instance, place, running)
        except exception.OperationFailed:
            if running.host != self.host:
                self._undo(instance.uuid)
            raise
        return {
            "host": ready.host,
            "address": ready.address,
            "directory": ready.directory,
            "is_shared": ready.is_shared,
            "place": ready.place.to_plain(),
            "pins": ready.pins.to_plain(),
            "disks": ready.disks,
            "cache": ready.cache,
        }

    @repeated
    def describe_live(self, instance_uuid: str) -> dict[str, object]:
        with self._operating(instance_uuid, "Live migration"):
            found = self._live.describe(instance_uuid, self._running(instance_uuid))
            return dataclasses.asdict(found)

    @repeated
    def live_migrate(
        self, instance: Instance, destination: Mapping[str, Any], watch: LiveWatch
    ) -> None:
        uuid = instance.uuid
        with outcome_known(self.daemon), self._operating(uuid, "Live migration"):
            try:
                if not self._live.has_left(uuid):
                    domain = self._existing(uuid)
                    self._live.hand_over(domain, LiveDestination.from_plain(destination), watch)
            except MoveAborted as error:
                if not self._live.has_left(uuid):
                    raise exception.LiveMigrationAborted(instance_uuid=uuid) from error
            except (self._library.libvirtError, *_FAILURES):
                # On a failure the destination destroys its copy, so be sure that the guest is here.
                if not self._live.has_left(uuid):
                    raise
            self._note_gone(uuid, destination)

    def _note_gone(self, uuid: str, destination: Mapping[str, Any]) -> None:
        """Note that a guest has left; if that fails, it has left nevertheless."""
        try:
            self._live.note_gone(uuid, LiveDestination.from_plain(destination))
        except (DiskError, OSError) as error:
            LOG.warning("%s has left, and its files cannot be marked: %s", uuid, error)

    @repeated
    def complete_live(self, instance: Instance, place: InstancePlacement) -> GuestInfo:
        with outcome_known(self.daemon), self._operating(instance.uuid, "Live migration"):
            domain = self._running(instance.uuid)
            self._live.complete(instance.uuid)
            return self._info(domain)

    # Parts ----------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _building(self, uuid: str) -> Iterator[None]:
        """Undo a build that fails. Raises BuildAborted, BuildFailed, BuildNotUndone."""
        with self._checking(uuid):
            try:
                yield
            except (self._library.libvirtError, *_FAILURES) as error:
                self._undo_build(uuid, error)
                raise

    @contextlib.contextmanager
    def _checking(self, uuid: str) -> Iterator[None]:
        """Convert errors to BuildAborted and BuildFailed."""
        try:
            yield
        except (BadImage, UnsafeImage) as error:
            raise exception.BuildAborted(instance_uuid=uuid, reason=str(error)) from error
        except (self._library.libvirtError, *_FAILURES) as error:
            raise exception.BuildFailed(
                instance_uuid=uuid, host=self.host, reason=self._explained(error)
            ) from error

    @contextlib.contextmanager
    def _operating(self, uuid: str, operation: str) -> Iterator[None]:
        """Convert errors to OperationFailed, with operation, guest and libvirt's message."""
        try:
            yield
        except (self._library.libvirtError, *_FAILURES) as error:
            raise exception.OperationFailed(
                operation=operation, instance_uuid=uuid, host=self.host,
                reason=self._explained(error),
            ) from error  # fmt: skip

    def _explained(self, error: BaseException) -> str:
        """Return an error's message; that of a full file system with what is free."""
        options = self._conf.libvirt
        places = {
            "instances_path": options.instances_path,
            "images_path": options.images_path,
            "[image] store_path": self._conf.image.store_path,
        }
        return disk_room.explained(_said(error), {name: Path(at) for name, at in places.items()})

    def _existing(self, uuid: str) -> Any:
        domain = self._guests.find(uuid)
        if domain is None:
            raise NoGuest("the guest does not exist")
        self._guests.keep_defined(domain)
        return domain

    def _running(self, uuid: str) -> Any:
        domain = self._existing(uuid)
        if not self._guests.is_running(domain):
            raise NoGuest("the guest is not running")
        return domain

    def _record(self, domain: Any) -> GuestRecord:
        record = self._guests.record(domain)
        assert record is not None  # find() only returns guests with a record
        return record

    def _start_redefined(self, domain: Any, instance: Instance, place: InstancePlacement) -> Any:
        """Start a guest that is off with a current definition.

        Without a domain, because something undefined it, the guest is defined again with its disks.
        Raises NoGuest if they are not here.
        """
        if domain is None and not self._guests.is_undefined(instance.uuid):
            raise NoGuest("the guest does not exist")
        least = None if domain is None else self._record(domain).least
        self._record_staying(instance.uuid)
        defined = self._guests.define(instance, place, least)
        self._guests.start(defined)
        return defined

    def _record_staying(self, uuid: str) -> None:
        """Record that a guest stays here, if it was about to move."""
        files = self._guests.files(uuid)
        note = files.read_note()
        if note != note.staying(self.host):
            files.write_note(note.staying(self.host))

    def _take_over(
        self, instance: Instance, place: InstancePlacement, sent: ColdPayload, *, is_on: bool
    ) -> Any:
        domain = self._guests.find(instance.uuid)
        if domain is not None and domain.isActive():
            return domain
        # Taking a move back restores the guest at its source, so its disks need not shrink here.
        sizes = DiskSizes(sent.root_gb, sent.ephemeral_gb)
        least_sizes(instance.flavor, sizes, sizes)
        self._cold.take_over(instance, sent)
        domain = self._guests.define(instance, place)
        if is_on:
            self._guests.start(domain)
        return domain

    def _info(self, domain: Any) -> GuestInfo:
        info = self._guests.info(domain)
        assert info is not None  # it has a record
        return info

    def _undo_build(self, uuid: str, reason: BaseException) -> None:
        """Remove a partial build. Raises BuildNotUndone, as when libvirt's daemon has ended."""
        try:
            self._guests.remove(uuid)
        except (self._library.libvirtError, *_FAILURES) as error:
            raise exception.BuildNotUndone(
                instance_uuid=uuid, host=self.host, reason=f"{_said(reason)}; {_said(error)}"
            ) from error

    def _undo(self, uuid: str) -> None:
        try:
            self._guests.remove(uuid)
        except (self._library.libvirtError, *_FAILURES) as error:
            LOG.warning("%s: cannot remove a partial build: %s", uuid, error)


def _said(error: BaseException) -> str:
    if isinstance(error, exception.ArmillaryError):
        return str(error.kwargs.get("reason", error))
    return str(error)
