"""Choice of the storage that a host keeps its guests' disks in."""

from pathlib import Path

from oslo_config import cfg

from compute_agent.virt.libvirt.disks import direct_io
from compute_agent.virt.libvirt.disks.file_storage import FileStorage
from compute_agent.virt.libvirt.disks.lvm_storage import LvmStorage
from compute_agent.virt.libvirt.disks.storage import DiskStorage

LVM = "lvm"
UNCACHED = "none"
"""libvirt's cache mode for disks that are read and written past the host's page cache."""


def of(conf: cfg.ConfigOpts) -> DiskStorage:
    """Return the storage for ``[libvirt] images_type``, whose directories exist."""
    options = conf.libvirt
    if options.images_type == LVM:
        return LvmStorage(options.images_volume_group)
    is_direct = direct_io.is_supported(Path(options.instances_path))
    return FileStorage(options.images_type, UNCACHED if is_direct else None)
