"""Names of extra specs and image properties, to tell typing errors from what plugins read.

Sources: Nova's references of extra specs and of image properties, and what this product adds. A
name that resembles one of these, and is not one of them, is a typing error. Other unknown names may
be a plugin's or a driver's.
"""

import difflib
import functools
import re
from collections.abc import Collection, Iterator, Mapping

_SCOPES = (
    "accel", "aggregate_instance_extra_specs", "capabilities", "hw", "hw_rng", "hw_video", "os",
    "pci_passthrough", "quota", "resources", "trait", "trust",
)  # fmt: skip
_OPEN_SCOPES = frozenset({"aggregate_instance_extra_specs", "capabilities"})
"""Scopes whose names are up to operators."""
_GROUPS = ("resources", "trait")
_SCOPE_LENGTH_MIN = 5
"""Shorter scopes resemble too many others."""
_NEAR = 0.85
"""Ratio of ``difflib`` above which names are near: about one letter in seven differs."""

_CPU = (
    "cpu_policy", "cpu_thread_policy", "cpu_sockets", "cpu_cores", "cpu_threads", "cpu_max_sockets",
    "cpu_max_cores", "cpu_max_threads", "cpu_realtime_mask", "emulator_threads_policy",
    "mem_page_size", "numa_nodes", "numa_cpus.N", "numa_mem.N", "pci_numa_affinity_policy", "pmu",
)  # fmt: skip
_DEVICES = (
    "boot_menu", "ephemeral_encryption", "ephemeral_encryption_format", "locked_memory",
    "maxphysaddr_bits", "maxphysaddr_mode", "mem_encryption", "mem_encryption_model",
    "redirected_usb_ports", "serial_port_count", "sound_model", "tpm_model", "tpm_version",
    "usb_model", "vif_multiqueue_enabled", "viommu_model", "virtio_packed_ring", "watchdog_action",
)  # fmt: skip
_OF_FLAVORS = ("cpu_dedicated_mask", "cpu_realtime", "hide_hypervisor_id", "pmem",
               "tpm_secret_security")  # fmt: skip
_QUOTAS = (
    "cpu_period", "cpu_quota", "cpu_shares", "cpu_limit", "cpu_reservation", "cpu_shares_level",
    "cpu_shares_share", "memory_limit", "memory_reservation", "memory_shares_level",
    "memory_shares_share", "disk_io_limit", "disk_io_reservation", "disk_io_shares_level",
    "disk_io_shares_share", "vif_limit", "vif_reservation", "vif_shares_level",
    "vif_shares_share",
    *(f"disk_{way}_{unit}_sec{more}" for way in ("read", "write", "total")
      for unit in ("bytes", "iops") for more in ("", "_max", "_max_length")),
    *(f"vif_{way}_{what}" for way in ("inbound", "outbound")
      for what in ("average", "burst", "peak")),
)  # fmt: skip
_EXTRA_SPECS = (
    *(f"hw:{name}" for name in (*_CPU, *_DEVICES, *_OF_FLAVORS)),
    *(f"quota:{name}" for name in _QUOTAS),
    "accel:device_profile", "hw_rng:allowed", "hw_rng:rate_bytes", "hw_rng:rate_period",
    "hw_video:ram_max_mb", "os:monitors", "os:secure_boot", "pci_passthrough:alias",
    "trust:trusted_host", "group_policy", "hide_hypervisor_id", "same_subtree",
)  # fmt: skip
_IMAGE_PROPERTIES = (
    *(f"hw_{name}" for name in (*_CPU, *_DEVICES)),
    *(f"hw_{name}" for name in (
        "architecture", "auto_disk_config", "cdrom_bus", "device_id", "disk_bus", "disk_type",
        "emulation_architecture", "ephemeral_encryption_secret_uuid", "firmware_stateless",
        "firmware_type", "floppy_bus", "input_bus", "ipxe_boot", "machine_type", "pointer_model",
        "qemu_guest_agent", "rescue_bus", "rescue_device", "rng_model", "scsi_model", "time_hpet",
        "video_model", "video_ram", "vif_model", "virtio_scsi", "vm_mode",
    )),
    *(f"img_{name}" for name in (
        "bdm_v2", "bittorrent", "block_device_mapping", "cache_in_nova", "compression_level",
        "config_drive", "hide_hypervisor_id", "hv_requested_version", "hv_type", "linked_clone",
        "mappings", "owner_id", "root_device_name", "signature", "signature_certificate_uuid",
        "signature_hash_method", "signature_key_type", "use_agent", "version",
    )),
    *(f"os_{name}" for name in (
        "admin_user", "command_line", "distro", "require_quiesce", "secure_boot",
        "shutdown_timeout", "skip_agent_inject_files_at_boot", "skip_agent_inject_ssh", "type",
        "version",
    )),
    "process_command", "process_environment", "process_restart", "traits_required",
)  # fmt: skip
_WITHOUT_SCOPE = tuple(name for name in _EXTRA_SPECS if ":" not in name)
_SCOPES_WITH_UNDERSCORE = tuple(f"{scope}_" for scope in _SCOPES)
_IMAGE_PROPERTIES_BY_NAMESPACE = {
    namespace: tuple(name for name in _IMAGE_PROPERTIES if name.startswith(f"{namespace}_"))
    for namespace in {name.partition("_")[0] for name in _IMAGE_PROPERTIES}
}
_NUMBER = re.compile(r"(?<=\.)\d+$")


def meant_extra_spec(key: str) -> str | None:
    """Return the extra spec or scope for which this one is a typing error, if it is one."""
    scope, colon, name = key.partition(":")
    if scope == "traits":  # else it would be the suffix "s"
        return f"trait:{name}"
    base = next((each for each in _GROUPS if scope.startswith(each)), scope)
    if base in _OPEN_SCOPES or (base in _GROUPS and colon):
        return None  # names of groups are checked by their own rules
    if colon and scope not in _SCOPES:
        near = _near(scope, _SCOPES) if len(scope) >= _SCOPE_LENGTH_MIN else None
        return f"{near}:{name}" if near else _near(key, _EXTRA_SPECS)
    if colon or scope.startswith(_SCOPES_WITH_UNDERSCORE):  # such as hw_cpu_policy
        return _near(key, _EXTRA_SPECS)
    return _near(key, _WITHOUT_SCOPE)


def meant_image_property(name: str) -> str | None:
    """Return the image property for which this one is a typing error, if it is one.

    Only names in a namespace of image properties are compared: images also carry properties of the
    image service (``architecture``, ``root_device_name``), of clients and of other clouds.
    """
    namespace = name.partition("_")[0].lower()
    return _near(name, _IMAGE_PROPERTIES_BY_NAMESPACE.get(namespace, ()))


def new_mistakes(
    properties: Mapping[str, str], present: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield each property of an image that is a typing error, unless present, and the reason."""
    for name in sorted(properties.keys() - set(present)):
        if meant := meant_image_property(name):
            yield name, f"Unknown property; did you mean {meant}?"


@functools.lru_cache(maxsize=1024)
def _near(name: str, known: tuple[str, ...]) -> str | None:
    """Return the known name that is nearest; None if this is one, or none is near."""
    form = _NUMBER.sub("N", name)
    if form in known or f"{form.rpartition('.')[0]}.N" in known:
        return None
    found = difflib.get_close_matches(form.lower(), known, n=1, cutoff=_NEAR)
    return found[0] if found else None
