"""Hardware properties of images and flavors for virtual machines, obeyed and refused ones.

One table for the scheduler, which refuses a request by the property's name before it chooses a
host, and for the driver of virtual machines, which gives guests what is in it.
"""

import dataclasses
from collections.abc import Iterator, Mapping

import os_traits
from oslo_utils import strutils

from objects import guest_cpu_topology
from objects.extra_specs.extra_specs import FORBIDDEN, REQUIRED, is_trait
from objects.flavor import Flavor
from objects.images import guest_quotas, platform
from objects.images.guest_quotas import QUOTA
from objects.images.image_meta import ImageMeta

VIRTUAL_MACHINES = frozenset({"kvm", "qemu"})
"""Values of ``img_hv_type`` for virtual machines."""
DISK_FILE = "libvirt_disk_file"
"""Image property: the disk is a file that is on the hosts already."""


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """A property ``hw_NAME`` of images and, if ``is_in_flavors``, extra spec ``hw:NAME``.

    If both are given, the image's counts with ``is_image_first``; otherwise they must be the same.
    ``values``: None allows any, or with ``is_truth`` any boolean. ``trait_prefix``: hosts that have
    a value report its trait.
    """

    name: str
    values: frozenset[str] | None = None
    trait_prefix: str | None = None
    is_in_flavors: bool = False
    is_truth: bool = False
    is_image_first: bool = False

    def problem(self, value: str) -> str | None:
        """Return why a value is invalid; None if it is valid."""
        if self.values is not None and value not in self.values:
            return f"hw_{self.name} is {value}; supported are {', '.join(sorted(self.values))}"
        if self.is_truth and not _is_truth(value):
            return f"hw_{self.name} is {value}; expected true or false"
        return None

    def is_same(self, one: str, other: str) -> bool:
        """Return whether two valid values mean the same."""
        return _is_off(one) == _is_off(other) if self.is_truth else one == other


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
        Setting("qemu_guest_agent", is_truth=True),
        Setting(
            "sound_model",
            _words("ac97 es1370 ich6 ich9 pcspk sb16 usb virtio"),
            "COMPUTE_SOUND_MODEL",
            is_in_flavors=True,
        ),
        Setting("virtio_packed_ring", is_in_flavors=True, is_truth=True),
        Setting(
            "watchdog_action",
            _words("disabled none pause poweroff reset"),
            is_in_flavors=True,
            is_image_first=True,
        ),
    )
}
"""Obeyed settings, beside those of CPUs, memory, PCI devices, architecture and machine type."""

_ELSEWHERE = frozenset(guest_cpu_topology.NAMES) | _words(
    "cpu_dedicated_mask cpu_policy cpu_thread_policy emulator_threads_policy mem_page_size "
    "numa_nodes pci_numa_affinity_policy"
)
"""Settings that are obeyed, and whose values are checked, by what reads them."""
_OF_IMAGES = _words("architecture machine_type vm_mode") | {
    name for name, setting in SETTINGS.items() if not setting.is_in_flavors
}
"""Settings that are obeyed as properties of images alone."""
_WITHOUT_EFFECT = _words("ephemeral_encryption_format mem_encryption_model")
_WITHOUT_EFFECT_OF_IMAGES = _words(
    "auto_disk_config ephemeral_encryption_secret_uuid rescue_bus rescue_device"
)
"""Settings that ask a new guest for nothing, or for nothing by themselves."""
_KNOWN = {
    "hw_": {*SETTINGS, *_ELSEWHERE, *_OF_IMAGES, *_WITHOUT_EFFECT, *_WITHOUT_EFFECT_OF_IMAGES},
    "hw:": {*SETTINGS, *_ELSEWHERE, *_WITHOUT_EFFECT, "tpm_secret_security"} - _OF_IMAGES,
}
_NO_IS_A_WISH = _words("pmu time_hpet serial_port_count")
"""Settings by which a guest would lose what it has if the value is a no."""
_NUMBERED = ("numa_cpus.", "numa_mem.")
_SHUTDOWN_TIMEOUT = "os_shutdown_timeout"
SHUTDOWN_SECONDS_MAX = 3600.0
_RNG_ALLOWED = "hw_rng:allowed"
_SCOPES_OF_FLAVORS = ("hw:", "hw_rng:", "hw_video:", "os:", QUOTA)
_NOT_OBEYED_ELSEWHERE = _words(
    "os_command_line os_require_quiesce os_secure_boot img_hide_hypervisor_id "
    "kernel_id ramdisk_id hide_hypervisor_id accel:device_profile block_device_mapping "
    "img_block_device_mapping cinder_encryption_key_id"
)
_TO_BOOT = {"hw_disk_bus": "virtio", "hw_scsi_model": "virtio-scsi", "hw_architecture": ""}
"""What the system of an image needs to boot, beside its firmware, and what guests have unless their
image says so; nothing: that depends on the host."""
_TRAIT, _TRAITS = "trait:", "traits_required"
_DEMANDS = {"img_config_drive": ("mandatory", "optional")}
"""Image properties that do not ask for hardware, with their values."""
_SYSTEMS = ("linux", "windows")
"""Values of ``os_type``, in letters of any case."""
_NO = _words("disabled optional []")


