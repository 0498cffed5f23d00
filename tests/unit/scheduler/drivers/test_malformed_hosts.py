"""Decisions beside a host that reports something in another shape than agreed."""

from collections.abc import Sequence
from typing import Any

import pytest

from armillary.context import admin_context
from objects.hosts.host_attributes import HOST_ATTRIBUTES, Collector, Kind
from objects.request_spec import RequestSpec
from scheduler.drivers.filter_scheduler import FilterScheduler
from tests.builders import a_uuid, an_image
from tests.fixtures.fleets.numa_fleets import a_guest, a_host_topology, a_pci_request, a_pool
from tests.fleets import ArrayPlacement, a_driver, a_host, a_request_spec, scheduling_conf

SOUND: dict[str, Any] = {
    "supported_instances": [["x86_64", "kvm", "hvm"]],
    "numa_topology": a_host_topology().to_plain(),
    "pci_stats": [a_pool()],
    "hypervisor_version": 1_002_003,
    "stats": {"io_workload": 0},
}
IMAGE = an_image(
    properties={"hw_architecture": "x86_64", "img_hv_requested_version": ">1", "os_type": "linux"}
)
SPECS = {
    "anything": a_request_spec(),
    "image": a_request_spec(image=IMAGE),
    "cells": a_request_spec(numa_topology=a_guest(pinned=1).to_plain()),
    "devices": a_request_spec(pci_requests=[a_pci_request().to_plain()]),
    "capabilities": a_request_spec({"capabilities:stats:io_workload": "<= 9"}),
}
HUGE = 10**400
ODD: list[Any] = [
    5, HUGE, "x", True, [5], [[5]], ["x"], [None], [{}], {"x": "y"}, {"x": HUGE}, {"x": None},
    [{"count": "x"}], [{"count": HUGE}], [{"count": float("nan")}], [{"count": -9}],
    [{**a_pool(), "numa_node": []}], [{**a_pool(), "tags": 5}], {"cells": [{"id": float("inf")}]},
    {"cells": [{"id": HUGE, "memory_mb": HUGE}]}, {"num_proj_p1": HUGE}, {"io_workload": HUGE},
    [{"name": "cpu.percent", "value": HUGE}],
]  # fmt: skip
NAMES = [
    attribute.name
    for attribute in HOST_ATTRIBUTES
    if attribute.kind in (Kind.JSON, Kind.TEXT) and attribute.collector is not Collector.CELL
]
FILTERS = [
    "ComputeFilter", "ComputeCapabilitiesFilter", "ImagePropertiesFilter", "NUMATopologyFilter",
    "PciPassthroughFilter", "TypeAffinityFilter", "MetricsFilter",
]  # fmt: skip


def a_driver_of(name: str, values: Sequence[Any]) -> FilterScheduler:
    """Return a driver of hosts that report these, and of one that is as the others should be."""
    odd = [a_host(f"odd{n}", **{**SOUND, name: value}) for n, value in enumerate(values)]
    hosts = [*odd, a_host("sound", **SOUND)]
    conf = scheduling_conf(
        filter_scheduler__enabled_filters=FILTERS,
        filter_scheduler__project_spread_weight_multiplier=1.0,
        filter_scheduler__image_props_weight_multiplier=1.0,
    )
    return a_driver(hosts, placement=ArrayPlacement(hosts), conf=conf)


def hosts_for(driver: FilterScheduler, spec: RequestSpec) -> list[str]:
    """Return the hosts for two servers: the second is placed with the first in mind."""
    found = driver.select_destinations(
        admin_context("req-1"), spec, [a_uuid(), a_uuid()],
        fences=[1, 1], return_alternates=True, dry_run=True,
    )  # fmt: skip
    return [row[0].service_host for row in found.selections()]


@pytest.mark.parametrize("name", NAMES)
def test_each_request_gets_a_host(name: str) -> None:
    driver = a_driver_of(name, ODD)
    assert [len(hosts_for(driver, spec)) for spec in SPECS.values()] == [2] * len(SPECS)


def test_what_is_well_formed_is_read() -> None:
    """The sound values count: without them, no host would fit."""
    driver = a_driver_of("supported_instances", [[["aarch64", "kvm", "hvm"]], 5, ["x"]])
    assert hosts_for(driver, SPECS["image"]) == ["sound"] * 2
