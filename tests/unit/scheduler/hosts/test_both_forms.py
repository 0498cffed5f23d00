"""For every registered filter and weigher, the answer for all hosts is that for each of them."""

import json
from collections import defaultdict
from typing import Any

import numpy as np
import stevedore
from hypothesis import example, given, settings
from hypothesis import strategies as st

from objects.request_spec import Destination, RequestSpec, SchedulerRetries
from scheduler import filters, weights
from scheduler.filters import BaseHostFilter
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.host_table import HostTable
from scheduler.weights import BaseHostWeigher
from tests.builders import a_flavor, an_aggregate, an_image
from tests.fixtures.fleets import numa_fleets
from tests.fixtures.plugins.examples import examples
from tests.fleets import (
    CELL,
    OTHER_CELL,
    Host,
    a_group,
    a_host,
    a_request_spec,
    a_table,
    scheduling_conf,
    some_cluster_metadata,
)

EXAMPLES = 120
"""Fleets and requests that all plugins are asked about; making these takes most of the time."""
ROUNDS_MAX = 7
"""Maximum number of rounds, as long as some possible answer has not come up by chance."""

INSTANCES = [f"00000000-0000-0000-0000-{number:012}" for number in range(6)]
CHOSEN = "00000000-0000-0000-0000-000000000009"
IMAGE = "00000000-0000-0000-0001-000000000000"
HOST_NAMES = ["host1", "host2", "host3"]
NODE_NAMES = ["node1", "node2"]
SMALL = st.integers(-2, 60)
FEW = st.integers(-1, 4)
DISK_MB = st.sampled_from([-5, 0, 1024, 2048, 2560])
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
FLAVORS = st.sampled_from([None, {}, {"id-small": 2}, {"id-small": 1, "id-other": 0}, {"x": 1}])
IMAGES = st.sampled_from(
    [None, {}, {"hw_architecture=x86_64": 2}, {"img_hv_type=kvm": 1, "hw_vm_mode=hvm": 3}]
)
SPREAD_POLICIES = ["spread", "soft-spread"]
POLICIES = ["affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity", *SPREAD_POLICIES]
METRICS = st.sampled_from(
    [
        [],
        [{"name": "cpu.percent", "value": 0.29}],
        [{"name": "cpu.percent", "value": None}, "no metric"],
        [{"name": "cpu.frequency", "value": 800}, {"name": "cpu.percent", "value": 1}],
    ]
)

