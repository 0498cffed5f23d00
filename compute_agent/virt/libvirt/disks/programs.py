"""Programs of the host that make disks: run without a shell, with a time limit."""

import os
import subprocess

from compute_agent.virt.libvirt.disks.qemu_img import DiskError

TIMEOUT_SECONDS = 600
_SYSTEM_PATH = ":/usr/sbin:/sbin"


def run(*command: str, timeout_seconds: float = TIMEOUT_SECONDS, given: str | None = None) -> str:
    """Run a program with some input, and return its output.

    Raises DiskError with its error output.
    """
    environment = {**os.environ, "PATH": os.environ.get("PATH", "") + _SYSTEM_PATH, "LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603 - fixed programs, no shell
            command, check=True, capture_output=True, text=True, timeout=timeout_seconds,
            input=given or "", env=environment,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise DiskError(f"{command[0]} is not installed") from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip() or f"exit code {error.returncode}"
        raise DiskError(f"{command[0]}: {said}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DiskError(f"{command[0]}: {error}") from error
    return done.stdout
