"""Live migration of guests between daemons, with progress and abort."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from typing import Any

from oslo_config import cfg

from armillary.files import private_files
from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.virt.driver import LiveWatch
from compute_agent.virt.libvirt import earlier_consoles
from compute_agent.virt.libvirt.disks.instance_files import InstanceFiles
from compute_agent.virt.libvirt.disks.storage import CopiedStorage, Role
from compute_agent.virt.libvirt.domain import live_xml
from compute_agent.virt.libvirt.domain.pins import Pins
from compute_agent.virt.libvirt.guests import Guests
from compute_agent.virt.libvirt.moves import arrivals, remote_uris
from compute_agent.virt.libvirt.moves.completion_limit import ABORT, CompletionLimit
from compute_agent.virt.libvirt.moves.payloads import (
    DiskFile,
    LiveDestination,
    LiveSource,
    disk_name,
    role_of,
)
from compute_agent.virt.libvirt.ownership import Ownership
from objects.instance import Instance

LOG = logging.getLogger(__name__)

POLL_SECONDS = 0.25
_PREPARATION_MS_MAX = 10_000
_KIB, _MIB = 1024, 1024**2


class CannotMove(Exception):
    """The guest or a host does not support the move; the message is the reason."""


class MoveAborted(Exception):
    """The migration was aborted, and the guest keeps running here."""


class LiveMoves:
    """Raises CannotMove, MoveAborted, DiskError, OSError, and libvirt's errors."""

    def __init__(self, conf: cfg.ConfigOpts, guests: Guests) -> None:
        self._conf = conf
        self._guests = guests

    # At the source --------------------------------------------------------------------------------

    def describe(self, uuid: str, domain: Any) -> LiveSource:
        """Return what a destination needs to know about a running guest."""
        record = self._guests.record(domain)
        if record is not None and record.place.pci_devices:
            raise CannotMove("it uses PCI devices of the host, which cannot be migrated")
        self._guests.need_disks(domain)
        files = self._guests.files(uuid)
        note = files.read_note().with_token()
        files.write_note(note)
        text = self._running_xml(domain)
        arch, machine = live_xml.machine(text)
        capabilities = self._guests.facts.capabilities
        return LiveSource(
            host=self._guests.host,
            token=note.token,
            cpu=live_xml.guest_cpu(text),
            host_cpu=capabilities.cpu_xml if live_xml.has_host_cpu(text) else None,
            arch=arch,
            machine=machine,
            virt_type=self._guests.facts.virt_type,
            disks=self._disks(files),
            address=remote_uris.own_address(self._conf),
            directory=str(files.directory),
            storage=files.storage.name,
            used_bytes=files.copy_bytes(*Role),
        )

    def hand_over(self, domain: Any, destination: LiveDestination, watch: LiveWatch) -> None:
        """Migrate a running or paused guest; return when it has left this host."""
        uuid = domain.UUIDString()
        limit = CompletionLimit.of(self._conf, self._bytes_to_send(domain, uuid, destination))
        if self._is_leaving(domain):  # started before an agent restart; may be paused by now
            _Move(self._guests.library, domain, limit).join(watch)
        elif self._guests.is_running(domain):
            self._migrate(domain, destination, limit, watch)
        else:
            raise CannotMove("the guest is not running")

    def _bytes_to_send(self, domain: Any, uuid: str, destination: LiveDestination) -> int:
        disks = [] if destination.is_shared else self._disks(self._guests.files(uuid))
        return int(domain.maxMemory()) * _KIB + sum(disk.bytes for disk in disks)

    def has_left(self, uuid: str) -> bool:
        """Return whether a guest has left: only its files are here until ``destroy``."""
        return self._guests.find(uuid) is None and self._guests.files(uuid).exists

    def note_gone(self, uuid: str, destination: LiveDestination) -> None:
        """Record that a guest has left; shared files now belong to the destination."""
        files = self._guests.files(uuid)
        if destination.is_shared:
            files.write_note(Ownership(owner=destination.host))
        else:
            files.write_note(Ownership(owner=self._guests.host, is_moving=True))

    def _migrate(
        self, domain: Any, destination: LiveDestination, limit: CompletionLimit, watch: LiveWatch
    ) -> None:
        library = self._guests.library
        files = self._guests.files(domain.UUIDString())
        names = {disk.path: disk_name(role, disk.format) for role, disk in files.present()}
        there = live_xml.for_destination(self._running_xml(domain), destination, names)
        kept = live_xml.for_destination(self._kept_xml(domain), destination, names)
        options = self._conf.libvirt
        parameters: dict[str, str | int] = {
            library.VIR_MIGRATE_PARAM_URI: remote_uris.data_uri(self._conf, destination.address),
            library.VIR_MIGRATE_PARAM_DEST_XML: there,
            library.VIR_MIGRATE_PARAM_PERSIST_XML: kept,
        }
        if options.live_migration_bandwidth:
            parameters[library.VIR_MIGRATE_PARAM_BANDWIDTH] = options.live_migration_bandwidth
        uri = remote_uris.daemon_uri(self._conf, destination.address)
        flags = self._flags(destination)
        if domain.state(0)[0] == library.VIR_DOMAIN_PAUSED:
            flags |= library.VIR_MIGRATE_PAUSED  # it stays paused at its destination

        def run() -> None:
            _Move(library, domain, limit).run(uri, parameters, flags, watch)

        try:
            run()
        except library.libvirtError as error:
            is_taken = error.get_error_code() == library.VIR_ERR_OPERATION_INVALID
            if not is_taken or not arrivals.has_ended(library, uri, domain.UUIDString()):
                raise
            run()

    def _flags(self, destination: LiveDestination) -> int:
        library = self._guests.library
        options = self._conf.libvirt
        flags = (
            library.VIR_MIGRATE_LIVE
            | library.VIR_MIGRATE_PEER2PEER  # it continues if the agent dies
            | library.VIR_MIGRATE_PERSIST_DEST
            | library.VIR_MIGRATE_UNDEFINE_SOURCE
        )
        if not destination.is_shared:
            flags |= library.VIR_MIGRATE_NON_SHARED_DISK
        if options.live_migration_with_native_tls:
            flags |= library.VIR_MIGRATE_TLS
        if options.live_migration_permit_auto_converge:
            flags |= library.VIR_MIGRATE_AUTO_CONVERGE
        if options.live_migration_permit_post_copy:
            flags |= library.VIR_MIGRATE_POSTCOPY
        return int(flags)

    def _is_leaving(self, domain: Any) -> bool:
        library = self._guests.library
        if not domain.isActive():
            return False
        found = domain.jobStats()
        return bool(
            found.get("type") not in (None, library.VIR_DOMAIN_JOB_NONE)
            and found.get("operation") == library.VIR_DOMAIN_JOB_OPERATION_MIGRATION_OUT
        )

    def _running_xml(self, domain: Any) -> str:
        library = self._guests.library
        flags = library.VIR_DOMAIN_XML_MIGRATABLE | library.VIR_DOMAIN_XML_SECURE
        return str(domain.XMLDesc(flags))

    def _kept_xml(self, domain: Any) -> str:
        library = self._guests.library
        flags = library.VIR_DOMAIN_XML_INACTIVE | library.VIR_DOMAIN_XML_SECURE
        return str(domain.XMLDesc(flags))

    def _disks(self, files: InstanceFiles) -> list[DiskFile]:
        found = [
            DiskFile(disk_name(role, disk.format), disk.format, files.storage.size(disk))
            for role, disk in files.present()
        ]
        if files.nvram.exists():
            found.append(DiskFile(files.nvram.name, "raw", files.nvram.stat().st_size))
        return found

    # At the destination ---------------------------------------------------------------------------

    def prepare(
        self, instance: Instance, place: InstancePlacement, source: LiveSource
    ) -> LiveDestination:
        """Prepare disks for a guest, and return what the source needs to know."""
        self._check_host(source)
        files = self._guests.files(instance.uuid)
        if source.storage != files.storage.name:
            raise CannotMove(
                f"its disks are in the storage {source.storage}, this host's are in "
                f"{files.storage.name}"
            )
        note = files.read_note()
        is_shared = note.token is not None and note.token == source.token
        if self._guests.find(instance.uuid) is None:
            self._make_room(files, source, is_shared=is_shared)
        disks = {disk_name(role, disk.format): disk for role, disk in files.present()}
        return LiveDestination(
            host=self._guests.host,
            address=remote_uris.own_address(self._conf),
            directory=str(files.directory),
            is_shared=is_shared,
            place=place,
            pins=Pins.of(place, self._guests.facts.cells, self._guests.facts.split),
            disks={name: disk.path for name, disk in disks.items()},
            cache=next((disk.cache for disk in disks.values()), None),
        )

    def _make_room(self, files: InstanceFiles, source: LiveSource, *, is_shared: bool) -> None:
        """Make the directory of a guest that is to arrive, and the disks that are copied."""
        storage = files.storage
        if is_shared:
            if storage.is_in_directory:
                return
            files.make()
        elif isinstance(storage, CopiedStorage):
            files.make()
            self._guests.disk_room.keep(files.uuid, [(files.directory, source.used_bytes)])
            files.write_note(
                Ownership(owner=self._guests.host, is_moving=True, arriving_bytes=source.used_bytes)
            )
            for disk in source.disks:
                _make_empty(files, storage, disk)
        else:
            raise CannotMove(f"this host and its source do not reach the same {source.storage}")
        earlier_consoles.note_source(files, source)

    def keep_room(self) -> None:
        """Keep the room for guests that were on their way here when an earlier agent ended.

        Raises DiskError, OSError.
        """
        for files in self._guests.all_files():
            note = files.read_note()
            if note.owner == self._guests.host and note.arriving_bytes:
                copies = [(files.directory, note.arriving_bytes)]
                self._guests.disk_room.keep_again(files.uuid, copies)

    def complete(self, uuid: str) -> None:
        """Record that a guest arrived: its files belong to this host."""
        files = self._guests.files(uuid)
        self._guests.disk_room.release(uuid)
        files.write_note(Ownership(owner=self._guests.host))
        earlier_consoles.fetch(files, self._guests.library, self._conf)

    def _check_host(self, source: LiveSource) -> None:
        facts = self._guests.facts
        kind = next((kind for kind in facts.kinds if kind.arch == source.arch), None)
        if source.virt_type != facts.virt_type or kind is None:
            raise CannotMove(
                f"this host does not support guests of type {source.virt_type} for {source.arch}"
            )
        if source.machine and source.machine not in kind.machines:
            raise CannotMove(f"this host does not support the machine type {source.machine}")
        self._check_cpu(source)

    def _check_cpu(self, source: LiveSource) -> None:
        library = self._guests.library
        opened = self._guests.connection.get()
        enough = (library.VIR_CPU_COMPARE_IDENTICAL, library.VIR_CPU_COMPARE_SUPERSET)
        results = []
        if source.cpu is not None:
            kind = (None, source.arch, source.machine, source.virt_type)
            results.append(opened.compareHypervisorCPU(*kind, source.cpu, 0))
        if source.host_cpu is not None:
            results.append(opened.compareCPU(source.host_cpu, 0))
        if not all(result in enough for result in results):
            raise CannotMove("this host's CPU lacks features of the guest's CPU")