hosts = st.fixed_dictionaries(
    {
        "vcpus_total": FEW,
        "vcpus_used": FEW,
        "total_usable_ram_mb": FEW,
        "free_ram_mb": FEW,
        "total_usable_disk_gb": FEW,
        "free_disk_mb": DISK_MB,
        "cpu_allocation_ratio": RATIOS,
        "ram_allocation_ratio": RATIOS,
        "disk_allocation_ratio": RATIOS,
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
        "instance_flavors": FLAVORS,
        "instance_image_properties": IMAGES,
        "cached_images": st.sampled_from([None, [], [IMAGE], [IMAGE, INSTANCES[0]]]),
        "metrics": METRICS,
        "host_ip": st.sampled_from(["", "10.0.0.1", "10.0.1.1", "no address"]),
    }
)
fleets = st.lists(
    st.builds(
        lambda name, node, cell, values, more: Host(
            name=name, node=node, cell=cell, values={**values, **more}
        ),
        st.sampled_from(HOST_NAMES),
        st.sampled_from(NODE_NAMES),
        st.sampled_from([CELL, OTHER_CELL]),
        hosts,
        numa_fleets.host_values,
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
trust = st.dictionaries(
    st.just("trust:trusted_host"), st.sampled_from(["unknown", "trusted"]), max_size=1
)
flavors = st.builds(
    lambda demands, level, amounts: a_flavor(extra_specs={**demands, **level}, **amounts),
    extra_specs,
    trust,
    st.fixed_dictionaries(
        {
            "vcpus": st.integers(0, 2),
            "memory_mb": st.integers(0, 3),
            "root_gb": st.integers(0, 2),
            "swap_mb": st.sampled_from([0, 512]),
        }
    ),
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
images = st.builds(
    lambda found, uuid: an_image(properties=found, id=uuid) if uuid else None,
    properties,
    st.sampled_from([IMAGE, INSTANCES[0], None]),
)
groups = st.builds(
    lambda policy, members, names, limit: (
        a_group(policy, members=members, hosts=names, rules={"max_server_per_host": str(limit)})
        if policy
        else None
    ),
    st.sampled_from([*POLICIES, None]),
    st.lists(st.sampled_from(INSTANCES), unique=True, min_size=2),
    st.sampled_from([["host1"], ["host2", "host3"], []]),
    st.integers(1, 2),
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
    lambda tried: SchedulerRetries.from_values(num_attempts=1, hosts=tried),
    st.lists(
        st.tuples(st.sampled_from(HOST_NAMES), st.sampled_from(NODE_NAMES)).map(list), max_size=2
    ),
)
destinations = st.builds(
    lambda cell, may_leave: Destination.from_values(
        cell_uuid=cell, allow_cross_cell_move=may_leave
    ),
    st.sampled_from([CELL, OTHER_CELL, None]),
    st.booleans(),
)
specs = st.builds(
    lambda words, cells_and_devices, **values: a_request_spec(
        scheduler_hints={key: value for hint in words for key, value in hint.items()},
        **cells_and_devices,
        **values,
    ),
    words=st.tuples(hints, networks, questions),
    cells_and_devices=numa_fleets.spec_values,
    flavor=flavors,
    image=images,
    instance_group=groups,
    availability_zone=st.sampled_from([None, "nova", "north", "south"]),
    instance_uuid=st.sampled_from(INSTANCES),
    retry=retries,
    requested_destination=destinations,
)
metadata = st.dictionaries(
    st.sampled_from(
        [
            "availability_zone",
            "ram_weight_multiplier",
            "cpu_weight_multiplier",
            "metrics_weight_multiplier",
            "ram_allocation_ratio",
            "cpu_allocation_ratio",
            "disk_allocation_ratio",
            "max_io_ops_per_host",
            "max_instances_per_host",
            "instance_type",
            "filter_tenant_id",
            "filter_tenant_id2",
            "colour",
            "hypervisor_type",
        ]
    ),
    st.sampled_from(["north, south", "2.5", "x86_64", "-1", "", "4", "p1", "m1.small,x"]),
)
images_only = st.dictionaries(
    st.sampled_from(["hw_architecture", "hw_vm_mode", "img_hv_type"]),
    st.sampled_from(["x86_64, kvm", "hvm"]),
    max_size=2,
)
aggregates = st.lists(
    st.builds(
        lambda names, values, more: an_aggregate(hosts=names, metadata={**values, **more}),
        st.lists(st.sampled_from(HOST_NAMES), unique=True),
        metadata,
        images_only,
    ),
    max_size=3,
)


@st.composite
def ledgers(draw: Any) -> HostLedger:
    """Return a fleet in which each instance is on one host, some of them chosen just now."""
    fleet = draw(fleets)
    for uuid, index in draw(homes).items():
        if index < len(fleet):
            fleet[index].values.setdefault("instance_uuids", []).append(uuid)
    ledger = HostLedger(a_table(fleet, cluster_metadata=some_cluster_metadata(draw(aggregates))))
    if fleet:
        for position in draw(st.lists(st.integers(0, len(fleet) - 1), max_size=2)):
            ledger.consume(position, INSTANCES[-1])
    return ledger


def registered(namespace: str) -> list[Any]:
    manager: Any = stevedore.ExtensionManager(namespace)
    return sorted((extension.plugin for extension in manager), key=lambda each: each.__name__)


CONF = scheduling_conf(
    filter_scheduler__max_instances_per_host=3,
    filter_scheduler__isolated_hosts=["host1"],
    filter_scheduler__isolated_images=[IMAGE],
    filter_scheduler__image_props_weight_multiplier=1.0,
    filter_scheduler__image_cache_weight_multiplier=1.0,
    filter_scheduler__num_instances_weight_multiplier=1.0,
    filter_scheduler__project_spread_weight_multiplier=1.0,
    metrics__weight_setting=["cpu.percent=2"],
    metrics__required=False,
)
EVERY_FILTER: dict[str, BaseHostFilter] = {
    each.__name__: each(CONF) for each in registered(filters.NAMESPACE)
}
EVERY_WEIGHER: dict[str, BaseHostWeigher] = {
    each.__name__: each(CONF) for each in registered(weights.NAMESPACE)
}


def test_a_plugin_answers_for_all_hosts_what_it_answers_for_each() -> None:
    """A filter of ours explains each no; and none always says the same."""
    said: dict[str, set[bool]] = defaultdict(set)
    told_apart: set[str] = set()

    def check_all(examples_max: int) -> None:
        @settings(max_examples=examples_max)
        @given(ledger=ledgers(), spec=specs)
        def check(ledger: HostLedger, spec: RequestSpec) -> None:
            table = ledger.hosts
            for name, each in EVERY_FILTER.items():
                said[name] |= check_filter(each, table, spec)
            told_apart.update(
                name for name, each in EVERY_WEIGHER.items() if check_weigher(each, table, spec)
            )

        for policy in POLICIES:  # rare enough to be missed by chance
            check = example(*in_a_group(policy))(check)
        for hint in ("same_host", "different_host"):
            check = example(*with_hint(hint))(check)
        check()

    same: dict[str, set[bool]] = {}
    for round_number in range(ROUNDS_MAX):  # a longer one each time: all may begin with one seed
        check_all(examples(EXAMPLES) << round_number)
        same = {name: answers for name, answers in said.items() if len(answers) == 1}
        if len(same) == 1 and told_apart == EVERY_WEIGHER.keys():
            break
    assert same == {"AllHostsFilter": {True}}
    assert told_apart == EVERY_WEIGHER.keys()


def in_a_group(policy: str) -> tuple[HostLedger, RequestSpec]:
    """Return two hosts, a member on the first, and a request for another one with its image."""
    fleet = [
        a_host(
            instance_uuids=INSTANCES[:1],
            instance_image_properties={"hw_vm_mode=hvm": 1},
            stats={"num_proj_p1": 1},
        ),
        a_host("host2"),
    ]
    rules = {"topology_key": "rack"} if policy in SPREAD_POLICIES else {}
    group = a_group(policy, members=INSTANCES[:2], hosts=["host1"], rules=rules)
    racks = [an_aggregate(hosts=[name], metadata={"rack": name}) for name in ("host1", "host2")]
    image = an_image(properties={"hw_vm_mode": "hvm"})
    table = a_table(fleet, cluster_metadata=some_cluster_metadata(racks))
    return HostLedger(table), a_request_spec(instance_group=group, image=image)


def with_hint(name: str) -> tuple[HostLedger, RequestSpec]:
    """Return two hosts, an instance on the first, and a request that is near it, or is not."""
    fleet = [a_host(instance_uuids=INSTANCES[:1]), a_host("host2")]
    return HostLedger(a_table(fleet)), a_request_spec(scheduler_hints={name: INSTANCES[:1]})


def check_filter(each: BaseHostFilter, table: HostTable, spec: RequestSpec) -> set[bool]:
    """Return what it says about these hosts."""
    answers = [filters.passes(each, host, spec) for host in table]
    assert filters.mask_of(each, table, spec).tolist() == answers, type(each).__name__
    if type(each).__module__.startswith("scheduler."):
        for host, passed in zip(table, answers, strict=True):
            assert passed or filters.explain(each, host, spec), type(each).__name__
    return set(answers)


def check_weigher(each: BaseHostWeigher, table: HostTable, spec: RequestSpec) -> bool:
    """Return whether it tells these hosts apart."""
    answers = [each.host_weight(host, spec) for host in table]
    weights_of_all = np.asarray(each.host_weights(table, spec), dtype=np.float64)
    assert weights_of_all.tolist() == answers, type(each).__name__
    return len(set(answers)) > 1 and each.applies_to(spec) and bool(each.multipliers(table).any())


@settings(max_examples=examples(EXAMPLES // 2))
@given(ledger=ledgers(), spec=specs, rng=st.randoms(use_true_random=False))
def test_a_choice_changes_nothing_elsewhere_for_plugins_that_say_so(
    ledger: HostLedger, spec: RequestSpec, rng: Any
) -> None:
    """Also in a server group: hosts are not asked again then."""
    table = ledger.hosts
    if len(table) == 0:
        return
    every_filter = [made for made in EVERY_FILTER.values() if made.is_host_local_for(spec)]
    every_weigher = [made for made in EVERY_WEIGHER.values() if made.is_host_local_for(spec)]

    def answers() -> list[Any]:
        return [
            *(filters.mask_of(each, table, spec)[elsewhere].tolist() for each in every_filter),
            *(each.host_weights(table, spec)[elsewhere].tolist() for each in every_weigher),
        ]

    position = rng.randrange(len(table))
    elsewhere = np.array([name != table[position].host for name in table.host])
    spec.instance_uuid = CHOSEN
    if spec.instance_group is not None:
        spec.instance_group.members.append(CHOSEN)
    before = answers()
    ledger.consume(position, CHOSEN)
    if spec.instance_group is not None:
        spec.instance_group.hosts.append(table[position].host)
    assert answers() == before


def test_every_plugin_of_ours_is_covered() -> None:
    """The namespaces are not empty by mistake."""
    assert len(registered(filters.NAMESPACE)) >= 33
    assert len(registered(weights.NAMESPACE)) >= 12
