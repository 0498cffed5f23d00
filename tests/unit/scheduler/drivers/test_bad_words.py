"""Whatever users and operators write, a request ends with hosts or with an error that is expected.

Flavors, images, hints and aggregates may have been stored before there was a check, so the
scheduler meets what the API refuses today. All filters, weighers and request filters are enabled.
"""

import json
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Any

import os_traits
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oslo_config import cfg

from armillary import exception
from armillary.context import admin_context
from objects.aggregate import Aggregate
from objects.allocations.allocation_candidates import AllocationCandidates
from objects.allocations.resource_query import ResourceQuery
from objects.destinations import Destinations
from objects.request_spec import Destination, RequestSpec
from placement.engine import PlacementEngine
from scheduler import request_filters
from scheduler.drivers.base import SchedulerDriver
from scheduler.request import resource_query
from tests.builders import a_flavor, a_uuid, an_aggregate, an_image
from tests.fixtures.placement import engines, placement_template
from tests.fixtures.plugins.examples import examples
from tests.fixtures.plugins.sampling import sample
from tests.fleets import (
    a_driver,
    a_fleet,
    a_host,
    a_request_spec,
    scheduling_conf,
    some_cluster_metadata,
)

__all__ = ["placement_template"]

HOSTS = [
    a_host("host1"),
    a_host("host2", host_ip="192.0.2.7", stats={"colour": "red"}),
    a_host("HOST2", cpu_info=json.dumps({"features": ["avx"]}), metrics=[{"name": "x"}]),
]
UUIDS = [a_uuid() for _ in range(3)]
TRAITS = {*os_traits.get_traits(), "CUSTOM_A"} - {os_traits.COMPUTE_STATUS_DISABLED}
STRICT = {"ExactCoreFilter", "ExactDiskFilter", "ExactRamFilter", "MetricsFilter",
          "AggregateInstanceExtraSpecsFilter", "IsolatedHostsFilter"}  # fmt: skip
"""Filters that few requests pass; behind them nothing else would be tried."""

KEYS = [
    "resources:VCPU", "resources:PCPU", "resources:CUSTOM_X", "resources:", "resources1:VCPU",
    "resources_A:CUSTOM_X", "resources_B:VGPU", "resources_a.b:VCPU", "trait:HW_CPU_X86_AVX",
    "trait:CUSTOM_A", "trait_A:CUSTOM_A", "trait1:", "group_policy", "same_subtree", "hw:pmem",
    "hw:cpu_policy", "hw:cpu_thread_policy", "hw:cpu_dedicated_mask", "hw:numa_nodes",
    "hw:numa_cpus.0", "hw:numa_cpus.x", "hw:numa_mem.0", "hw:mem_page_size",
    "hw:emulator_threads_policy", "hw:pci_numa_affinity_policy", "hw:tpm_version", "hw:tpm_model",
    "hw:tpm_secret_security", "hw:mem_encryption", "hw:mem_encryption_model",
    "hw:ephemeral_encryption", "hw:ephemeral_encryption_format", "hw:maxphysaddr_mode",
    "hw:maxphysaddr_bits", "hw:virtio_packed_ring", "hw:sound_model", "os:secure_boot",
    "accel:device_profile", "pci_passthrough:alias", "trust:trusted_host", "capabilities:stats",
    "capabilities:cpu_info:features", "capabilities:", "capabilities:free_ram_mb", "free_ram_mb",
    "aggregate_instance_extra_specs:ssd", "ssd", "colour",
]  # fmt: skip
PROPERTIES = [
    "traits_required", "trait:CUSTOM_A", "hw_architecture", "img_hv_type", "hw_vm_mode",
    "img_hv_requested_version", "hw_maxphysaddr_bits", "hw_disk_bus", "hw_cpu_policy",
    "hw_numa_nodes", "hw_mem_page_size", "hw_firmware_stateless", "hw_tpm_version",
    "os_secure_boot", "hw_mem_encryption", "os_distro",
]  # fmt: skip
HINTS = [
    "group", "same_host", "different_host", "query", "build_near_host_ip", "cidr", "target_cell",
]  # fmt: skip
METADATA = [
    "availability_zone", "filter_tenant_id", "filter_tenant_id2", "routed_network", "ssd",
    "trait:CUSTOM_A", "trait:", "instance_type", "max_instances_per_host", "max_io_ops_per_host",
    "ram_weight_multiplier", "cpu_weight_multiplier", "metrics_weight_multiplier",
    "cpu_allocation_ratio", "ram_allocation_ratio", "disk_allocation_ratio", "hw_architecture",
]  # fmt: skip
WORDS = [
    "", " ", "0", "1", "2", "-1", "1.5", "9" * 30, "nan", "inf", "1e400", "true", "required",
    "forbidden", "dedicated", "shared", "mixed", "isolate", "require", "large", "any", "2MB", "0-1",
    "^0", "1-0", "_A,_B", "_A;_B", ",", ">= 1", ">=", "<or>", "<or> a <or> b", "<in>", "<all-in> a",
    "s== x", "= nan", "p1", "p1,p2", "nova", "north", "192.0.2.1", "::1", "/24", "/999", "host1",
    "gpu:1", "gpu:x", ">=6.0, <7", "x86_64", "amd-sev", "tpm-crb", "2.0", "{", "[]", "null",
    '["=", "$free_ram_mb"]', '[">", "$stats.colour", 1]', "[" * 1000, "\x00", "é" * 50, *UUIDS[:2],
]  # fmt: skip

words = st.sampled_from(WORDS) | st.text(max_size=20)


def some(keys: list[str]) -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(st.sampled_from(keys) | st.text(max_size=12), words, max_size=4)


