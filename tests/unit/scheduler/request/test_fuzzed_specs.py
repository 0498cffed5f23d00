"""Odd hints and extra specs, as a flavor of an older release or another client may have them."""

import json
from typing import Any

from hypothesis import strategies as st

from armillary import exception
from scheduler.filters.aggregates.aggregate_instance_extra_specs_filter import (
    AggregateInstanceExtraSpecsFilter,
)
from scheduler.filters.compute_capabilities_filter import ComputeCapabilitiesFilter
from scheduler.filters.json_filter import JsonFilter
from scheduler.filters.numa_topology_filter import NUMATopologyFilter
from scheduler.request import resource_query
from tests.fixtures.checks.fuzzing import ODD, fuzzed
from tests.fleets import a_request_spec, a_table, scheduling_conf, some_hosts

TABLE = a_table(some_hosts(3))
FILTERS = [
    kind(scheduling_conf())
    for kind in (
        AggregateInstanceExtraSpecsFilter, ComputeCapabilitiesFilter, JsonFilter,
        NUMATopologyFilter,
    )
]  # fmt: skip
NAMES = st.sampled_from(
    [
        "hw:cpu_policy", "hw:cpu_thread_policy", "hw:numa_nodes", "hw:numa_cpus.0", "hw:numa_mem.0",
        "hw:mem_page_size", "hw:cpu_realtime_mask", "hw:pci_numa_affinity_policy", "group_policy",
        "resources:VCPU", "resources1:VGPU", "resources_NIC:SRIOV_NET_VF", "trait:HW_CPU_X86_AVX",
        "trait1:CUSTOM_A", "capabilities:free_ram_mb", "capabilities:stats:a", "same_subtree",
        "aggregate_instance_extra_specs:ssd", "ssd", "accel:device_profile",
        "pci_passthrough:alias",
    ]
) | st.text(max_size=12)  # fmt: skip
VALUES = st.sampled_from(
    [
        "1", "0", "-1", "9" * 400, "1e999", "nan", "0-9999999999", "^0-3", "0,0,1-", "dedicated",
        "mixed", "2MB", "99999999GB", "large", "any", "required", "forbidden", "isolate", "none",
        "<in> a", "<or> a <or>", "<or> ", "<all-in>", "s== ", ">= 4", ">= x", "= 1 2", "=" * 300,
        "a:1", "a:" + "9" * 30, "_A,_B", ",", "\x00", "\ud800",
    ]
) | st.text(max_size=20)  # fmt: skip
QUERIES = st.recursive(
    ODD | st.sampled_from(["=", "<", "in", "and", "or", "not", "$free_ram_mb", "$stats.a", "$"]),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=12,
)


@fuzzed(st.tuples(st.dictionaries(NAMES, VALUES, max_size=4), QUERIES | st.text(max_size=20)))
def test_odd_hints_and_specs_are_decided_or_refused(value: Any) -> None:
    """A query is made, and each filter answers for each host, by both of its forms alike."""
    extra_specs, query = value
    text = query if isinstance(query, str) else json.dumps(query)
    try:
        spec = a_request_spec(extra_specs, scheduler_hints={"query": [text]})
        resource_query.build(spec, limit=10)
    except exception.ArmillaryError:
        return
    for each in FILTERS:
        try:
            mask = each.host_mask(TABLE, spec)
        except exception.Invalid:
            continue
        assert [each.host_passes(host, spec) for host in TABLE] == mask.tolist()
