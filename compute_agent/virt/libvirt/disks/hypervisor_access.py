"""Access of the hypervisor's user to the files of guests, whatever the umask of the agent.

The privileged daemon runs QEMU as a user of its own (``libvirt-qemu``). That user must be able to
traverse the directories above the disks; the disks themselves are readable for it alone.
"""

import contextlib
import dataclasses
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from armillary import exception

DIRECTORY_MODE = 0o711
"""Directories of guests: others may traverse them, and not list them."""
_ACL = "system.posix_acl_access"


@dataclasses.dataclass(frozen=True, slots=True)
class HypervisorUser:
    """The user and group that the hypervisor runs as."""

    uid: int
    gid: int

    @classmethod
    def of_label(cls, label: str | None) -> Self | None:
        """Return the user of a label of libvirt's DAC model, ``+64055:+113``; None without one."""
        user, _, group = (label or "").partition(":")
        try:
            return cls(int(user), int(group))
        except ValueError:
            return None

    def can_traverse(self, found: os.stat_result) -> bool:
        """Return whether a directory's mode lets this user pass through it."""
        if self.uid == 0:
            return True
        if found.st_uid == self.uid:
            return bool(found.st_mode & stat.S_IXUSR)
        if found.st_gid == self.gid:
            return bool(found.st_mode & stat.S_IXGRP)
        return bool(found.st_mode & stat.S_IXOTH)


def make_directory(path: Path) -> None:
    """Create a directory and its missing parents, all of which others may traverse.

    Raises OSError.
    """
    for missing in reversed([each for each in (path, *path.parents) if not each.exists()]):
        missing.mkdir(exist_ok=True)
        missing.chmod(DIRECTORY_MODE)  # whatever the umask
    path.mkdir(exist_ok=True)  # raises FileExistsError if it is a file


def open_way(path: Path, user: HypervisorUser | None, below: Path, option: str) -> None:
    """Let the hypervisor's user reach a directory; without a user, it is the agent's own.

    The directory itself, and those above it that are at or below ``below``, the agent's own place,
    are opened. Raises ConfigurationError that names the first other one that it cannot traverse.
    """
    if user is None or user.uid == os.geteuid():
        return
    for each in _closed(path.resolve(), user):
        if not _is_own(each, path, below) or not _is_opened(each):
            raise exception.ConfigurationError(
                reason=f"{option} is {path}, but the hypervisor's user (uid {user.uid}) cannot "
                f"traverse {each}; allow it with `chmod o+x {each}`, or choose another directory"
            )


def give(directory: Path, user: HypervisorUser | None) -> None:
    """Give the disks in a directory to the hypervisor's user, and to no other account.

    libvirt does so itself unless it is configured not to. Only root can; others leave it to
    libvirt. Raises OSError.
    """
    for path in sorted(directory.glob("*")):
        if path.suffix not in (".raw", ".qcow2") or path.is_symlink():
            continue
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            path.chmod(0o600)
        if user is not None and os.geteuid() == 0:
            with contextlib.suppress(PermissionError):  # a file server that does not trust root
                os.chown(path, user.uid, user.gid, follow_symlinks=False)


def _closed(path: Path, user: HypervisorUser) -> Iterator[Path]:
    """Yield the directories from the root to ``path`` that a user cannot traverse."""
    for each in (*reversed(path.parents), path):
        if not user.can_traverse(each.stat()) and not _has_acl(each):
            yield each


def _is_own(each: Path, path: Path, below: Path) -> bool:
    return each == path.resolve() or each.is_relative_to(below.resolve())


def _has_acl(path: Path) -> bool:
    """Return whether an access control list decides instead of the mode."""
    try:
        return bool(os.getxattr(path, _ACL))
    except OSError:
        return False


def _is_opened(path: Path) -> bool:
    """Let others traverse a directory of ours; return whether that is possible."""
    try:
        path.chmod(stat.S_IMODE(path.stat().st_mode) | stat.S_IXOTH | stat.S_IXGRP)
    except OSError:
        return False
    return True
