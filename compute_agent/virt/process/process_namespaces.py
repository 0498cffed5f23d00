"""A workload's own view of the machine: a network of its own, and file systems without secrets.

Loaded by the shim, so only with the standard library. Run as a program, it prints which of these
the kernel allows this user, as JSON: {"mounts": null or an error text, "network": the same}.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import socket
import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_SLAVE = 4096, 16384, 1 << 19
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - what is mounted over
SHARED_MEMORY = "/dev/shm"  # noqa: S108
_SAFE = MS_NOSUID | MS_NODEV | MS_NOEXEC


class Namespaces(NamedTuple):
    """What a workload has of its own; ``hidden`` and ``kept`` are absolute paths."""

    has_mounts: bool
    has_network: bool
    uses_user_namespace: bool
    """Whether a user other than root creates them."""
    hidden: list[str]
    """Directories that are empty for it, and files that are."""
    kept: list[str]
    """Directories below hidden ones that it sees."""
    temporary: str | None = None
    """Directory that is its ``/tmp`` and ``/var/tmp``; None: the machine's are."""
    shared_memory_mb: int = 0
    """Size of its own ``/dev/shm``, if ``temporary`` is set; 0: half of the memory."""


_libc = ctypes.CDLL(None, use_errno=True)


def enter(wanted: Namespaces) -> None:
    """Move this process into new namespaces. Raises OSError."""
    flags = CLONE_NEWIPC
    flags |= CLONE_NEWNS if wanted.has_mounts else 0
    flags |= CLONE_NEWNET if wanted.has_network else 0
    if flags == CLONE_NEWIPC:
        return
    os.umask(0o022)  # of directories on the way to kept ones
    uid, gid = os.geteuid(), os.getegid()
    if wanted.uses_user_namespace:
        _check(_libc.unshare(CLONE_NEWUSER), "user namespace")
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{uid} {uid} 1")
        _write("/proc/self/gid_map", f"{gid} {gid} 1")
    _check(_libc.unshare(flags), "namespaces")
    if wanted.has_network:
        _start_loopback()
    if wanted.has_mounts:
        _mount(None, "/", None, MS_REC | MS_SLAVE)
        opened = [
            (path, os.open(path, os.O_PATH | os.O_CLOEXEC))
            for path in wanted.kept
            if Path(path).exists()
        ]
        if wanted.temporary is not None:
            _replace_temporary(wanted.temporary, wanted.shared_memory_mb)
        _hide(wanted.hidden, opened)
        if not wanted.uses_user_namespace:
            _hide_processes()


def _replace_temporary(directory: str, shared_memory_mb: int) -> None:
    """Mount its own directories where the machine has those that all may write to."""
    own = os.open(directory, os.O_PATH | os.O_CLOEXEC)
    for path in filter(Path.is_dir, map(Path, TEMPORARY)):
        _mount(f"/proc/self/fd/{own}", str(path), None, MS_BIND)
    os.close(own)
    if Path(SHARED_MEMORY).is_dir():
        size = f",size={shared_memory_mb}m" if shared_memory_mb else ""
        _mount("none", SHARED_MEMORY, "tmpfs", MS_NOSUID | MS_NODEV, f"mode=1777{size}".encode())


def _hide(hidden: Sequence[str], opened: Sequence[tuple[str, int]]) -> None:
    """Cover ``hidden``, then show what was opened before at its places again."""
    covered = [path for path in sorted(hidden, key=len) if _cover(Path(path))]
    for path, descriptor in opened:
        place = Path(path)
        if not place.exists() or not os.path.samestat(place.stat(), os.fstat(descriptor)):
            place.mkdir(mode=0o755, parents=True, exist_ok=True)
            _mount(f"/proc/self/fd/{descriptor}", path, None, MS_BIND | MS_REC)
        os.close(descriptor)
    for path in covered:
        _mount(None, path, None, MS_REMOUNT | MS_RDONLY | _SAFE, b"mode=0755")


def _cover(path: Path) -> bool:
    """Mount an empty directory or file; return whether it is a directory that was covered."""
    if path.is_dir():
        _mount("none", str(path), "tmpfs", _SAFE, b"mode=0755,size=1m")
        return True
    if path.exists():
        _mount("/dev/null", str(path), None, MS_BIND)
    return False


def _hide_processes() -> None:
    """Show it the processes of its own user only; kernels before 5.8 cannot."""
    with contextlib.suppress(OSError):
        _mount("proc", "/proc", "proc", _SAFE, b"hidepid=invisible")


def _start_loopback() -> None:
    request = struct.pack("16sh22x", b"lo", 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as interface:
        found = fcntl.ioctl(interface, SIOCGIFFLAGS, request)
        (flags,) = struct.unpack_from("h", found, 16)
        fcntl.ioctl(interface, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | IFF_UP))


def _mount(
    source: str | None, target: str, kind: str | None, flags: int, data: bytes | None = None
) -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    _check(_libc.mount(*texts, ctypes.c_ulong(flags), data), f"mount on {target}")


def _check(outcome: int, what: str) -> None:
    if outcome:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _write(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="ascii")


# What the kernel allows ---------------------------------------------------------------------------


def _attempt(wanted: Namespaces) -> str | None:
    """Return why a child cannot enter them, or None."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        _say_error(lambda: enter(wanted), writer)
    os.close(writer)
    with os.fdopen(reader) as said:
        error = said.read()
    os.waitpid(child, 0)
    return error or None


def _say_error(attempt: Callable[[], None], writer: int) -> None:
    try:
        attempt()
    except OSError as error:
        os.write(writer, str(error.strerror).encode())
    finally:
        os._exit(0)


def main() -> int:
    as_user = os.geteuid() != 0
    mounts = Namespaces(True, False, as_user, ["/run"], [])
    network = Namespaces(False, True, as_user, [], [])
    print(json.dumps({"mounts": _attempt(mounts), "network": _attempt(network)}))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