def seldom(*values: Any, otherwise: Any = None) -> st.SearchStrategy[Any]:
    """Draw one of the values in one of eight examples: each of them would end most requests."""
    return st.integers(1, 8).flatmap(
        lambda rng: st.sampled_from(values) if rng == 1 else st.just(otherwise)
    )


hints = st.dictionaries(
    st.sampled_from(HINTS) | st.text(max_size=12), words | st.lists(words, max_size=2), max_size=3
)
aggregates = st.lists(
    st.builds(
        lambda hosts, metadata: an_aggregate(hosts=hosts, metadata=metadata),
        st.lists(st.sampled_from([host.name for host in HOSTS]), unique=True),
        some(METADATA),
    ),
    max_size=2,
)
specs = st.builds(
    lambda flavor, image, hinted, zone, forced, target, networks, retries: a_request_spec(
        flavor=flavor,
        image=image,
        scheduler_hints=hinted,
        availability_zone=zone,
        force_hosts=forced,
        requested_destination=target,
        requested_networks=[{"network": each, "remote_managed": True} for each in networks],
        ignore_hosts=retries,
    ),
    st.builds(
        lambda vcpus, extra_specs: a_flavor(vcpus=vcpus, extra_specs=extra_specs),
        st.integers(1, 2),
        some(KEYS),
    ),
    st.none() | st.builds(lambda properties: an_image(properties=properties), some(PROPERTIES)),
    hints,
    seldom("nova", "north", ""),
    seldom(["host1"], ["host2"], ["nobody"], otherwise=[]),
    seldom(*(Destination.from_values(host=name) for name in ("host1", "nobody", "\x00"))),
    seldom(UUIDS[:1], UUIDS, otherwise=[]),
    seldom(["host1"], ["\x00"], otherwise=[]),
)


class Placement:
    """The engine with a provider for each host; nothing is claimed."""

    def __init__(self, engine: PlacementEngine) -> None:
        self.engine = engine
        inventories = {
            name: {"total": 64000}
            for name in ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB", "VGPU", "MEM_ENCRYPTION_CONTEXT")
        }
        for host in HOSTS:
            report = {"uuid": host.uuid, "name": host.uuid, "inventories": inventories}
            engine.providers.set_providers([{**report, "traits": sorted(TRAITS)}])

    def get_allocation_candidates(
        self, context: object, query: ResourceQuery
    ) -> AllocationCandidates:
        wire = ResourceQuery.obj_from_primitive(query.obj_to_primitive())
        return self.engine.get_candidates(wire)

    def explain_candidates(self, context: object, query: ResourceQuery) -> Any:
        return self.engine.explain(query)


@pytest.fixture(scope="module")
def placement(placement_template: Any) -> Iterator[Placement]:
    with engines(f"sqlite:///{placement_template}") as make:
        yield Placement(make())


@pytest.fixture(scope="module", params=["all", "lenient"])
def conf(request: pytest.FixtureRequest) -> cfg.ConfigOpts:
    def names(group: str) -> list[str]:
        known = {each.name for each in entry_points(group=f"armillary.scheduler.{group}")}
        return sorted(known - STRICT if request.param == "lenient" else known)

    return conf_with(
        filter_scheduler__enabled_filters=names("filters"),
        filter_scheduler__weight_classes=names("weighers"),
    )


def conf_with(**options: Any) -> cfg.ConfigOpts:
    """Return a configuration in which all request filters work."""
    return scheduling_conf(
        **options,
        filter_scheduler__pci_in_placement=True,
        scheduler__query_placement_for_image_type_support=True,
        scheduler__query_placement_for_routed_network_aggregates=True,
        scheduler__enable_isolated_aggregate_filtering=True,
        scheduler__image_metadata_prefilter=True,
        scheduler__limit_tenants_to_placement_aggregate=True,
    )


@pytest.mark.parametrize("source", ["flavor", "image"])
def test_each_word_of_each_key_makes_a_question_or_a_refusal(source: str) -> None:
    """One by one, what the random requests below combine."""
    known = request_filters.load_request_filters(conf_with())
    for key in KEYS if source == "flavor" else PROPERTIES:
        for word in sample(WORDS, 3, key):
            texts = {"resources_A:VGPU": "1", "hw:tpm_version": "2.0", key: word}
            spec = a_request_spec(
                texts if source == "flavor" else None,
                image=an_image(properties={key: word}) if source == "image" else None,
            )
            try:
                request_filters.apply_all(known, spec, some_cluster_metadata())
                queries = resource_query.build_both(spec, limit=0, has_devices=True)
            except exception.RequestFilterFailed:
                continue
            assert queries[0].groups, (key, word)


@given(specs, aggregates)
@example(a_request_spec({"resources1:VGPU": "1", "group_policy": "isolate"}), [])
@settings(max_examples=examples(100))
def test_a_request_ends_with_hosts_or_with_an_expected_error(
    placement: Placement, conf: cfg.ConfigOpts, spec: RequestSpec, found: list[Aggregate]
) -> None:
    """And no plugin broke on the way."""
    fleet = a_fleet(HOSTS, conf=conf, cluster_metadata=some_cluster_metadata(found))
    driver = a_driver(HOSTS, placement=placement, fleet=fleet, conf=conf)  # type: ignore[arg-type]
    answer = outcome(driver, spec)
    assert isinstance(answer, Destinations) or " is broken" not in answer


def outcome(driver: SchedulerDriver, spec: RequestSpec) -> Destinations | str:
    try:
        return driver.select_destinations(
            admin_context("req-1"),
            spec,
            UUIDS[:2],
            fences=[1, 1],
            return_alternates=True,
            dry_run=True,
        )
    except exception.NoValidHost as error:
        return error.message
