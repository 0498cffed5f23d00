"""Properties of images and flavors for virtual machines: obeyed, or refused by name."""

import pytest

from objects.extra_specs import known_names
from objects.images import guest_properties
from tests import builders


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


OBEYED = words(
    """
    hw_architecture hw_cpu_cores hw_cpu_policy hw_cpu_sockets hw_cpu_thread_policy hw_cpu_threads
    hw_disk_bus hw_emulator_threads_policy hw_firmware_type hw_machine_type hw_mem_page_size
    hw_numa_cpus.N hw_numa_mem.N hw_numa_nodes hw_pci_numa_affinity_policy hw_qemu_guest_agent
    hw_rng_model hw_scsi_model hw_sound_model hw_vif_model hw_video_model hw_virtio_packed_ring
    hw_vm_mode hw_watchdog_action
    """
)
AT_ANOTHER_TIME = {
    "hw_auto_disk_config", "hw_ephemeral_encryption_format", "hw_ephemeral_encryption_secret_uuid",
    "hw_mem_encryption_model", "hw_rescue_bus", "hw_rescue_device",
}  # fmt: skip
"""Of no effect on a new guest, or by themselves; rescue refuses those that are for it."""
REFUSED_BY_FLAVOR = words(
    """
    hw:boot_menu hw:cpu_max_cores hw:cpu_max_sockets hw:cpu_max_threads hw:cpu_realtime
    hw:cpu_realtime_mask hw:ephemeral_encryption hw:hide_hypervisor_id hw:locked_memory
    hw:maxphysaddr_bits hw:maxphysaddr_mode hw:mem_encryption hw:pmem hw:pmu
    hw:redirected_usb_ports hw:serial_port_count hw:tpm_model hw:tpm_version hw:usb_model
    hw:vif_multiqueue_enabled hw:viommu_model hide_hypervisor_id hw_rng:rate_bytes
    hw_rng:rate_period hw_video:ram_max_mb os:monitors os:secure_boot accel:device_profile
    quota:cpu_limit quota:memory_limit quota:disk_io_limit quota:vif_limit
    """
)


def problems(
    properties: dict[str, str] | None = None, specs: dict[str, str] | None = None
) -> list[str]:
    image = builders.an_image(disk_format="raw", properties=properties or {})
    return list(guest_properties.problems(builders.a_flavor(extra_specs=specs or {}), image))


def test_every_known_property_of_the_hardware_is_obeyed_or_refused_by_its_name() -> None:
    """Of Nova's reference of image properties; the others are for the scheduler or say nothing."""
    known = {name for name in known_names._IMAGE_PROPERTIES if name.startswith("hw_")}
    refused = {
        name
        for name in known
        if problems({name: "7"}) == [f"the image property {name} is not supported"]
    }
    assert len(refused) > 20
    assert known - refused == OBEYED | AT_ANOTHER_TIME


@pytest.mark.parametrize("name", sorted(REFUSED_BY_FLAVOR))
def test_what_a_flavor_asks_in_vain_is_refused_by_its_name(name: str) -> None:
    assert problems(specs={name: "7"}) == [f"the extra spec {name} is not supported"]


@pytest.mark.parametrize(
    "name",
    ["hw_firmware", "hw_uefi", "hw_cpu_model", "hw_disk_type", "hw_emulation_architecture",
     "hw_tpm", "hw_virtio_scsi", "hw_nic_model", "hw_"],
)  # fmt: skip
def test_a_name_that_is_not_known_is_refused(name: str) -> None:
    """What it asks for is unknown, so a guest without would be a surprise."""
    assert problems({name: "yes"}) == [f"the image property {name} is not supported"]
    spec = name.replace("_", ":", 1)
    assert problems(specs={spec: "yes"}) == [f"the extra spec {spec} is not supported"]
    assert problems({name: "false"}, {spec: ""}) == []


