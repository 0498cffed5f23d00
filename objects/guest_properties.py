"""Hardware properties of images and flavors for virtual machines, obeyed and refused ones.

One table for the scheduler, which refuses a request by the property's name before it chooses a
host, and for the driver of virtual machines, which gives guests what is in it.
"""

import dataclasses
from collections.abc import Iterator, Mapping

import os_traits
from oslo_utils import strutils

from objects.flavor import Flavor
from objects.image_meta import ImageMeta

VIRTUAL_MACHINES = frozenset({"kvm", "qemu"})
"""Values of ``img_hv_type`` for virtual machines."""


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """A property ``hw_NAME`` of images and, if ``is_in_flavors``, extra spec ``hw:NAME``.

    ``values``: None allows any. ``trait_prefix``: hosts that have a value report its trait.
    """

    name: str
    values: frozenset[str] | None = None
    trait_prefix: str | None = None
    is_in_flavors: bool = False


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SETTINGS = {
    each.name: each
    for each in (
        Setting("firmware_type", _words("bios uefi"), "COMPUTE_FIRMWARE"),
        Setting("vif_model", _words("virtio e1000 e1000e rtl8139"), "COMPUTE_NET_VIF_MODEL"),
        Setting(
            "video_model", _words("virtio vga qxl cirrus bochs none"), "COMPUTE_GRAPHICS_MODEL"
        ),
        Setting("disk_bus", _words("virtio scsi sata"), "COMPUTE_STORAGE_BUS"),
        Setting("scsi_model", _words("virtio-scsi lsilogic lsisas1068 lsisas1078")),
        Setting("rng_model", _words("virtio")),
        Setting("qemu_guest_agent"),
        Setting(
            "watchdog_action", _words("disabled none pause poweroff reset"), is_in_flavors=True
        ),
        Setting("cpu_sockets", is_in_flavors=True),
        Setting("cpu_cores", is_in_flavors=True),
        Setting("cpu_threads", is_in_flavors=True),
    )
}
"""Obeyed settings, beside those of NUMA, PCI, sound, virtqueues, architecture and machine type."""

CPU_QUOTAS = {"cpu_shares": "shares", "cpu_period": "period", "cpu_quota": "quota"}
DISK_QUOTAS = frozenset(
    f"disk_{way}_{unit}_sec{more}"
    for way in ("read", "write", "total")
    for unit in ("bytes", "iops")
    for more in ("", "_max", "_max_length")
)
VIF_QUOTAS = frozenset(
    f"vif_{way}_{what}" for way in ("inbound", "outbound") for what in ("average", "burst", "peak")
)
QUOTA = "quota:"
QUOTA_MAX = 2**31 - 1

_NOT_OBEYED = _words(
    "boot_menu cdrom_bus cpu_realtime cpu_realtime_mask device_id ephemeral_encryption "
    "firmware_stateless floppy_bus input_bus ipxe_boot locked_memory maxphysaddr_bits "
    "maxphysaddr_mode mem_encryption "
    "mem_encryption_model pmu pointer_model redirected_usb_ports serial_port_count time_hpet "
    "tpm_model tpm_version usb_model vif_multiqueue_enabled video_ram viommu_model "
    "cpu_max_sockets cpu_max_cores cpu_max_threads hide_hypervisor_id"
)
_NOT_OBEYED_ELSEWHERE = _words(
    "os_command_line os_require_quiesce os_secure_boot img_hide_hypervisor_id os:secure_boot "
    "kernel_id ramdisk_id hide_hypervisor_id hw_rng:rate_bytes hw_rng:rate_period "
    "hw_video:ram_max_mb"
)
_NO = _words("disabled optional")


def is_virtual_machine(image: ImageMeta | None) -> bool:
    """Return whether an image is the disk of a virtual machine."""
    if image is None:
        return False
    kind = image.properties.get("img_hv_type")
    return kind in VIRTUAL_MACHINES or (kind is None and image.disk_format is not None)


def asked(flavor: Flavor, image: ImageMeta | None, name: str) -> str | None:
    """Return the value of a setting: the flavor's, or else the image's; None if neither has it."""
    text = flavor.extra_specs.get(f"hw:{name}") if SETTINGS[name].is_in_flavors else None
    if text is None and image is not None:
        text = image.properties.get(f"hw_{name}")
    return text or None


def problems(flavor: Flavor, image: ImageMeta | None) -> Iterator[str]:
    """Yield what no driver of virtual machines obeys of a flavor and an image, by its name."""
    properties = {} if image is None else image.properties
    for name, setting in SETTINGS.items():
        value = asked(flavor, image, name)
        if value is not None and setting.values is not None and value not in setting.values:
            supported = ", ".join(sorted(setting.values))
            yield f"hw_{name} is {value}; supported are {supported}"
    for name in _named(properties, "hw_"):
        yield f"the image property {name} is not supported"
    for name in _named(flavor.extra_specs, "hw:"):
        yield f"the extra spec {name} is not supported"
    yield from _quota_problems(flavor)


def traits(flavor: Flavor, image: ImageMeta | None) -> Iterator[str]:
    """Yield the traits of hosts that have what is asked."""
    for name, setting in SETTINGS.items():
        value = asked(flavor, image, name)
        if value is None or setting.trait_prefix is None:
            continue
        trait = f"{setting.trait_prefix}_{value.upper().replace('-', '_')}"
        if trait in os_traits.get_traits(setting.trait_prefix):
            yield trait


def _named(given: Mapping[str, str], prefix: str) -> Iterator[str]:
    for name, value in sorted(given.items()):
        bare = name.removeprefix(prefix) if name.startswith(prefix) else None
        if (bare in _NOT_OBEYED or name in _NOT_OBEYED_ELSEWHERE) and not _is_off(value):
            yield name


def _is_off(value: str) -> bool:
    """Return whether a value asks for what guests have anyhow: nothing."""
    return not value or value in _NO or not strutils.bool_from_string(value, default=True)


def _quota_problems(flavor: Flavor) -> Iterator[str]:
    known = {*CPU_QUOTAS, *DISK_QUOTAS, *VIF_QUOTAS}
    for key, value in sorted(flavor.extra_specs.items()):
        if not key.startswith(QUOTA):
            continue
        if key.removeprefix(QUOTA) not in known:
            yield f"the extra spec {key} is not supported"
        elif not (value.isascii() and value.isdecimal() and 0 < int(value) <= QUOTA_MAX):
            yield f"the extra spec {key} is {value}; expected a number from 1 to {QUOTA_MAX}"
