"""For every registered filter and weigher, the answer for all hosts is that for each of them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import stevedore
from hypothesis import given
from hypothesis import strategies as st

from objects.request_spec import RequestSpec, SchedulerRetries
from scheduler import filters, weights
from scheduler.filters import BaseHostFilter
from scheduler.host_table import HostTable
from scheduler.weights import BaseHostWeigher
from tests.builders import a_flavor, an_aggregate, an_image
from tests.fleets import Host, a_group, a_request_spec, a_table, scheduling_conf, some_facts

INSTANCES = [f"00000000-0000-0000-0000-{number:012}" for number in range(6)]
IMAGE = "00000000-0000-0000-0001-000000000000"
HOST_NAMES = ["host1", "host2", "host3"]
SMALL = st.integers(-2, 60)
RATIOS = st.sampled_from([0.5, 1.0, 1.7, 16.0])
CPU_INFO = st.sampled_from(
    [
        "",
        "no json",
        json.dumps({"arch": "x86_64", "features": ["aes"], "maxphysaddr": {"bits": 42}}),
        json.dumps({"maxphysaddr": {"bits": "many"}}),
    ]
)
TRIPLES = st.sampled_from([[], [["x86_64", "kvm", "hvm"]], [["aarch64", "qemu", "hvm"], ["x"]]])
STATS = st.sampled_from([None, {}, {"colour": "red"}, {"colour": {"deep": 1}}])

hosts = st.fixed_dictionaries(
    {
        "vcpus_total": SMALL,
        "vcpus_used": SMALL,
        "total_usable_ram_mb": SMALL,
        "free_ram_mb": SMALL,
        "free_disk_mb": SMALL,
        "cpu_allocation_ratio": RATIOS,
        "num_io_ops": SMALL,
        "failed_builds": SMALL,
        "num_instances": st.integers(0, 6),
        "service_up": st.booleans(),
        "service_disabled": st.booleans(),
        "hypervisor_type": st.sampled_from(["kvm", "simulated", ""]),
        "hypervisor_version": st.sampled_from([0, 6_000_000, 7_001_002]),
        "cpu_info": CPU_INFO,
        "supported_instances": TRIPLES,
        "stats": STATS,
        "host_ip": st.sampled_from(["", "10.0.0.1", "10.0.1.1", "no address"]),
    }
)
fleets = st.lists(
    st.builds(
        lambda name, values: Host(name=name, values=values), st.sampled_from(HOST_NAMES), hosts
    ),
    max_size=6,
)
homes = st.dictionaries(st.sampled_from(INSTANCES), st.integers(0, 5))

VALUES = st.sampled_from(["", "1", ">= 5", "red", "<in> k", "<or> kvm <or> x", "= x", "s> a"])
extra_specs = st.dictionaries(
    st.sampled_from(
        [
            "colour",
            "nothing",
            "free_ram_mb",
            "hypervisor_type",
            "capabilities:colour",
            "capabilities:colour:deep",
            "capabilities:cpu_info:features",
            "capabilities:service_up",
            "capabilities:cpu_allocation_ratio",
            "capabilities:stats:colour",
            "capabilities:hypervisor_version",
            "hw:maxphysaddr_bits",
            "aggregate_instance_extra_specs:colour",
        ]
    ),
    VALUES,
    max_size=3,
)
properties = st.fixed_dictionaries(
    {},
    optional={
        "hw_architecture": st.sampled_from(["x86_64", "arm64", "s390x"]),
        "img_hv_type": st.sampled_from(["kvm", "qemu"]),
        "hw_vm_mode": st.sampled_from(["hvm", "xen"]),
        "img_hv_requested_version": st.sampled_from([">=6.0", ">=6.0, <7", "nonsense"]),
        "hw_maxphysaddr_bits": st.sampled_from(["40", "48", "x"]),
    },
)
groups = st.none() | st.builds(
    lambda policy, members, names, limit: a_group(
        policy, members=members, hosts=names, rules={"max_server_per_host": str(limit)}
    ),
    st.sampled_from(["affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity"]),
    st.lists(st.sampled_from(INSTANCES), unique=True),
    st.lists(st.sampled_from(HOST_NAMES), unique=True),
    st.integers(1, 3),
)
hints = st.dictionaries(
    st.sampled_from(["same_host", "different_host"]),
    st.lists(st.sampled_from(INSTANCES), min_size=1, max_size=2),
)
networks = st.fixed_dictionaries(
    {},
    optional={
        "build_near_host_ip": st.sampled_from(["10.0.0.7", "nowhere"]),
        "cidr": st.sampled_from(["/16", "24"]),
    },
)
QUESTIONS = [
    '[">", "$free_ram_mb", 20]',
    '["and", ["not", ["=", "$stats.colour", "red"]], "$service_up"]',
    '["in", "$host", "host1", "host3"]',
    '["=", "$hypervisor_type", "kvm"]',
    '["or"]',
    "nonsense",
]
questions = st.dictionaries(st.just("query"), st.sampled_from(QUESTIONS), max_size=1)
retries = st.none() | st.builds(
    lambda names: SchedulerRetries.from_values(num_attempts=1, hosts=names),
    st.lists(st.sampled_from(HOST_NAMES), max_size=2),
)
specs = st.builds(
    lambda demands, image, group, zone, uuid, near, where, question, retry: a_request_spec(
        flavor=a_flavor(extra_specs=demands),
        image=image,
        instance_group=group,
        availability_zone=zone,
        instance_uuid=uuid,
        scheduler_hints={**near, **where, **question},
        retry=retry,
    ),
    extra_specs,
    st.none()
    | st.builds(
        lambda found, uuid: an_image(properties=found, id=uuid),
        properties,
        st.sampled_from([IMAGE, INSTANCES[0]]),
    ),
    groups,
    st.sampled_from([None, "nova", "north", "south"]),
    st.sampled_from(INSTANCES),
    hints,
    networks,
    questions,
    retries,
)
metadata = st.dictionaries(
    st.sampled_from(
        [
            "availability_zone",
            "ram_weight_multiplier",
            "cpu_weight_multiplier",
            "max_io_ops_per_host",
            "max_instances_per_host",
            "instance_type",
            "filter_tenant_id",
            "filter_tenant_id2",
            "colour",
            "hypervisor_type",
            "hw_architecture",
        ]
    ),
    st.sampled_from(["north", "north, south", "2.5", "-1", "", "4", "p1", "m1.small,x", "x86_64"]),
)
aggregates = st.lists(
    st.builds(
        lambda names, values: an_aggregate(hosts=names, metadata=values),
        st.lists(st.sampled_from(HOST_NAMES), unique=True),
        metadata,
    ),
    max_size=3,
)


@st.composite
def tables(draw: Any) -> HostTable:
    """Return a fleet in which each instance is on one host, some of them chosen just now."""
    fleet = draw(fleets)
    for uuid, index in draw(homes).items():
        if index < len(fleet):
            fleet[index].values.setdefault("instance_uuids", []).append(uuid)
    table = a_table(fleet, facts=some_facts(draw(aggregates)))
    if fleet:
        for position in draw(st.lists(st.integers(0, len(fleet) - 1), max_size=2)):
            table.consume(position, INSTANCES[-1])
    return table


def registered(namespace: str) -> list[Any]:
    manager: Any = stevedore.ExtensionManager(namespace)
    return sorted((extension.plugin for extension in manager), key=lambda each: each.__name__)


@pytest.mark.parametrize("each", registered(filters.NAMESPACE), ids=lambda each: each.__name__)
@given(table=tables(), spec=specs)
def test_a_filter_answers_for_all_what_it_answers_for_each(
    each: type[BaseHostFilter], table: HostTable, spec: RequestSpec
) -> None:
    """And one of ours can explain each no."""
    conf = scheduling_conf(
        filter_scheduler__max_instances_per_host=3,
        filter_scheduler__isolated_hosts=["host1"],
        filter_scheduler__isolated_images=[IMAGE],
    )
    chosen = each(conf)
    answers = [filters.passes(chosen, host, spec) for host in table]
    assert filters.mask_of(chosen, table, spec).tolist() == answers
    for host, passed in zip(table, answers, strict=True):
        if not passed and each.__module__.startswith("scheduler."):
            assert filters.explain(chosen, host, spec)


@pytest.mark.parametrize("each", registered(weights.NAMESPACE), ids=lambda each: each.__name__)
@given(table=tables(), spec=specs)
def test_a_weigher_answers_for_all_what_it_answers_for_each(
    each: type[BaseHostWeigher], table: HostTable, spec: RequestSpec
) -> None:
    """Number by number."""
    chosen = each(scheduling_conf())
    weights_of_all = np.asarray(chosen.host_weights(table, spec), dtype=np.float64)
    assert weights_of_all.tolist() == [chosen.host_weight(host, spec) for host in table]


def test_every_plugin_of_ours_is_covered() -> None:
    """The namespaces are not empty by mistake."""
    assert len(registered(filters.NAMESPACE)) >= 20
    assert len(registered(weights.NAMESPACE)) >= 5
