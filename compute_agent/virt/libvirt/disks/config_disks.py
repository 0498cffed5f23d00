"""Config drive of a guest as a disk: an ISO 9660 file system whose label programs look for."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from oslo_config import cfg

from compute_agent.virt import config_drive, nocloud
from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from compute_agent.virt.libvirt.domain import guest_networks
from objects.instance import Instance

PROGRAMS = ("genisoimage", "mkisofs", "xorrisofs")
"""Programs that write such a file system, with the same arguments; the first one found is used."""
TIMEOUT_SECONDS = 60
NOCLOUD = "nocloud"


def program() -> str | None:
    """Return the path of the program that writes config drives, or None."""
    found = (shutil.which(name) for name in PROGRAMS)
    return next((path for path in found if path is not None), None)


def need_program() -> str:
    """Return the path of the program. Raises DiskError if there is none."""
    found = program()
    if found is None:
        raise DiskError(
            f"the server needs a config drive, and this host has none of {', '.join(PROGRAMS)}"
        )
    return found


def is_wanted(instance: Instance, conf: cfg.ConfigOpts) -> bool:
    """Return whether a guest gets a config drive: it is told something, or all guests get one."""
    return config_drive.is_wanted(instance) or bool(conf.libvirt.force_config_drive)


def content(directory: Path, instance: Instance, conf: cfg.ConfigOpts) -> bytes:
    """Return a guest's config drive, collected in ``directory``. Raises DiskError, OSError."""
    macs = guest_networks.macs_of(instance, conf)
    if conf.libvirt.config_drive_layout == NOCLOUD:
        label, files = nocloud.LABEL, nocloud.contents(instance, macs)
    else:
        label, files = config_drive.LABEL, config_drive.contents(instance, macs)
    with tempfile.TemporaryDirectory(dir=directory, prefix=".config-drive-") as place:
        root = Path(place)
        for name, data in files.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        return _file_system(root, label)


def _file_system(root: Path, label: str) -> bytes:
    """Return the bytes of a file system with the files below a directory."""
    found = need_program()
    command = [found, "-quiet", "-J", "-r", "-l", "-V", label, "-o", "-", str(root)]
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments, no shell
            command, check=True, capture_output=True, timeout=TIMEOUT_SECONDS,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").strip()
        raise DiskError(f"{found}: {said}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DiskError(f"{found}: {error}") from error
    return done.stdout
