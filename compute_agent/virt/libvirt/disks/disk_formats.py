"""File system and swap area of a guest's further disks, by which the guest finds them."""

import os
import subprocess
from pathlib import Path

from compute_agent.virt.libvirt.disks.qemu_img import DiskError

TIMEOUT_SECONDS = 600
EPHEMERAL_LABEL, SWAP_LABEL = "ephemeral0", "swap0"
_SYSTEM_PATH = ":/usr/sbin:/sbin"


def make_file_system(path: Path) -> None:
    """Make an ext4 file system on an empty disk. Raises DiskError."""
    _run("mkfs.ext4", "-q", "-F", "-L", EPHEMERAL_LABEL, str(path))


def make_swap(path: Path) -> None:
    """Prepare a whole disk as swap; what is there is lost. Raises DiskError."""
    _run("mkswap", "-q", "-L", SWAP_LABEL, str(path))


def _run(*command: str) -> None:
    environment = {**os.environ, "PATH": os.environ.get("PATH", "") + _SYSTEM_PATH, "LC_ALL": "C"}
    try:
        subprocess.run(  # noqa: S603 - fixed programs, no shell
            command, check=True, capture_output=True, text=True, timeout=TIMEOUT_SECONDS,
            stdin=subprocess.DEVNULL, env=environment,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise DiskError(f"{command[0]} is not installed") from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip() or f"exit code {error.returncode}"
        raise DiskError(f"{command[0]}: {said}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DiskError(f"{command[0]}: {error}") from error