class _Move:
    """One migration. libvirt's call blocks, so it runs in a thread of its own."""

    def __init__(self, library: Any, domain: Any, limit: CompletionLimit) -> None:
        self._library = library
        self._domain = domain
        self._limit = limit
        self._is_aborted = False
        self._is_forced = False
        self._refusal = ""
        self._is_late = False
        self._error: Exception | None = None

    def run(self, uri: str, parameters: dict[str, str | int], flags: int, watch: LiveWatch) -> None:
        """Migrate the guest. Raises MoveAborted, libvirtError."""

        def migrate() -> None:
            try:
                self._domain.migrateToURI3(uri, parameters, flags)
            except Exception as error:
                self._error = error

        thread = threading.Thread(target=migrate, name="live-migration", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(POLL_SECONDS)
            self._look(watch)
        self._finish()

    def join(self, watch: LiveWatch) -> None:
        """Wait for a migration in progress. Raises MoveAborted, CannotMove."""
        pause = threading.Event()
        while self._look(watch):
            pause.wait(POLL_SECONDS)
        if self._is_active():
            if self._is_late:
                raise self._lateness()
            if self._is_aborted:
                raise MoveAborted
            raise CannotMove("the migration in progress has failed")

    def _finish(self) -> None:
        error = self._error
        if error is None:
            return
        if self._is_late:
            raise self._lateness() from error
        is_told = (
            isinstance(error, self._library.libvirtError)
            and error.get_error_code() == self._library.VIR_ERR_OPERATION_ABORTED
        )
        if is_told or self._is_aborted:
            raise MoveAborted from error
        raise error

    def _look(self, watch: LiveWatch) -> bool:
        """Report progress and pass on an abort; return whether the migration continues."""
        try:
            found = self._domain.jobStats()
        except self._library.libvirtError as error:
            LOG.debug("Cannot get the progress of the migration: %s", error)
            return False
        if found.get("type") in (None, self._library.VIR_DOMAIN_JOB_NONE):
            return False
        if found.get("memory_total"):  # 0 while disks are copied
            watch.progress(
                total_mb=found["memory_total"] // _MIB,
                remaining_mb=found.get("memory_remaining", 0) // _MIB,
            )
        if watch.is_aborted():
            if _is_copying(found):
                self._abort()
        elif watch.is_forced():
            if _is_copying(found):
                self._force()
        elif self._limit.is_over(found):
            self._end_in_time()
        return True

    def _end_in_time(self) -> None:
        """Do what is to be done with a migration that takes too long."""
        if self._limit.action != ABORT:
            self._force()
        elif not self._is_late and not self._is_forced:
            self._is_late = True
            self._abort()

    def _force(self) -> None:
        """Complete it, once: by post-copy, or with the guest paused, so that nothing changes.

        libvirt continues a paused guest at the end. What it refuses yet is tried at the next poll.
        """
        if self._is_forced or self._is_late:
            return
        try:
            if self._limit.permits_post_copy:
                LOG.info("%s: switching its migration to post-copy", self._domain.UUIDString())
                self._domain.migrateStartPostCopy()
            else:
                LOG.info("%s: paused until its migration is complete", self._domain.UUIDString())
                self._domain.suspend()
        except self._library.libvirtError as error:
            if str(error) != self._refusal:
                LOG.warning("The migration cannot be forced to complete yet: %s", error)
            self._refusal = str(error)
        else:
            self._is_forced = True

    def _lateness(self) -> CannotMove:
        return CannotMove(
            f"it was not complete within {self._limit.seconds:.0f} s ([libvirt] "
            "live_migration_completion_timeout), and was aborted"
        )

    def _abort(self) -> None:
        self._is_aborted = True
        try:
            self._domain.abortJob()
        except self._library.libvirtError as error:
            LOG.info("The migration can no longer be aborted: %s", error)

    def _is_active(self) -> bool:
        try:
            return bool(self._domain.isActive())
        except self._library.libvirtError:
            return False


def _is_copying(found: Mapping[str, Any]) -> bool:
    """Return whether libvirt would heed an abort, by the statistics of the migration.

    Until disks or memory are copied, libvirt 9.0 accepts an abort and migrates the guest anyway.
    """
    copied = found.get("memory_total") or found.get("disk_total")
    return bool(copied) or found.get("time_elapsed", 0) > _PREPARATION_MS_MAX


def _make_empty(files: InstanceFiles, storage: CopiedStorage, disk: DiskFile) -> None:
    """Make a disk for the other daemon to fill."""
    if disk.name == files.nvram.name:
        with open(files.nvram, "wb", opener=private_files.opener) as file:
            file.truncate(disk.bytes)
        return
    try:
        role = role_of(disk)
    except ValueError as error:
        raise CannotMove(f"the source has a disk with the invalid name {disk.name}") from error
    storage.make_empty(files.directory, role, disk.format, disk.bytes)