def is_virtual_machine(image: ImageMeta | None) -> bool:
    """Return whether an image is the disk of a virtual machine."""
    if image is None:
        return False
    kind = platform.hypervisor(image.properties)
    if kind:
        return kind in VIRTUAL_MACHINES
    return image.disk_format is not None or DISK_FILE in image.properties


def asked(flavor: Flavor, image: ImageMeta | None, name: str) -> str | None:
    """Return the value of a setting that counts; None if neither flavor nor image has one."""
    of_flavor, of_image = _given(flavor, image, SETTINGS[name])
    if SETTINGS[name].is_image_first:
        return of_image or of_flavor
    return of_flavor or of_image


def _given(
    flavor: Flavor, image: ImageMeta | None, setting: Setting
) -> tuple[str | None, str | None]:
    """Return the values of flavor and image; an empty one is none."""
    text = flavor.extra_specs.get(f"hw:{setting.name}") if setting.is_in_flavors else None
    other = None if image is None else image.properties.get(f"hw_{setting.name}")
    return text or None, other or None


def shutdown_seconds(image: ImageMeta | None) -> float | None:
    """Return how long a guest of an image has to shut down; None if the image says nothing valid.

    At most ``SHUTDOWN_SECONDS_MAX``.
    """
    text = "" if image is None else image.properties.get(_SHUTDOWN_TIMEOUT, "")
    if not (text.isascii() and text.isdecimal()):
        return None
    return min(float(text), SHUTDOWN_SECONDS_MAX)


def has_random_numbers(flavor: Flavor) -> bool:
    """Return whether guests get a device with random numbers: they do unless the flavor says no."""
    return not _is_off(flavor.extra_specs.get(_RNG_ALLOWED) or "true")


def problems(flavor: Flavor, image: ImageMeta | None) -> Iterator[str]:
    """Yield what no driver of virtual machines obeys of a flavor and an image, by its name.

    Names in the scopes of hardware that are not known are among it.
    """
    properties = {} if image is None else image.properties
    for setting in SETTINGS.values():
        yield from _problems_of(setting, *_given(flavor, image, setting))
    try:
        guest_cpu_topology.of(flavor, image)
    except ValueError as error:
        yield str(error)
    allowed = flavor.extra_specs.get(_RNG_ALLOWED)
    if allowed and not _is_truth(allowed):
        yield f"{_RNG_ALLOWED} is {allowed}; expected true or false"
    timeout = properties.get(_SHUTDOWN_TIMEOUT)
    seconds = shutdown_seconds(image)
    if timeout and (seconds is None or seconds < float(timeout)):
        most = int(SHUTDOWN_SECONDS_MAX)
        yield f"{_SHUTDOWN_TIMEOUT} is {timeout}; expected a number of seconds, at most {most}"
    yield from _contradictions(flavor, image)
    yield from _unclear_demands(properties)
    for name in _not_obeyed(properties, "hw_"):
        yield f"the image property {name} is not supported"
    for name in _not_obeyed(flavor.extra_specs, "hw:"):
        yield f"the extra spec {name} is not supported"
    yield from guest_quotas.problems(flavor.extra_specs)