@pytest.mark.parametrize(
    ("properties", "specs", "reason"),
    [
        ({"hw_qemu_guest_agent": "maybe"}, {}, "hw_qemu_guest_agent is maybe; expected true or"),
        ({}, {"hw:virtio_packed_ring": "2"}, "hw_virtio_packed_ring is 2; expected true or false"),
        ({}, {"hw_rng:allowed": "seldom"}, "hw_rng:allowed is seldom; expected true or false"),
        ({}, {"hw:sound_model": "gramophone"}, "hw_sound_model is gramophone; supported are ac97"),
        ({"hw_vif_model": "e1000"}, {"hw:virtio_packed_ring": "1"}, "needs hw_vif_model virtio"),
        ({"hw_cpu_sockets": "3"}, {}, "vCPUs cannot be divided as asked: cpu_sockets 3"),
        ({"os_shutdown_timeout": "long"}, {}, "os_shutdown_timeout is long; expected a number"),
        (
            {"os_shutdown_timeout": "3601"},
            {},
            "is 3601; expected a number of seconds, at most 3600",
        ),
        ({"hw_sound_model": "horn"}, {"hw:sound_model": "ac97"}, "hw_sound_model is horn"),
        ({"hw_sound_model": "ich6"}, {"hw:sound_model": "ac97"}, "image is ich6, but hw:sound_mo"),
        ({"hw_virtio_packed_ring": "1"}, {"hw:virtio_packed_ring": "no"}, "but hw:virtio_packed"),
        ({"img_config_drive": "yes"}, {}, "img_config_drive is yes; expected mandatory or option"),
        ({"os_type": "beos"}, {}, "os_type is beos; expected linux or windows"),
        ({"trait:HW_CPU_X86_AVX3": "required"}, {}, "trait:HW_CPU_X86_AVX3 names no trait"),
        ({"trait:CUSTOM_GOLD": "true"}, {}, "is true; expected required or forbidden"),
        ({"traits_required": "CUSTOM_GOLD, GOLD"}, {}, "traits_required has GOLD, which is not"),
    ],
)
def test_a_value_that_cannot_be_obeyed_is_refused(
    properties: dict[str, str], specs: dict[str, str], reason: str
) -> None:
    (problem,) = problems(properties, specs)
    assert reason in problem


def test_image_and_flavor_may_ask_for_the_same() -> None:
    """And an image may have a watchdog of its own: it counts, as in Nova."""
    same = {"hw_sound_model": "ich6", "hw_virtio_packed_ring": "yes"}
    assert problems(same, {"hw:sound_model": "ich6", "hw:virtio_packed_ring": "true"}) == []
    asked = {"hw_watchdog_action": "reset"}, {"hw:watchdog_action": "pause"}
    assert problems(*asked) == []
    image, flavor = builders.an_image(properties=asked[0]), builders.a_flavor(extra_specs=asked[1])
    assert guest_properties.asked(flavor, image, "watchdog_action") == "reset"
    assert guest_properties.asked(flavor, None, "watchdog_action") == "pause"


@pytest.mark.parametrize(
    "name",
    ["hw:disk_bus", "hw:firmware_type", "hw:machine_type", "hw:qemu_guest_agent", "hw:vif_model",
     "hw_numa_nodes", "hw_watchdog_action"],
)  # fmt: skip
def test_what_only_images_ask_for_is_refused_of_flavors(name: str) -> None:
    """By its name: it would be of no effect there."""
    assert problems(specs={name: "1"}) == [f"the extra spec {name} is not supported"]


@pytest.mark.parametrize(
    "name", ["hw:cpu_policy", "hw_rng:allowed", "os:secure_boot", "quota:cpu_shares"]
)
def test_what_only_flavors_ask_for_is_refused_of_images(name: str) -> None:
    assert problems({name: "1"}) == [f"the image property {name} is not supported"]


def test_a_no_may_be_a_wish() -> None:
    """A guest has these devices unless its image or flavor says no."""
    asked = {"hw_time_hpet": "false", "hw_pmu": "no", "hw_serial_port_count": "0"}
    assert len(problems(asked)) == len(asked)
    assert problems(specs={"hw:pmu": "false"}) == ["the extra spec hw:pmu is not supported"]


def test_disks_that_an_image_only_refers_to_are_refused() -> None:
    """An empty list of them is none."""
    volumes = {"block_device_mapping": '[{"source_type": "snapshot"}]'}
    assert problems(volumes) == ["the image property block_device_mapping is not supported"]
    assert problems({"block_device_mapping": "[]"}) == []


def test_names_of_other_scopes_are_not_about_hardware() -> None:
    harmless = {"os_distro": "debian", "img_owner_id": "x", "vmware_disktype": "thin", "hw": "x"}
    assert problems(harmless, {"myfilter:rack": "7", "trait:CUSTOM_GOLD": "required"}) == []


@pytest.mark.parametrize(
    ("disk_format", "properties", "is_machine"),
    [
        ("raw", {}, True),
        (None, {"libvirt_disk_file": "a.raw"}, True),
        (None, {"img_hv_type": "kvm"}, True),
        (None, {"process_command": "sleep 9"}, False),
        ("raw", {"img_hv_type": "process"}, False),
        ("raw", {"hypervisor_type": "process"}, False),
    ],
)
def test_an_image_is_a_virtual_machines_by_its_disk(
    disk_format: str | None, properties: dict[str, str], is_machine: bool
) -> None:
    image = builders.an_image(disk_format=disk_format, properties=properties)
    assert guest_properties.is_virtual_machine(image) is is_machine


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90.0), ("0", 0.0), ("99999", 3600.0), ("", None), ("-1", None)]
)
def test_an_image_may_say_how_long_a_shutdown_takes(text: str, seconds: float | None) -> None:
    image = builders.an_image(properties={"os_shutdown_timeout": text})
    assert guest_properties.shutdown_seconds(image) == seconds
