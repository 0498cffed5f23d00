"""Tests of typing errors in the names of extra specs and image properties."""

import pytest

from objects.extra_specs.extra_specs import mistake
from objects.extra_specs.known_names import meant_extra_spec, meant_image_property, new_mistakes


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("hw:cpu_polciy", "hw:cpu_policy"),
        ("hw:cpu_thread_policies", "hw:cpu_thread_policy"),
        ("hw:CPU_policy", "hw:cpu_policy"),
        ("hw:mem_pagesize", "hw:mem_page_size"),
        ("hw:numa_cpu.0", "hw:numa_cpus.N"),
        ("hw:numa_node", "hw:numa_nodes"),
        ("hw_cpu_policy", "hw:cpu_policy"),
        ("os:secureboot", "os:secure_boot"),
        ("quota:cpu_share", "quota:cpu_shares"),
        ("quota:disk_read_bytes", "quota:disk_read_bytes_sec"),
        ("accel:device_profiles", "accel:device_profile"),
        ("resource:VCPU", "resources:VCPU"),
        ("traits:HW_CPU_X86_AVX", "trait:HW_CPU_X86_AVX"),
        ("capabilites:cpu_info:features", "capabilities:cpu_info:features"),
        ("aggregate_instance_extra_spec:ssd", "aggregate_instance_extra_specs:ssd"),
        ("pci_passthru:alias", "pci_passthrough:alias"),
        ("traits:HW_NIC_SRIOV", "trait:HW_NIC_SRIOV"),
        ("group_polcy", "group_policy"),
    ],
)
def test_a_typing_error_is_told_from_what_was_meant(key: str, meant: str) -> None:
    """Letters swapped, missing or too many, in the name or in its scope."""
    assert meant_extra_spec(key) == meant


@pytest.mark.parametrize(
    "key",
    [
        "hw:cpu_policy", "hw:numa_cpus.0", "hw:numa_mem.11", "hw:new", "hw:my_plugins_word",
        "hw:cpu_realtime", "quota:vif_inbound_peak", "hw_rng:rate_bytes", "ssd", "colour",
        "myfilter:rack", "resources:VCPU", "resources_NET1:SRIOV_NET_VF", "trait1:HW_NIC",
        "capabilities:vcpus", "aggregate_instance_extra_specs:hw", "vmware:storage_policy",
        "powervm:min_mem", "hide_hypervisor_id", "maxphysaddr_bits", "disk_read_iops_sec",
        "secret_security", "policy",
    ],
)  # fmt: skip
def test_what_a_plugin_may_read_is_not_a_typing_error(key: str) -> None:
    """Known names, and unknown ones that are near to none."""
    assert meant_extra_spec(key) is None


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("hw_cpu_polciy", "hw_cpu_policy"),
        ("hw_disk_buss", "hw_disk_bus"),
        ("os_typ", "os_type"),
        ("img_hv_typ", "img_hv_type"),
        ("hw_disk_bus", None),
        ("hw_numa_cpus.1", None),
        ("os_distro", None),
        ("owner_specified.openstack.md5", None),
        ("trait:HW_CPU_X86_AVX", None),
        ("instance_uuid", None),
        ("base_image_ref", None),
        ("my_own", None),
        ("architecture", None),
        ("auto_disk_config", None),
        ("block_device_mapping", None),
        ("root_device_name", None),
        ("cache_in_nova", None),
        ("machine_type", None),
        ("command_line", None),
        ("image_version", None),
        ("owner_id", None),
        ("os", None),
    ],
)
def test_image_properties_are_told_apart_likewise(name: str, meant: str | None) -> None:
    """Images carry many names that are clients' own."""
    assert meant_image_property(name) == meant


def test_a_typing_error_is_a_mistake_of_an_extra_spec() -> None:
    """Whatever its value; the answer says what was probably meant."""
    assert mistake("hw:cpu_polciy", "dedicated") == (
        "Unknown extra spec; did you mean hw:cpu_policy?"
    )


def test_properties_that_an_image_has_already_are_kept() -> None:
    """Else nothing of such an image could be changed."""
    given = {"hw_disk_buss": "scsi", "os_typ": "linux", "os_distro": "debian"}
    assert dict(new_mistakes(given, ["os_typ"])) == {
        "hw_disk_buss": "Unknown property; did you mean hw_disk_bus?"
    }
