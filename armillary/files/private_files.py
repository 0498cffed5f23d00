"""Files and directories that only their owner may read, whatever the umask.

What a service keeps on disk (databases, journals, names of processes) tells of every project, so no
other account of the machine may read it.
"""

import contextlib
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
OTHERS = 0o077
"""The part of a mode that is about other accounts."""
PUBLIC_MODE = 0o666
"""Of files without secrets, as far as the umask allows."""


def make_directory(path: Path) -> None:
    """Create a directory and its missing parents; an existing one keeps its mode.

    Raises OSError.
    """
    for missing in reversed([each for each in (path, *path.parents) if not each.exists()]):
        missing.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    path.mkdir(exist_ok=True)  # raises FileExistsError if it is a file


def opener(path: str, flags: int) -> int:
    """Open a file for ``open(opener=...)``; a new one is its owner's alone. Raises OSError."""
    return os.open(path, flags | os.O_CLOEXEC, FILE_MODE)


def prepare_sqlite(path: Path) -> None:
    """Create the file of a SQLite database, or withdraw others' access to an existing one.

    SQLite gives the files that it creates beside it the mode of this one. An existing file is never
    opened: closing it would release the locks of this process's connections. Raises OSError.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
    except FileExistsError:
        for suffix in ("", "-wal", "-shm", "-journal"):
            _withdraw(path.with_name(path.name + suffix))


def _withdraw(path: Path) -> None:
    """Withdraw others' access to a file; one that is missing or another user's is ignored."""
    with contextlib.suppress(FileNotFoundError, PermissionError):
        mode = path.stat().st_mode
        if mode & OTHERS:
            path.chmod(stat.S_IMODE(mode) & ~OTHERS)


def write(path: Path, text: str) -> None:
    """Replace a file atomically. Raises OSError."""
    with replacing(path) as file:
        file.write(text.encode())


def write_new(path: Path, text: str) -> None:
    """Write a file as a whole, and to the disk; one that another process wrote first stays.

    Raises OSError.
    """
    make_directory(path.parent)
    draft = _draft_of(path)
    try:
        with open(draft, "xb", opener=opener) as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for the lock of a file, which is created, and hold it. Raises OSError."""
    file = _lock(path, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(file)


def lock(path: Path) -> int:
    """Lock a file, which is created; return its descriptor, which holds the lock until closed.

    Raises BlockingIOError if another process holds it, and OSError.
    """
    return _lock(path, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock(path: Path, operation: int) -> int:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    try:
        fcntl.flock(file, operation)
    except BaseException:
        os.close(file)
        raise
    return file


@contextlib.contextmanager
def replacing(path: Path, *, mode: int = FILE_MODE) -> Iterator[BinaryIO]:
    """Lend a file that replaces another one atomically; an error leaves that as it was.

    Raises OSError.
    """
    draft = _draft_of(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(draft, flags, mode), "wb") as file:
            yield file
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _draft_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}")