def _problems_of(setting: Setting, of_flavor: str | None, of_image: str | None) -> Iterator[str]:
    """Yield what is wrong with a setting of a flavor and an image."""
    found = {value: setting.problem(value) for value in (of_flavor, of_image) if value is not None}
    wrong = [problem for problem in found.values() if problem is not None]
    yield from wrong
    if wrong or setting.is_image_first or of_flavor is None or of_image is None:
        return
    if not setting.is_same(of_flavor, of_image):
        name = setting.name
        yield f"hw_{name} of the image is {of_image}, but hw:{name} of the flavor is {of_flavor}"


def differences(own: ImageMeta | None, other: ImageMeta, firmware: str) -> Iterator[str]:
    """Yield what an image needs to boot, and a guest of another image does not have.

    ``firmware`` is that of guests whose image names none.
    """
    present = {"hw_firmware_type": firmware, **_TO_BOOT, **({} if own is None else own.properties)}
    for name in ("hw_firmware_type", *_TO_BOOT):
        wanted, found = other.properties.get(name), present[name]
        if wanted and found and wanted != found:
            yield f"{name} of the image is {wanted}, and of the guest {found}"


def traits(flavor: Flavor, image: ImageMeta | None) -> Iterator[str]:
    """Yield the traits of hosts that have what is asked."""
    for name, setting in SETTINGS.items():
        value = asked(flavor, image, name)
        if value is None or setting.trait_prefix is None:
            continue
        trait = f"{setting.trait_prefix}_{value.upper().replace('-', '_')}"
        if trait in os_traits.get_traits(setting.trait_prefix):
            yield trait


def _unclear_demands(properties: Mapping[str, str]) -> Iterator[str]:
    """Yield what an image demands in words that mean nothing."""
    system = properties.get("os_type", "")
    if system and system.lower() not in _SYSTEMS:
        yield f"os_type is {system}; expected {' or '.join(_SYSTEMS)}"
    for name, value in sorted(properties.items()):
        expected = _DEMANDS.get(name)
        if name.startswith(_TRAIT):
            expected = (REQUIRED, FORBIDDEN)
            if not is_trait(name.removeprefix(_TRAIT)):
                yield f"the image property {name} names no trait"
                continue
        if expected is not None and value and value not in expected:
            yield f"{name} is {value}; expected {' or '.join(expected)}"
    for trait in filter(None, map(str.strip, properties.get(_TRAITS, "").split(","))):
        if not is_trait(trait):
            yield f"{_TRAITS} has {trait}, which is not a trait"


def _contradictions(flavor: Flavor, image: ImageMeta | None) -> Iterator[str]:
    """Yield what is without effect because of something else that is asked."""
    packed = asked(flavor, image, "virtio_packed_ring")
    model = asked(flavor, image, "vif_model") or "virtio"
    if packed is not None and not _is_off(packed) and model != "virtio":
        yield f"hw_virtio_packed_ring needs hw_vif_model virtio, which is {model}"


def _not_obeyed(given: Mapping[str, str], scope: str) -> Iterator[str]:
    for name, value in sorted(given.items()):
        is_wish = not _is_off(value) or name.removeprefix(scope) in _NO_IS_A_WISH
        if is_wish and not _is_obeyed(name, scope):
            yield name


def _is_obeyed(name: str, scope: str) -> bool:
    """Return whether a name is obeyed, or is of no scope that is about hardware.

    A name in the form of flavors is not obeyed of an image, nor the other way round.
    """
    if name.startswith(_SCOPES_OF_FLAVORS) and scope != "hw:":
        return False
    if name.startswith(scope):
        bare = name.removeprefix(scope)
        return bare in _KNOWN[scope] or bare.startswith(_NUMBERED)
    if name.startswith(_SCOPES_OF_FLAVORS):
        return name == _RNG_ALLOWED or name.startswith(QUOTA)  # those have rules of their own
    return not name.startswith("hw_") and name not in _NOT_OBEYED_ELSEWHERE


def _is_off(value: str) -> bool:
    """Return whether a value asks for what guests have anyhow: nothing."""
    return not value or value in _NO or not strutils.bool_from_string(value, default=True)


def _is_truth(value: str) -> bool:
    try:
        strutils.bool_from_string(value, strict=True)
    except ValueError:
        return False
    return True
