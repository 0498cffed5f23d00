"""Hardware of guests from flavors and images, and what is refused by its name."""

from xml.etree.ElementTree import Element

import pytest

from compute_agent.virt.libvirt.disks.images import BadImage
from compute_agent.virt.libvirt.domain import guest_hardware
from compute_agent.virt.libvirt.domain.guest_hardware import GuestHardware
from objects.instance import Instance
from tests import builders


def a_guest(
    properties: dict[str, str] | None = None, specs: dict[str, str] | None = None
) -> Instance:
    flavor = builders.a_flavor(vcpus=4, extra_specs=specs or {})
    image = builders.an_image(disk_format="raw", properties=properties or {})
    return builders.an_instance(flavor=flavor, image=image)


def hardware(instance: Instance) -> GuestHardware:
    return GuestHardware.of(instance, "/i/nvram.raw", "x86_64")


def test_a_guest_that_asks_for_nothing_gets_the_usual() -> None:
    assert hardware(a_guest()) == GuestHardware()


def test_a_guest_boots_by_uefi_where_there_is_nothing_else() -> None:
    found = GuestHardware.of(a_guest(), "/i/nvram.raw", "aarch64")
    assert found == GuestHardware(firmware="uefi", nvram_path="/i/nvram.raw")


def test_the_watchdog_of_an_image_comes_first() -> None:
    asked = a_guest({"hw_watchdog_action": "pause"}, {"hw:watchdog_action": "reset"})
    assert hardware(asked).watchdog_action == "pause"
    assert hardware(a_guest({"hw_watchdog_action": "disabled"})).watchdog_action is None


def test_a_flavor_may_leave_random_numbers_out() -> None:
    asked = a_guest({"hw_rng_model": "virtio"}, {"hw_rng:allowed": "false"})
    guest_hardware.check(asked)
    devices = Element("devices")
    hardware(asked).write_devices(devices)
    assert list(devices) == []


@pytest.mark.parametrize(
    ("properties", "topology"),
    [
        ({"hw_cpu_sockets": "2"}, (2, 2, 1)),
        ({"hw_cpu_cores": "2", "hw_cpu_threads": "2"}, (1, 2, 2)),
        ({"hw_cpu_threads": "2"}, (2, 1, 2)),
        ({"hw_cpu_sockets": "4", "hw_cpu_cores": "1", "hw_cpu_threads": "1"}, (4, 1, 1)),
    ],
)
def test_what_is_left_open_of_a_topology_follows(
    properties: dict[str, str], topology: tuple[int, int, int]
) -> None:
    assert hardware(a_guest(properties)).topology == topology


@pytest.mark.parametrize(
    ("properties", "specs", "reason"),
    [
        ({"hw_firmware_type": "efi"}, {}, "hw_firmware_type is efi; supported are bios, uefi"),
        ({"hw_vif_model": "ne2k_pci"}, {}, "hw_vif_model is ne2k_pci"),
        ({"hw_cpu_sockets": "3"}, {}, "4 vCPUs cannot be divided as asked: cpu_sockets 3"),
        ({"hw_cpu_cores": "many"}, {}, "hw_cpu_cores is many"),
        ({"hw_boot_menu": "true"}, {}, "the image property hw_boot_menu is not supported"),
        ({"os_secure_boot": "required"}, {}, "os_secure_boot is not supported"),
        ({"hw_rng_model": "other"}, {}, "hw_rng_model is other; supported are virtio"),
        ({"hw_cpu_realtime_mask": "^0"}, {}, "hw_cpu_realtime_mask is not supported"),
        ({"kernel_id": "vmlinuz"}, {}, "kernel_id is not supported"),
        ({}, {"hw:cpu_realtime": "yes"}, "the extra spec hw:cpu_realtime is not supported"),
        ({}, {"hide_hypervisor_id": "true"}, "hide_hypervisor_id is not supported"),
        ({}, {"hw:tpm_version": "2.0"}, "the extra spec hw:tpm_version is not supported"),
        ({}, {"quota:cpu_limit": "5"}, "the extra spec quota:cpu_limit is not supported"),
        ({}, {"quota:cpu_shares": "-1"}, "quota:cpu_shares is -1; expected a number"),
    ],
)
def test_what_guests_cannot_have_is_refused_by_its_name(
    properties: dict[str, str], specs: dict[str, str], reason: str
) -> None:
    with pytest.raises(BadImage, match=reason):
        guest_hardware.check(a_guest(properties, specs))


def test_a_value_that_no_guest_can_have_counts_as_none() -> None:
    """It must be possible to start a guest whose image got it later."""
    former = {"hw_vif_model": "ne2k_pci", "hw_boot_menu": "true", "hw_cpu_sockets": "3"}
    assert hardware(a_guest(former)) == GuestHardware()


@pytest.mark.parametrize(
    "properties",
    [
        {"hw_boot_menu": "false"}, {"os_secure_boot": "disabled"}, {"os_distro": "debian"},
        {"kernel_id": "", "ramdisk_id": ""}, {"hw_rng_model": "virtio"},
    ],
)  # fmt: skip
def test_what_asks_for_nothing_is_allowed(properties: dict[str, str]) -> None:
    guest_hardware.check(a_guest(properties))
    assert hardware(a_guest(properties)) == GuestHardware()
