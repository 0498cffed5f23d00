"""A request spec becomes a question for placement; what cannot be right is skipped."""

import logging
from typing import Any

import pytest

from armillary import exception
from objects.allocations.resource_query import RequestGroup, ResourceQuery
from objects.request_spec import Destination, RequestLevelParams
from scheduler.request import resource_query
from tests.builders import a_flavor, an_image
from tests.fleets import a_request_spec


def group(extra_specs: dict[str, str] | None = None, **values: Any) -> RequestGroup:
    query = resource_query.build(a_request_spec(extra_specs, **values), limit=0)
    (found,) = query.groups
    return found


@pytest.mark.parametrize(
    ("sizes", "amounts"),
    [
        (
            {"vcpus": 2, "memory_mb": 512, "root_gb": 3, "ephemeral_gb": 4, "swap_mb": 1025},
            {"VCPU": 2, "MEMORY_MB": 512, "DISK_GB": 9},
        ),
        ({"vcpus": 1, "memory_mb": 64, "root_gb": 0}, {"VCPU": 1, "MEMORY_MB": 64}),
    ],
    ids=["all disks", "no disk"],
)
def test_amounts_come_from_the_flavor(sizes: dict[str, Any], amounts: dict[str, int]) -> None:
    """Swap is rounded up to GiB, and nothing is asked for by the amount of 0."""
    assert group(flavor=a_flavor(**sizes)).resources == amounts


@pytest.mark.parametrize(
    ("extra_specs", "amounts"),
    [
        ({"resources:VCPU": "4"}, {"VCPU": 4, "MEMORY_MB": 512, "DISK_GB": 1}),
        ({"resources:VCPU": "0"}, {"MEMORY_MB": 512, "DISK_GB": 1}),
        (
            {"resources:CUSTOM_GPU": " 2 "},
            {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1, "CUSTOM_GPU": 2},
        ),
    ],
    ids=str,
)
def test_extra_specs_override_amounts(extra_specs: dict[str, str], amounts: dict[str, int]) -> None:
    """0 takes a class out of the question."""
    assert group(extra_specs).resources == amounts


def test_traits_come_from_flavor_and_image() -> None:
    """Required and forbidden ones, each once."""
    image = an_image(
        properties={"trait:HW_CPU_X86_AVX": "required", "traits_required": "CUSTOM_A, CUSTOM_B"}
    )
    found = group(
        {
            "trait:HW_CPU_X86_AVX": "required",
            "trait:HW_CPU_X86_SSE": "required",
            "trait:CUSTOM_OLD": "forbidden",
        },
        image=image,
    )
    assert found.required_traits == [
        ["CUSTOM_A"],
        ["CUSTOM_B"],
        ["HW_CPU_X86_AVX"],
        ["HW_CPU_X86_SSE"],
    ]
    assert found.forbidden_traits == ["CUSTOM_OLD"]


