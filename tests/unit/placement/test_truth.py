"""The truth that the engine is compared with: small fleets whose answers are known by hand."""

from collections.abc import Callable

import pytest

from objects.allocations.resource_query import RequestGroup
from tests.fixtures.placement.placement_rows import TrueConsumer
from tests.fixtures.placement.placement_scenes import (
    Scene,
    a_question,
    granular,
    numa_aggregates,
    numa_devices,
    uuid_of,
)
from tests.fixtures.placement.placement_truth import (
    a_candidate,
    true_candidates,
    true_provider_list,
    true_usages,
)

COUNTS: list[tuple[str, Callable[[], Scene], int, str]] = [
    ("of one provider", granular, 3, "resources1=VCPU:1&resources2=MEMORY_MB:1024"),
    ("isolated", granular, 0, "resources1=VCPU:1&resources2=MEMORY_MB:1&group_policy=isolate"),
    ("sums fit", granular, 3, "resources=VCPU:3&resources1=VCPU:1&resources2=VCPU:4"),
    ("sums do not", granular, 0, "resources=VCPU:3&resources1=VCPU:1&resources2=VCPU:5"),
    ("max_unit of a sum", granular, 1, "resources=VGPU:1&resources1=VGPU:1&resources2=VGPU:1"),
    ("shared or not", granular, 7, "resources1=VCPU:1&resources2=DISK_GB:100&group_policy=none"),
    ("shared", granular, 5, "resources1=VCPU:1&resources2=DISK_GB:100&group_policy=isolate"),
    ("of sharing trees alone", granular, 2, "resources=DISK_GB:800"),
    (
        "group's trait", granular, 4,
        "resources1=VCPU:1&resources2=DISK_GB:9&required2=!CUSTOM_DISK_SSD",
    ),
    ("group's members", granular, 1, "resources1=VCPU:1&resources2=DISK_GB:9&member_of2=C"),
    (
        "repeated members", granular, 3,
        "resources1=VCPU:1&resources2=DISK_GB:9&member_of2=in:B,C&member_of2=A"
        "&group_policy=isolate",
    ),
    (
        "traits of several", granular, 3,
        "required=in:HW_CPU_X86_MMX,HW_NIC_ACCEL_TLS&required=in:CUSTOM_DISK_SSD,CUSTOM_FOO"
        "&resources=VCPU:1,DISK_GB:1",
    ),
    (
        "any and all and none", granular, 2,
        "required=in:HW_GPU_API_DXVA,HW_NIC_ACCEL_TLS&required=HW_CPU_X86_AVX"
        "&required=!CUSTOM_FOO&resources=VCPU:1,DISK_GB:1",
    ),
    ("shared with a child", numa_aggregates, 6, "resources=VCPU:1,DISK_GB:1000"),
    ("member by its root", numa_aggregates, 4, "resources=VCPU:1&member_of=A"),
    ("member by itself only", numa_aggregates, 0, "resources1=VCPU:1&member_of1=A"),
    ("all of them members", numa_aggregates, 1, "resources=VCPU:1,DISK_GB:1000&member_of=C"),
    ("not by its root", numa_aggregates, 4, "resources=VCPU:1,DISK_GB:1000&member_of=!B"),
    (
        "none of several", numa_aggregates, 1,
        "resources=VCPU:1,DISK_GB:1&member_of=A&member_of=!in:B,C",
    ),
    ("in one tree", numa_aggregates, 2, "resources=VCPU:1&in_tree=numa1-1"),
    ("all in one tree", numa_aggregates, 0, "resources=VCPU:1,DISK_GB:1&in_tree=host1"),
    (
        "in a sharing tree", numa_aggregates, 4,
        "resources=VCPU:1&resources1=DISK_GB:1&in_tree1=disk1",
    ),
    ("in no tree", numa_aggregates, 0, "resources=VCPU:1&in_tree=nowhere"),
    (
        "each class elsewhere", numa_devices, 4,
        "resources=VCPU:1,MEMORY_MB:1024,DISK_GB:100&root_required=COMPUTE_VOLUME_MULTI_ATTACH",
    ),
    (
        "root's forbidden trait", numa_devices, 4,
        "resources=VCPU:1,MEMORY_MB:1024&root_required=!CUSTOM_FOO",
    ),
    (
        "root of who asks", numa_devices, 0,
        "resources=VCPU:1,DISK_GB:100&root_required=MISC_SHARES_VIA_AGGREGATE",
    ),
    ("not together", numa_devices, 6, "resources_C=VCPU:1&resources_A=FPGA:1"),
    ("together", numa_devices, 3, "resources_C=VCPU:1&resources_A=FPGA:1&same_subtree=_C,_A"),
    (
        "with itself", numa_devices, 3,
        "resources_C=VCPU:1&resources_M=MEMORY_MB:1024&same_subtree=_C,_M",
    ),
    (
        "a resourceless top", numa_devices, 5,
        "resources=VCPU:1&required_N=CUSTOM_NIC&resources_P=CUSTOM_VF:2"
        "&required_P=CUSTOM_PHYSNET1&resources_Q=CUSTOM_VF:2&required_Q=CUSTOM_PHYSNET2"
        "&same_subtree=_N,_P,_Q",
    ),
    (
        "resourceless and apart", numa_devices, 0,
        "resources_P=CUSTOM_VF:8&required_Q=CUSTOM_PHYSNET1&same_subtree=_P,_Q"
        "&group_policy=isolate",
    ),
    (
        "two subtrees", numa_devices, 4,
        "resources_C=VCPU:1&required_N=CUSTOM_NIC&resources_P=CUSTOM_VF:2"
        "&required_P=CUSTOM_PHYSNET1&same_subtree=_N,_C&same_subtree=_N,_P",
    ),
    (
        "one subtree", numa_devices, 12,
        "resources_C=VCPU:1&required_N=CUSTOM_NIC&resources_P=CUSTOM_VF:2"
        "&required_P=CUSTOM_PHYSNET1&same_subtree=_N,_C,_P",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "count", "question"), [item[1:] for item in COUNTS], ids=[item[0] for item in COUNTS]
)
def test_the_truth_counts_what_is_known(
    make: Callable[[], Scene], count: int, question: str
) -> None:
    assert len(true_candidates(make(), a_question(question))) == count


