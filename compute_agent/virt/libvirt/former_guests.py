"""Guests that are rebuilt: all that they had is kept under another name until the new guest runs.

A note among their files has their definition, and whether they ran. If an agent is killed in the
middle, the rebuild starts again, and begins with taking the files back.
"""

import dataclasses
import json
import logging
from pathlib import Path
from typing import Any

from armillary.files import private_files
from compute_agent.virt.instance_directories import open_own
from compute_agent.virt.libvirt.disks.instance_files import InstanceFiles
from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from compute_agent.virt.libvirt.guests import Guests

LOG = logging.getLogger(__name__)

_NOTE = "former.json"


@dataclasses.dataclass(frozen=True, slots=True)
class _Note:
    """``xml`` is the definition of the guest, if it had one."""

    is_on: bool
    xml: str | None


class FormerGuests:
    """Guests aside. Methods raise libvirt's errors, DiskError, OSError."""

    def __init__(self, guests: Guests) -> None:
        self._guests = guests

    def set_aside(self, uuid: str) -> None:
        """Stop and undefine a guest, and rename its directory and disks. Idempotent.

        Raises DiskError if another host has taken the disks over.
        """
        self.take_back_files(uuid)
        files = self._guests.files(uuid)
        note = files.read_note()
        if not note.is_of(self._guests.host):
            raise DiskError(f"its disks belong to the host {note.owner} by now")
        domain = self._guests.find(uuid)
        if files.exists:
            _write(files, self._note_of(domain, _read(files)))
        if domain is not None:
            self._guests.forget(domain)
        _rename(files, self._guests.former_files(uuid))

    def _note_of(self, domain: Any, before: _Note | None) -> _Note:
        """Return the note of a guest; ``before`` is that of a rebuild that was interrupted."""
        was_on = before is not None and before.is_on
        if domain is None:
            return _Note(was_on, None if before is None else before.xml)
        library = self._guests.library
        flags = library.VIR_DOMAIN_XML_INACTIVE | library.VIR_DOMAIN_XML_SECURE
        return _Note(was_on or bool(domain.isActive()), domain.XMLDesc(flags))

    def take_back_files(self, uuid: str) -> None:
        """Remove what was built in place of a guest, and give its files their names again."""
        former = self._guests.former_files(uuid)
        if _read(former) is not None:
            self._guests.remove(uuid)
            former.directory.rename(self._guests.files(uuid).directory)
        elif former.exists:
            former.remove()  # what is left of one that was replaced
        self._take_back_disks(self._guests.files(uuid))

    def _take_back_disks(self, files: InstanceFiles) -> None:
        """Give disks that an interrupted rebuild has renamed their names, if they are ours."""
        if _read(files) is not None and files.read_note().is_of(self._guests.host):
            former = self._guests.former_files(files.uuid)
            files.storage.rename(former.directory, files.directory)

    def put_back(self, uuid: str) -> bool | None:
        """Have a guest as it was; return whether it ran, None if it was not set aside.

        One that ran is started, unless that fails.
        """
        self.take_back_files(uuid)
        files = self._guests.files(uuid)
        note = _read(files)
        if note is None:
            return None
        domain = None
        if note.xml is not None:
            domain = self._guests.connection.get().defineXML(note.xml)
        if note.is_on and domain is not None:
            try:
                self._guests.start(domain)
            except (self._guests.library.libvirtError, OSError) as error:
                LOG.warning("%s: cannot be started again: %s", uuid, error)
        _path(files).unlink()
        return note.is_on

    def settle(self, uuid: str) -> None:
        """Have one guest, after a rebuild that is not begun again: the new one if it runs.

        Otherwise the former one has its files again, to be defined and started. Idempotent.
        """
        domain = self._guests.find(uuid)
        if domain is not None and domain.isActive():
            if self._guests.former_files(uuid).exists:
                self.drop(uuid)
            return
        self.take_back_files(uuid)
        _path(self._guests.files(uuid)).unlink(missing_ok=True)

    def set_aside_of(self, uuid: str, host: str) -> None:
        """Set aside what a host that is down had of a guest that it was to rebuild. Idempotent.

        That host may have begun, and what it has built in its place is removed.
        """
        files, former = self._guests.files(uuid), self._guests.former_files(uuid)
        if files.read_note().owner != host:
            return
        if former.read_note().owner == host:
            files.remove()
            return
        if files.exists and _read(files) is None:
            _write(files, _Note(is_on=False, xml=None))
        _rename(files, former)

    def take_back_of(self, uuid: str, host: str) -> None:
        """Give a guest of a host that is down its files again, if it could not be put back there.

        Raises DiskError if this host cannot tell which ones it is to have.
        """
        files, former = self._guests.files(uuid), self._guests.former_files(uuid)
        if former.root is None or host not in (files.read_note().owner, former.read_note().owner):
            return
        if files.storage.is_in_directory:
            if _read(former) is None:
                return  # the new guest ran; this was to be removed
            files.remove()
        elif files.root is not None:
            raise DiskError(
                f"{files.storage.name} has disks {files.uuid}_… and {former.uuid}_… of {host}; "
                "remove those of one of both, which the server is not to have"
            )
        _rename(former, files)
        _path(files).unlink(missing_ok=True)

    def drop_of(self, uuid: str, host: str) -> None:
        """Remove what a host that is down had kept during a rebuild, if this host reaches it."""
        former = self._guests.former_files(uuid)
        if former.read_note().owner == host:
            self.drop(uuid)

    def drop(self, uuid: str) -> None:
        """Remove a guest that was replaced. What cannot be removed goes with the server."""
        former = self._guests.former_files(uuid)
        _path(former).unlink(missing_ok=True)  # from now on it cannot be put back
        try:
            former.remove()
        except (DiskError, OSError) as error:
            LOG.warning("%s: cannot remove what it had before its rebuild: %s", uuid, error)

    def remove(self, uuid: str) -> None:
        """Remove a guest, and what is aside of it; other hosts' files are left."""
        files, former = self._guests.files(uuid), self._guests.former_files(uuid)
        self._take_back_disks(files)
        self._guests.remove(uuid)
        if former.exists and former.read_note().is_of(self._guests.host):
            former.remove()


def _rename(files: InstanceFiles, new: InstanceFiles) -> None:
    """Rename disks and directory; what has its new name already is left."""
    files.storage.rename(files.directory, new.directory)
    if files.exists:
        files.directory.rename(new.directory)


def _path(files: InstanceFiles) -> Path:
    return files.directory / _NOTE


def _read(files: InstanceFiles) -> _Note | None:
    """Return the note among some files, if there is one. Raises OSError, DiskError."""
    try:
        with open_own(_path(files)) as file:
            return _Note(**json.loads(file.read()))
    except FileNotFoundError:
        return None
    except (TypeError, ValueError) as error:
        raise DiskError(f"{_path(files)} cannot be read: {error}") from error


def _write(files: InstanceFiles, note: _Note) -> None:
    private_files.write(_path(files), json.dumps(dataclasses.asdict(note)))