@pytest.mark.parametrize(
    ("extra_specs", "warning"),
    [
        ({"resources:BOGUS": "1"}, "is not a resource class"),
        ({"resources:CUSTOM_lower": "1"}, "is not a resource class"),
        ({"resources:VCPU": "many"}, "is not a valid amount"),
        ({"resources:VCPU": "-1"}, "is not a valid amount"),
        ({"resources:VCPU": "1.5"}, "is not a valid amount"),
        ({"resources:VCPU": "3000000000"}, "is not a valid amount"),
        ({"resources:VCPU": "9" * 5000}, "is not a valid amount"),
        ({"trait:HW_CPU_BOGUS": "required"}, "is not a trait"),
        ({"trait:CUSTOM_A": "perhaps"}, "neither required nor forbidden"),
        ({f"resources_{'x' * 64}:VCPU": "1"}, "has an invalid request group suffix"),
        ({"trait_a.b:CUSTOM_A": "required"}, "has an invalid request group suffix"),
        ({"group_policy": "strict"}, "neither none nor isolate"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_right_is_said_and_skipped(
    extra_specs: dict[str, str], warning: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The request goes on without it."""
    with caplog.at_level(logging.WARNING):
        found = group(extra_specs)
    assert found.resources == {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}
    assert found.required_traits == []
    (record,) = caplog.records
    assert warning in record.getMessage()


def test_an_image_trait_that_is_none_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    """The good ones beside it count."""
    image = an_image(properties={"traits_required": "bogus,CUSTOM_A,"})
    assert group(image=image).required_traits == [["CUSTOM_A"]]
    assert "traits_required contains bogus" in caplog.text


@pytest.mark.parametrize(
    "key", ["hw:video_ram_max_mb", "resource", "traits", "capabilities:x", "trait:"]
)
def test_other_extra_specs_are_not_for_placement(
    key: str, caplog: pytest.LogCaptureFixture
) -> None:
    """They change nothing, silently."""
    found = group({key: "1"})
    assert (found.required_traits, list(found.resources)) == ([], ["VCPU", "MEMORY_MB", "DISK_GB"])
    assert caplog.records == []


def test_what_request_filters_ask_for_is_in_the_question() -> None:
    """Beside what the flavor asks for: of a tree's root, whichever provider serves the amounts."""
    params = RequestLevelParams.from_values(
        root_required=["CUSTOM_A"],
        root_forbidden=["COMPUTE_STATUS_DISABLED"],
        member_of=[["a", "b"], ["c"]],
        forbidden_aggregates=["d"],
    )
    spec = a_request_spec({"trait:CUSTOM_B": "required"}, request_level_params=params)
    query = resource_query.build(spec, limit=5)
    assert (query.root_required, query.root_forbidden) == (
        ["CUSTOM_A"],
        ["COMPUTE_STATUS_DISABLED"],
    )
    (found,) = query.groups
    assert (found.required_traits, found.forbidden_traits) == ([["CUSTOM_B"]], [])
    assert found.member_of == [["a", "b"], ["c"]]
    assert found.forbidden_aggregates == ["d"]


@pytest.mark.parametrize(
    ("values", "limit"),
    [
        ({}, 5),
        ({"scheduler_hints": {"group": ["some-uuid"]}}, None),
        ({"scheduler_hints": {"same_host": "some-uuid"}}, None),
        ({"scheduler_hints": {"different_host": ["some-uuid"]}}, None),
        ({"force_hosts": ["host1"]}, None),
        ({"requested_destination": Destination.from_values(host="host1")}, None),
        ({"requested_destination": Destination.from_values(host=None)}, 5),
    ],
    ids=str,
)
def test_a_request_that_a_limit_could_starve_is_not_limited(
    values: dict[str, Any], limit: int | None
) -> None:
    """The host that it needs may be beyond the limit."""
    assert resource_query.build(a_request_spec(**values), limit=5).limit == limit


def test_no_limit_asks_for_all() -> None:
    """0 is the option's word for it."""
    assert resource_query.build(a_request_spec(), limit=0).limit is None


# Groups with a suffix -----------------------------------------------------------------------------


def test_groups_with_a_suffix_are_asked_of_one_provider_each() -> None:
    """The flavor's size of a class is dropped when any group names the class."""
    spec = a_request_spec(
        {
            "resources1:VCPU": "2",
            "trait1:HW_NUMA_ROOT": "required",
            "resources_NET-a:CUSTOM_VF": "1",
            "resources_NET-a:SRIOV_NET_VF": "0",
            "trait_NET-a:CUSTOM_OLD": "forbidden",
            "trait:CUSTOM_A": "required",
        }
    )
    query = resource_query.build(spec, limit=0)
    assert [(each.suffix, each.resources) for each in query.groups] == [
        ("", {"MEMORY_MB": 512, "DISK_GB": 1}),
        ("1", {"VCPU": 2}),
        ("_NET-a", {"CUSTOM_VF": 1}),
    ]
    assert [each.required_traits for each in query.groups] == [
        [["CUSTOM_A"]],
        [["HW_NUMA_ROOT"]],
        [],
    ]
    assert [each.forbidden_traits for each in query.groups] == [[], [], ["CUSTOM_OLD"]]


@pytest.mark.parametrize(
    ("extra_specs", "policy"),
    [
        ({}, None),
        ({"resources1:CUSTOM_VF": "1"}, None),
        ({"resources1:CUSTOM_VF": "1", "resources2:CUSTOM_VF": "1"}, "none"),
        ({"resources1:CUSTOM_VF": "1", "group_policy": "isolate"}, "isolate"),
        ({"resources1:CUSTOM_VF": "1", "group_policy": "strict"}, None),
    ],
    ids=str,
)
def test_several_groups_need_a_policy(extra_specs: dict[str, str], policy: str | None) -> None:
    """None is the one that refuses least."""
    query = resource_query.build(a_request_spec(extra_specs), limit=0)
    assert query.group_policy == policy


ALL_SUFFIXED = {
    "resources1:VCPU": "1",
    "resources1:MEMORY_MB": "512",
    "resources1:DISK_GB": "1",
    "trait:CUSTOM_A": "required",
    "trait:CUSTOM_B": "forbidden",
}


def test_traits_without_resources_beside_them_are_asked_of_the_root() -> None:
    query = resource_query.build(a_request_spec(ALL_SUFFIXED), limit=0)
    assert [each.suffix for each in query.groups] == ["1"]
    assert (query.root_required, query.root_forbidden) == (["CUSTOM_A"], ["CUSTOM_B"])


def test_aggregates_cannot_be_asked_of_groups_with_a_suffix_alone() -> None:
    """It would be left out silently otherwise."""
    params = RequestLevelParams.from_values(member_of=[["a"]])
    with pytest.raises(exception.RequestFilterFailed, match="availability zone"):
        resource_query.build(a_request_spec(ALL_SUFFIXED, request_level_params=params), limit=0)


# What follows from other words --------------------------------------------------------------------

BASE = {"VCPU": 2, "MEMORY_MB": 512, "DISK_GB": 1}


def asked_for(
    extra_specs: dict[str, str] | None = None,
    properties: dict[str, str] | None = None,
    **values: Any,
) -> ResourceQuery:
    flavor = a_flavor(vcpus=2, extra_specs=extra_specs or {})
    image = an_image(properties=properties or {})
    return resource_query.build(a_request_spec(flavor=flavor, image=image, **values), limit=0)


@pytest.mark.parametrize(
    ("extra_specs", "properties", "traits"),
    [
        ({"os:secure_boot": "required"}, {}, ["COMPUTE_SECURITY_UEFI_SECURE_BOOT"]),
        ({"os:secure_boot": "optional"}, {}, []),
        ({}, {"os_secure_boot": "required"}, ["COMPUTE_SECURITY_UEFI_SECURE_BOOT"]),
        ({"os:secure_boot": "disabled"}, {"os_secure_boot": "required"}, []),
        ({"hw:tpm_version": "1.2"}, {}, ["COMPUTE_SECURITY_TPM_1_2"]),
        (
            {"hw:tpm_version": "2.0", "hw:tpm_model": "tpm-crb"},
            {},
            ["COMPUTE_SECURITY_TPM_2_0", "COMPUTE_SECURITY_TPM_CRB"],
        ),
        (
            {},
            {"hw_tpm_version": "2.0", "hw_tpm_model": "tpm-tis"},
            ["COMPUTE_SECURITY_TPM_2_0", "COMPUTE_SECURITY_TPM_TIS"],
        ),
        ({"hw:maxphysaddr_mode": "passthrough"}, {}, ["COMPUTE_ADDRESS_SPACE_PASSTHROUGH"]),
        ({}, {"hw_maxphysaddr_mode": "emulate"}, ["COMPUTE_ADDRESS_SPACE_EMULATED"]),
        ({}, {"hw_firmware_stateless": "yes"}, ["COMPUTE_SECURITY_STATELESS_FIRMWARE"]),
        ({}, {"hw_firmware_stateless": "no"}, []),
        ({"hw:pci_numa_affinity_policy": "socket"}, {}, ["COMPUTE_SOCKET_PCI_NUMA_AFFINITY"]),
        ({}, {"hw_pci_numa_affinity_policy": "socket"}, ["COMPUTE_SOCKET_PCI_NUMA_AFFINITY"]),
        ({"hw:pci_numa_affinity_policy": "preferred"}, {}, []),
    ],
    ids=str,
)
def test_qualities_of_the_compute_service_are_asked_of_the_root(
    extra_specs: dict[str, str], properties: dict[str, str], traits: list[str]
) -> None:
    """The flavor's word counts before the image's."""
    query = asked_for(extra_specs, properties)
    assert query.root_required == traits
    assert query.groups[0].resources == BASE


@pytest.mark.parametrize(
    ("extra_specs", "properties", "more", "traits"),
    [
        (
            {"hw:mem_encryption": "true"},
            {},
            {"MEM_ENCRYPTION_CONTEXT": 1},
            [["HW_CPU_X86_AMD_SEV"]],
        ),
        (
            {"hw:mem_encryption": "true", "hw:mem_encryption_model": "amd-sev-es"},
            {},
            {"MEM_ENCRYPTION_CONTEXT": 1},
            [["HW_CPU_X86_AMD_SEV_ES"]],
        ),
        (
            {},
            {"hw_mem_encryption": "1", "hw_mem_encryption_model": "intel-tdx"},
            {"MEM_ENCRYPTION_CONTEXT": 1},
            [["HW_CPU_X86_INTEL_TDX"]],
        ),
        ({"hw:mem_encryption": "false"}, {"hw_mem_encryption": "true"}, {}, []),
        (
            {"hw:pmem": "6gb, LARGE,6GB"},
            {},
            {"CUSTOM_PMEM_NAMESPACE_6GB": 2, "CUSTOM_PMEM_NAMESPACE_LARGE": 1},
            [],
        ),
    ],
    ids=str,
)
def test_memory_of_a_kind_is_an_amount(
    extra_specs: dict[str, str],
    properties: dict[str, str],
    more: dict[str, int],
    traits: list[list[str]],
) -> None:
    (found,) = asked_for(extra_specs, properties).groups
    assert found.resources == {**BASE, **more}
    assert found.required_traits == traits


@pytest.mark.parametrize(
    "extra_specs",
    [
        {"os:secure_boot": "sure"},
        {"hw:tpm_version": "3.0"},
        {"hw:pmem": "6GB,,"},
        {"hw:maxphysaddr_mode": "wide"},
    ],
    ids=str,
)
def test_a_word_that_stands_for_nothing_is_said_and_skipped(
    extra_specs: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    """With the flavor's name."""
    query = asked_for(extra_specs)
    assert (query.root_required, query.groups[0].resources) == ([], BASE)
    (record,) = caplog.records
    assert "Flavor small" in record.getMessage()


def test_a_volume_takes_nothing_of_the_disk_but_the_other_disks_do() -> None:
    """Ephemeral disk and swap are on the host."""
    flavor = a_flavor(root_gb=10, ephemeral_gb=2, swap_mb=1)
    spec = a_request_spec(flavor=flavor, is_bfv=True)
    assert resource_query.build(spec, limit=0).groups[0].resources["DISK_GB"] == 3


# Pinned CPUs --------------------------------------------------------------------------------------

THREADS = "HW_CPU_HYPERTHREADING"


@pytest.mark.parametrize(
    ("extra_specs", "amounts"),
    [
        ({"hw:cpu_policy": "dedicated"}, {"PCPU": 2}),
        ({"hw:cpu_policy": "shared"}, {"VCPU": 2}),
        ({"hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "isolate"}, {"PCPU": 3}),
        ({"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0"}, {"VCPU": 1, "PCPU": 1}),
        (
            {
                "hw:cpu_policy": "mixed",
                "hw:cpu_dedicated_mask": "0",
                "hw:emulator_threads_policy": "isolate",
            },
            {"VCPU": 1, "PCPU": 2},
        ),
        ({"hw:cpu_policy": "dedicated", "resources:PCPU": "5"}, {"PCPU": 5}),
        ({"hw:cpu_policy": "dedicated", "resources1:PCPU": "5"}, {}),
    ],
    ids=str,
)
def test_pinned_cpus_are_asked_for_in_place_of_shared_ones(
    extra_specs: dict[str, str], amounts: dict[str, int]
) -> None:
    """A class that a group names is not added to it."""
    resources = dict(asked_for(extra_specs).groups[0].resources)
    assert {name: resources[name] for name in resources if "CPU" in name} == amounts


@pytest.mark.parametrize(
    ("policy", "required", "forbidden"),
    [("prefer", [], []), ("require", [[THREADS]], []), ("isolate", [], [THREADS])],
)
def test_the_thread_policy_asks_for_threads_or_none(
    policy: str, required: list[list[str]], forbidden: list[str]
) -> None:
    query = asked_for({"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": policy})
    assert (query.groups[0].required_traits, query.groups[0].forbidden_traits) == (
        required,
        forbidden,
    )


def test_the_fallback_asks_for_shared_cpus_without_a_thread_policy() -> None:
    """As many as the flavor has, without the emulator's."""
    extra_specs = {
        "hw:cpu_policy": "dedicated",
        "hw:cpu_thread_policy": "isolate",
        "hw:emulator_threads_policy": "isolate",
        "os:secure_boot": "required",
    }
    spec = a_request_spec(flavor=a_flavor(vcpus=2, extra_specs=extra_specs))
    _first, fallback = resource_query.build_both(spec, limit=7)
    assert fallback is not None
    assert fallback.groups[0].resources == BASE
    assert fallback.groups[0].forbidden_traits == []
    assert fallback.root_required == ["COMPUTE_SECURITY_UEFI_SECURE_BOOT"]
    assert fallback.limit == 7
    assert fallback.without_resources == ["PCPU"]


@pytest.mark.parametrize("extra_specs", [{}, {"hw:cpu_policy": "shared"}, {"resources:PCPU": "2"}])
def test_requests_without_pinned_cpus_have_no_fallback(extra_specs: dict[str, str]) -> None:
    """Who names PCPU means it."""
    spec = a_request_spec(extra_specs)
    first, fallback = resource_query.build_both(spec, limit=0)
    assert fallback is None
    assert first.to_plain() == resource_query.build(spec, limit=0).to_plain()


def test_a_topology_that_cannot_be_fails_the_request() -> None:
    """It is never placed without its pinned CPUs."""
    spec = a_request_spec({"hw:cpu_policy": "dedicated", "hw:numa_nodes": "nine"})
    with pytest.raises(exception.RequestFilterFailed, match="hw:numa_nodes"):
        resource_query.build(spec, limit=0)


# One node, subtrees, devices ----------------------------------------------------------------------

NODE = "20000000-0000-0000-0000-000000000001"


def test_one_node_is_asked_for_by_the_group_without_suffix() -> None:
    """The others are in its tree anyway, or with those who lend to it."""
    spec = a_request_spec({"resources1:CUSTOM_VF": "1"})
    query = resource_query.build(spec, limit=0, in_tree=NODE)
    assert [group.in_tree for group in query.groups] == [NODE, None]


def test_without_such_a_group_each_asks_for_the_node() -> None:
    query = resource_query.build(a_request_spec(ALL_SUFFIXED), limit=0, in_tree=NODE)
    assert [group.in_tree for group in query.groups] == [NODE]


def test_a_flavor_says_which_groups_are_below_one_provider() -> None:
    """A group of that kind may ask for traits alone."""
    spec = a_request_spec(
        {
            "resources_A:CUSTOM_VF": "1",
            "resources_B:VGPU": "1",
            "trait_CELL:HW_NUMA_ROOT": "required",
            "trait_ALONE:HW_NUMA_ROOT": "required",
            "same_subtree": "_CELL,_A ; _CELL , _B",
        }
    )
    query = resource_query.build(spec, limit=0)
    assert query.same_subtree == [["_CELL", "_A"], ["_CELL", "_B"]]
    assert [(group.suffix, group.resources) for group in query.groups][1:] == [
        ("_A", {"CUSTOM_VF": 1}),
        ("_B", {"VGPU": 1}),
        ("_CELL", {}),
    ]


@pytest.mark.parametrize("text", ["_A,_C", "_A,", "_A,x y", ""])
def test_a_subtree_of_groups_that_there_are_not_is_said_and_skipped(
    text: str, caplog: pytest.LogCaptureFixture
) -> None:
    query = asked_for({"resources_A:VGPU": "1", "same_subtree": text})
    assert query.same_subtree == []
    assert "Flavor small: same_subtree=" in caplog.text


def a_device_request(count: int, *devices: dict[str, str]) -> dict[str, Any]:
    return {
        "alias_name": "gpu",
        "count": count,
        "spec": list(devices),
        "numa_policy": None,
        "request_id": "5b5a",
    }


def test_each_device_is_a_group_where_placement_counts_them() -> None:
    """Its class is the alias's own, else made of vendor and product."""
    spec = a_request_spec(
        pci_requests=[
            a_device_request(2, {"vendor_id": "10de", "product_id": "1db4"}),
            {
                **a_device_request(1, {"resource_class": "gold", "traits": "fast,HW_NIC_SRIOV"}),
                "request_id": "7c7b",
            },
        ]
    )
    query = resource_query.build(spec, limit=0, has_devices=True)
    assert [(group.suffix, group.resources) for group in query.groups][1:] == [
        ("5b5a-0", {"CUSTOM_PCI_10DE_1DB4": 1}),
        ("5b5a-1", {"CUSTOM_PCI_10DE_1DB4": 1}),
        ("7c7b-0", {"CUSTOM_GOLD": 1}),
    ]
    assert query.groups[3].required_traits == [["CUSTOM_FAST"], ["HW_NIC_SRIOV"]]
    assert query.group_policy == "none"
    assert len(resource_query.build(spec, limit=0).groups) == 1


@pytest.mark.parametrize(
    ("devices", "kinds"),
    [
        ([{"vendor_id": "10de"}], "no kind"),
        ([{"vendor_id": "1", "product_id": "2"}, {"vendor_id": "1", "product_id": "3"}], "several"),
        ([], "no kind"),
    ],
    ids=["no product", "two kinds", "nothing"],
)
def test_an_alias_without_one_class_fails_the_request(
    devices: list[dict[str, str]], kinds: str
) -> None:
    """Placement cannot be asked for one class or another."""
    spec = a_request_spec(pci_requests=[a_device_request(1, *devices)])
    with pytest.raises(exception.RequestFilterFailed, match=f"alias gpu names {kinds}"):
        resource_query.build(spec, limit=0, has_devices=True)


def test_a_request_for_devices_that_cannot_be_read_fails() -> None:
    """As one that an older conductor, or a dry run, made."""
    spec = a_request_spec(pci_requests=[{"alias_name": "gpu"}])
    with pytest.raises(exception.RequestFilterFailed, match="invalid request for PCI"):
        resource_query.build(spec, limit=0, has_devices=True)