def test_candidates_say_who_gives_what_to_which_group() -> None:
    question = a_question(
        "resources=VCPU:1&required_N=CUSTOM_NIC&resources_P=CUSTOM_VF:4&required_P=CUSTOM_PHYSNET1"
        "&resources_Q=CUSTOM_VF:4&required_Q=CUSTOM_PHYSNET2&same_subtree=_N,_P,_Q"
    )
    host, nic, *ports = map(uuid_of, ["host2", "nic1", "pf1-1", "pf1-2"])
    allocations = {host: {"VCPU": 1}, **{port: {"CUSTOM_VF": 4} for port in ports}}
    mappings = {"": [host], "_N": [nic], "_P": ports[:1], "_Q": ports[1:]}
    assert true_candidates(numa_devices(), question) == {a_candidate(allocations, mappings)}


def test_what_several_groups_take_of_one_provider_is_summed() -> None:
    question = a_question("resources=VGPU:1&resources1=VGPU:1&resources2=VGPU:1")
    left = uuid_of("left")
    mappings = {"": [left], "1": [left], "2": [left]}
    assert true_candidates(granular(), question) == {a_candidate({left: {"VGPU": 3}}, mappings)}


def test_clients_that_know_no_trees_get_one_provider_of_each() -> None:
    question = a_question("resources=VCPU:1,DISK_GB:1&resources1=VCPU:1")
    assert len(true_candidates(numa_aggregates(), question)) == 12
    question.is_nested = False
    assert len(true_candidates(numa_aggregates(), question)) == 6


def test_filters_of_a_list_look_at_the_provider_itself() -> None:
    scene = numa_aggregates()
    scene[uuid_of("numa1-2")].used["VCPU"] = 380
    group = RequestGroup.from_values(resources={"VCPU": 5}, in_tree=uuid_of("host1"))
    assert true_provider_list(scene, group) == {uuid_of("numa1-1")}
    group = RequestGroup.from_values(member_of=[["A"]], forbidden_aggregates=["B"])
    assert true_provider_list(scene, group) == {uuid_of("host1"), uuid_of("disk1")}
    assert true_provider_list(scene, RequestGroup.from_values(), name="disk2") == {uuid_of("disk2")}


def test_usages_are_summed_by_consumer_type() -> None:
    consumers = {
        name: TrueConsumer(name, 1, kind, "p1", user, {"a": {"VCPU": 2}, "b": {"VCPU": 1}})
        for name, kind, user in (("x", "INSTANCE", "u1"), ("y", "INSTANCE", "u2"), ("z", "M", "u2"))
    }
    found = true_usages(consumers, "p1")
    assert found == {"INSTANCE": (2, {"VCPU": 6}), "M": (1, {"VCPU": 3})}
    assert true_usages(consumers, "p1", "u2", "M") == {"M": (1, {"VCPU": 3})}
    assert true_usages(consumers, "p2") == {}
