"""qemu-img: inspection, creation and conversion of disk files."""

import dataclasses
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import IO, Any

from armillary.files.umask import UMASK

PROGRAM = "qemu-img"
TIMEOUT_SECONDS = 600
"""Timeout of commands that copy nothing."""
COPY_SECONDS = 3600.0
"""Timeout of copies unless another one is given."""
INFO_TIMEOUT_SECONDS = 30
INFO_CPU_SECONDS_MAX = 20
MEMORY_BYTES_MAX = 4 * 1024**3
"""Address space of the program, whatever an image of a user makes it do."""
INFO_MEMORY_BYTES_MAX = 1024**3
OUTPUT_BYTES_MAX = 1024**2
"""Of what it says about an image."""
BLOCK_BYTES = 512
"""Unit of what stat says that a file takes."""
LIMITER = "prlimit"
_LIMITS = (f"--as={MEMORY_BYTES_MAX}", "--core=0")
_INFO_LIMITS = (
    f"--as={INFO_MEMORY_BYTES_MAX}",
    f"--cpu={INFO_CPU_SECONDS_MAX}",
    f"--fsize={OUTPUT_BYTES_MAX}",
    "--core=0",
)


class DiskError(Exception):
    """A disk could not be created, read or changed; the message is the reason."""


class UnsafeImage(DiskError):
    """No host can use an image file: it refers to other files, or is encrypted.

    Others would be read with the host's permissions.
    """


def is_installed() -> bool:
    """Return whether the program is installed."""
    return shutil.which(PROGRAM) is not None


def virtual_size(path: Path, disk_format: str) -> int:
    """Return the virtual size of an image in bytes. Raises DiskError, UnsafeImage."""
    if disk_format == "raw":
        return _stat(path).st_size
    found = _info(path, disk_format)
    if found.base or found.has_data_file:
        raise UnsafeImage(f"{path.name} refers to another file, which images must not do")
    if found.is_encrypted:
        raise UnsafeImage(f"{path.name} is encrypted, and hosts have no key; upload it decrypted")
    return found.size


def content_bytes(path: Path, disk_format: str) -> int:
    """Return how many bytes a copy of an image takes, in either format. Raises DiskError.

    Compressed data become larger; holes take nothing.
    """
    if disk_format == "raw":
        return _stat(path).st_blocks * BLOCK_BYTES
    words = ("measure", "-U", "-f", disk_format, "-O", "qcow2")
    said = _said(*words, path=path, timeout=TIMEOUT_SECONDS, limits=_LIMITS)  # it reads all tables
    return int(said["required"])


def refuse_data_file(path: Path) -> None:
    """Raise UnsafeImage if a qcow2 file keeps its data in another file."""
    if _info(path, "qcow2").has_data_file:
        raise UnsafeImage(f"{path.name} keeps its data in another file")


def create_overlay(path: Path, base: Path, base_format: str, size: int) -> None:
    """Create a qcow2 file with ``base`` as its backing file. Raises DiskError."""
    _run("create", "-q", "-f", "qcow2", "-b", str(base), "-F", base_format, str(path), str(size))


def create(path: Path, size: int) -> None:
    """Create an empty qcow2 file. Raises DiskError."""
    _run("create", "-q", "-f", "qcow2", str(path), str(size))


def convert(source: Path, source_format: str, path: Path, *, seconds: float = COPY_SECONDS) -> None:
    """Convert an image to a raw file. Raises DiskError."""
    _run("convert", "-f", source_format, "-O", "raw", str(source), str(path), timeout=seconds)


def write_to_device(
    source: Path, source_format: str, device: Path, *, seconds: float = COPY_SECONDS
) -> None:
    """Write an image to a block device full of zeros. Raises DiskError."""
    _run(
        "convert", "-n", "--target-is-zero", "-f", source_format, "-O", "raw",
        str(source), str(device), timeout=seconds,
    )  # fmt: skip


