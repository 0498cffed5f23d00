"""qemu-img: what it says of disk files, and those that it makes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

PROGRAM = "qemu-img"
TIMEOUT_SECONDS = 3600
"""Converting a large image takes long; one that takes longer hangs."""
INFO_TIMEOUT_SECONDS = 30


class DiskError(Exception):
    """A disk could not be made, read or changed; the message says why."""


class UnsafeImage(DiskError):
    """An image's file names other files, which would be read with the host's rights."""


def is_installed() -> bool:
    """Whether the program can be found."""
    return shutil.which(PROGRAM) is not None


def virtual_size(path: Path, disk_format: str) -> int:
    """Return the size of an image's disk, bytes. Raises DiskError, UnsafeImage."""
    if disk_format == "raw":
        return _stat(path).st_size
    found = _info(path, disk_format)
    if found.get("backing-filename") or _has_data_file(found):
        raise UnsafeImage(f"{path.name} stands on another file, which images may not")
    return int(found["virtual-size"])


def refuse_data_file(path: Path) -> None:
    """Raise UnsafeImage when a qcow2 file keeps its data in another file."""
    if _has_data_file(_info(path, "qcow2")):
        raise UnsafeImage(f"{path.name} keeps its data in another file")


def create_overlay(path: Path, base: Path, base_format: str, size: int) -> None:
    """Make a qcow2 file that holds what differs from ``base``. Raises DiskError."""
    _run("create", "-q", "-f", "qcow2", "-b", str(base), "-F", base_format, str(path), str(size))


def create(path: Path, size: int) -> None:
    """Make an empty qcow2 file. Raises DiskError."""
    _run("create", "-q", "-f", "qcow2", str(path), str(size))


def convert(source: Path, source_format: str, path: Path) -> None:
    """Make a raw file of an image. Raises DiskError."""
    _run("convert", "-f", source_format, "-O", "raw", str(source), str(path))


def resize(path: Path, disk_format: str, size: int) -> None:
    """Let a disk that nobody uses grow. Raises DiskError."""
    if disk_format == "raw":
        _truncate(path, size)
        return
    _run("resize", "-q", "-f", disk_format, str(path), str(size))


def disk_size(path: Path, disk_format: str) -> int:
    """Return the size of a disk of ours, bytes. Raises DiskError."""
    if disk_format == "raw":
        return _stat(path).st_size
    return int(_info(path, disk_format)["virtual-size"])


def base_of(path: Path) -> tuple[str, str] | None:
    """Return name and format of the file that a qcow2 file stands on. Raises DiskError."""
    found = _info(path, "qcow2")
    base = found.get("backing-filename")
    return None if base is None else (str(base), str(found.get("backing-filename-format", "raw")))


def rebase(path: Path, base: Path, base_format: str) -> None:
    """Note that the file a qcow2 file stands on is elsewhere. Raises DiskError."""
    _run("rebase", "-u", "-f", "qcow2", "-b", str(base), "-F", base_format, str(path))


def _info(path: Path, disk_format: str) -> dict[str, Any]:
    """Ask without a lock (``-U``): the guest may run."""
    output = _run(
        "info", "-U", "-f", disk_format, "--output=json", str(path), timeout=INFO_TIMEOUT_SECONDS
    )
    try:
        found: dict[str, Any] = json.loads(output)
    except ValueError as error:
        raise DiskError(f"{PROGRAM} says of {path.name} what is no JSON: {error}") from error
    return found


def _has_data_file(found: dict[str, Any]) -> bool:
    return bool(found.get("format-specific", {}).get("data", {}).get("data-file"))


def _run(*arguments: str, timeout: float = TIMEOUT_SECONDS) -> str:
    command = [PROGRAM, *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - its program is fixed, no shell reads the rest
            command, check=True, capture_output=True, text=True, timeout=timeout,
            stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except FileNotFoundError as error:
        raise DiskError(f"{PROGRAM} is not installed") from error
    except subprocess.CalledProcessError as error:
        said = (error.stderr or "").strip() or f"exit code {error.returncode}"
        raise DiskError(f"{PROGRAM} {arguments[0]}: {said}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DiskError(f"{PROGRAM} {arguments[0]}: {error}") from error
    return done.stdout


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
