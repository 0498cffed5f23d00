"""PciPassthroughFilter passes hosts that have all the devices asked for."""

from typing import Any

import numpy as np
import pytest

from objects.allocations.allocation_candidates import AllocationCandidates
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.filters.pci_passthrough_filter import PciPassthroughFilter
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.host_table import HostTable
from scheduler.hosts.usage import TreeUsage
from tests.fixtures.fleets.numa_fleets import GPU, a_pci_request, a_pool
from tests.fleets import a_request_spec, scheduling_conf


@pytest.fixture
def filter_() -> PciPassthroughFilter:
    return PciPassthroughFilter(scheduling_conf())


def asking(*requests: Any) -> RequestSpec:
    return a_request_spec(pci_requests=[each.to_plain() for each in requests])


HOSTS: list[dict[str, Any]] = [
    {},
    {"pci_stats": []},
    {"pci_stats": [a_pool()]},
    {"pci_stats": [a_pool(count=1), a_pool(numa_node=1), a_pool(GPU)]},
]


@pytest.mark.parametrize(
    ("requests", "passed"),
    [
        ([], [True] * 4),
        ([a_pci_request(count=2)], [False, False, True, True]),
        ([a_pci_request(count=3)], [False, False, False, True]),
        ([a_pci_request(), a_pci_request(GPU, count=2)], [False, False, False, True]),
        ([a_pci_request(GPU, count=3)], [False] * 4),
        ([a_pci_request(policy="required")], [False, False, True, True]),
    ],
    ids=["none", "two", "three", "kinds", "many", "near"],
)
def test_hosts_pass_that_have_all_devices(
    filter_: PciPassthroughFilter, requests: list[Any], passed: list[bool]
) -> None:
    """Wherever these are; where nothing is asked for, all do."""
    mask = filters.mask_of(filter_, HostTable.from_values(HOSTS), asking(*requests))
    assert mask.tolist() == passed


def test_a_reason_says_what_is_missing(filter_: PciPassthroughFilter) -> None:
    """By alias and number."""
    hosts = HostTable.from_values(HOSTS)
    spec = asking(a_pci_request(count=3))
    assert filter_.explain(hosts[1], spec) == "has no free PCI devices"
    assert filter_.explain(hosts[2], spec) == "has 2 free devices of nic; 3 are needed"


def hosts_with_devices_in_placement() -> HostLedger:
    """Return host1 with a device of each kind, host2 with a GPU; placement offers any device."""
    candidates = AllocationCandidates.from_values(
        provider_uuids=["host1", "host1", "host2"],
        resource_classes=["MEMORY_MB", "CUSTOM_DEVICE"],
        amounts=np.array([100, 1]),
        total=np.array([[1000, 1]] * 3),
        reserved=np.zeros((3, 2), np.int64),
        used=np.array([[0, 0]] * 3),
        ratio=np.ones((3, 2)),
        templates=[[{"MEMORY_MB": 100}, {"CUSTOM_DEVICE": 1}]],
        template_of=np.zeros(3, np.int64),
        slots=np.array([0, 1, 0, 2, 3, 4]),
        slot_uuids=["host1", "gpu1", "nic1", "host2", "gpu2"],
    )
    hosts = HostTable.from_values(
        [
            {"pci_stats": [a_pool(GPU, rp_uuid="gpu1"), a_pool(rp_uuid="nic1")]},
            {"pci_stats": [a_pool(GPU, rp_uuid="gpu2"), a_pool()]},
        ]
    )
    return HostLedger(hosts, TreeUsage(candidates, [[0, 1], [2]], candidates.request_builder()))


def test_candidates_with_other_devices_are_withdrawn(filter_: PciPassthroughFilter) -> None:
    """The host stands for one that is left; devices placement knows nothing of serve anyway."""
    ledger = hosts_with_devices_in_placement()
    assert filters.eligible_mask(filter_, ledger, asking(a_pci_request())).tolist() == [True, True]
    assert [ledger.candidate_at(0), ledger.candidate_at(1)] == [1, 2]


def test_a_host_without_a_candidate_left_does_not_pass(filter_: PciPassthroughFilter) -> None:
    """As one, or among all; and says why."""
    ledger = hosts_with_devices_in_placement()
    spec = asking(a_pci_request(count=2))
    assert filters.eligible_mask(filter_, ledger, spec).tolist() == [False, True]
    assert not filters.is_eligible(filter_, ledger, 0, spec)
    assert filters.explain(filter_, ledger.hosts[0], spec) == (
        "the devices that placement offers do not match the request"
    )