def copy(
    source: str | Path,
    source_format: str,
    path: str | Path,
    disk_format: str,
    *,
    seconds: float = COPY_SECONDS,
) -> None:
    """Copy a disk, which may be in use, with all that its backing file has. Raises DiskError.

    A string may name an image of Ceph as QEMU does.
    """
    _run(
        "convert", "-U", "-f", source_format, "-O", disk_format, str(source), str(path),
        timeout=seconds,
    )  # fmt: skip


def resize(path: Path, disk_format: str, size: int) -> None:
    """Grow a disk that is not in use. Raises DiskError."""
    if disk_format == "raw":
        _truncate(path, size)
        return
    _run("resize", "-q", "-f", disk_format, str(path), str(size))


def disk_size(path: Path, disk_format: str) -> int:
    """Return the size of one of our disks in bytes. Raises DiskError."""
    if disk_format == "raw":
        return _stat(path).st_size
    return _info(path, disk_format).size


def base_of(path: Path) -> tuple[str, str] | None:
    """Return name and format of a qcow2 file's backing file, or None. Raises DiskError."""
    return _info(path, "qcow2").base


def rebase(path: Path, base: Path, base_format: str) -> None:
    """Change the recorded path of a qcow2 file's backing file. Raises DiskError."""
    _run("rebase", "-u", "-f", "qcow2", "-b", str(base), "-F", base_format, str(path))


@dataclasses.dataclass(frozen=True, slots=True)
class _DiskInfo:
    """Virtual size in bytes, name and format of the backing file, and whether data are apart."""

    size: int
    base: tuple[str, str] | None
    has_data_file: bool
    is_encrypted: bool


def _info(path: Path, disk_format: str) -> _DiskInfo:
    """Read without a lock (``-U``), because the guest may be running."""
    found = _said("info", "-U", "-f", disk_format, path=path)
    base = found.get("backing-filename")
    return _DiskInfo(
        size=int(found["virtual-size"]),
        base=None if not base else (str(base), str(found.get("backing-filename-format", "raw"))),
        has_data_file=bool(found.get("format-specific", {}).get("data", {}).get("data-file")),
        is_encrypted=bool(found.get("encrypted")),
    )


def _said(
    command: str,
    *arguments: str,
    path: Path,
    timeout: float = INFO_TIMEOUT_SECONDS,
    limits: tuple[str, ...] = _INFO_LIMITS,
) -> dict[str, Any]:
    """Return what a command says about an image. Raises DiskError."""
    with tempfile.TemporaryFile("w+") as output:
        _run(
            command, *arguments, "--output=json", str(path), timeout=timeout, limits=limits,
            output=output,
        )  # fmt: skip
        output.seek(0)
        said = output.read(OUTPUT_BYTES_MAX)
    try:
        found: dict[str, Any] = json.loads(said)
    except (ValueError, RecursionError) as error:
        raise DiskError(f"{PROGRAM} {command} {path.name}: invalid JSON: {error}") from error
    return found


def _run(
    *arguments: str,
    timeout: float = TIMEOUT_SECONDS,
    limits: tuple[str, ...] = _LIMITS,
    output: IO[str] | int = subprocess.DEVNULL,
) -> None:
    """Run the program within limits, which ``prlimit`` sets: a fork of threads could not.

    Files that it creates are their owner's alone from the start. Raises DiskError.
    """
    for program in (LIMITER, PROGRAM):
        if shutil.which(program) is None:
            raise DiskError(f"{program} is not installed")
    command = [LIMITER, *limits, "--", PROGRAM, *arguments]
    try:
        subprocess.run(  # noqa: S603 - fixed program, no shell
            command, check=True, stdout=output, stderr=subprocess.PIPE, text=True,
            timeout=timeout, stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"},
            umask=UMASK,
        )  # fmt: skip
    except subprocess.CalledProcessError as error:
        said = (error.stderr or "").strip() or f"exit code {error.returncode}"
        raise DiskError(f"{PROGRAM} {arguments[0]}: {said}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DiskError(f"{PROGRAM} {arguments[0]}: {error}") from error


def _truncate(path: Path, size: int) -> None:
    try:
        os.truncate(path, size)
    except OSError as error:
        raise DiskError(f"{path.name}: {error.strerror}") from error


def _stat(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        raise DiskError(f"{path.name}: {error.strerror}") from error
