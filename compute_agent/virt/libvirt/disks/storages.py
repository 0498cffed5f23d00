"""Choice of the storage that a host keeps its guests' disks in."""

from pathlib import Path

from oslo_config import cfg

from armillary import exception
from compute_agent.virt.libvirt.disks import direct_io, qemu_img
from compute_agent.virt.libvirt.disks.file_storage import QCOW2, FileStorage
from compute_agent.virt.libvirt.disks.lvm_storage import LvmStorage
from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from compute_agent.virt.libvirt.disks.rbd_storage import RbdStorage
from compute_agent.virt.libvirt.disks.storage import DiskStorage
from compute_agent.virt.libvirt.domain.guest_disks import CephAccess

LVM, RBD = "lvm", "rbd"
UNCACHED = "none"
"""libvirt's cache mode for disks that are read and written past the host's page cache."""
_NEEDS = {LVM: "images_volume_group", RBD: "images_rbd_pool"}


def check_options(conf: cfg.ConfigOpts) -> None:
    """Raise ConfigurationError if options do not fit each other, or a program is missing."""
    options = conf.libvirt
    images_type = options.images_type
    if images_type == QCOW2 and not qemu_img.is_installed():
        raise exception.ConfigurationError(
            reason=f"[libvirt] images_type = qcow2 needs {qemu_img.PROGRAM}; install it (the "
            "package is qemu-utils or qemu-img), or set images_type = raw"
        )
    needed = _NEEDS.get(images_type)
    if needed is not None and not options[needed]:
        raise exception.ConfigurationError(
            reason=f"[libvirt] images_type = {images_type} needs {needed}"
        )
    if bool(options.rbd_user) != bool(options.rbd_secret_uuid):
        raise exception.ConfigurationError(
            reason="[libvirt] rbd_user and rbd_secret_uuid need each other"
        )


def of(conf: cfg.ConfigOpts) -> DiskStorage:
    """Return the storage for ``[libvirt] images_type``; the directory of guests exists.

    Raises ConfigurationError if this host cannot use it.
    """
    storage = _configured(conf)
    storage.copy_seconds = conf.libvirt.disk_copy_timeout_seconds
    try:
        storage.check()
    except DiskError as error:
        raise exception.ConfigurationError(reason=str(error)) from error
    return storage


def _configured(conf: cfg.ConfigOpts) -> DiskStorage:
    options = conf.libvirt
    if options.images_type == LVM:
        return LvmStorage(options.images_volume_group)
    if options.images_type == RBD:
        access = CephAccess(options.images_rbd_ceph_conf, options.rbd_user, options.rbd_secret_uuid)
        return RbdStorage(options.images_rbd_pool, access)
    places = [Path(options.instances_path)]
    if options.images_type == QCOW2:  # overlays are read like what they lie over
        places.append(Path(options.images_path))
    is_direct = all(map(direct_io.is_supported, places))
    return FileStorage(options.images_type, UNCACHED if is_direct else None)
