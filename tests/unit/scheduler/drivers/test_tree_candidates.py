"""The filter scheduler with hosts that placement offers in several ways: devices of their own."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from armillary import exception
from armillary.context import admin_context
from objects.allocations.allocation import AllocationClaim, ClaimResult, ClaimStatus
from objects.allocations.allocation_candidates import AllocationCandidates
from objects.allocations.resource_query import ResourceQuery
from objects.destinations import Destinations
from tests.builders import a_uuid
from tests.fleets import Host, a_driver, a_request_spec, some_hosts

DEVICES = 2


class DevicePlacement:
    """Every host has devices; a candidate is a host with one of them. A device serves once."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        self.hosts = [host.uuid for host in hosts]
        self.devices = {uuid: [a_uuid() for _ in range(DEVICES)] for uuid in self.hosts}
        self.taken: dict[str, str] = {}  # device -> consumer
        self.claims: list[list[str]] = []

    def device(self, host: int, number: int) -> str:
        return self.devices[self.hosts[host]][number]

    def get_allocation_candidates(
        self, context: object, query: ResourceQuery
    ) -> AllocationCandidates:
        uuids = [uuid for host in self.hosts for uuid in (host, *self.devices[host])]
        rows = [(uuids.index(host), uuids.index(device))
                for host in self.hosts for device in self.devices[host]]  # fmt: skip
        shape = (len(rows), 2)
        return AllocationCandidates.from_values(
            provider_uuids=[uuids[host] for host, _ in rows],
            resource_classes=["VCPU", "VGPU"],
            amounts=np.array([1, 1]),
            total=np.full(shape, (8, 1)),
            reserved=np.zeros(shape, np.int64),
            used=np.zeros(shape, np.int64),
            ratio=np.ones(shape),
            providers_total=len(self.hosts),
            templates=[[{"VCPU": 1}, {"VGPU": 1}]],
            template_of=np.zeros(len(rows), np.int64),
            slots=np.array(rows).ravel(),
            slot_uuids=uuids,
        )

    def claim(self, context: object, claims: Sequence[AllocationClaim]) -> list[ClaimResult]:
        self.claims.append([device_of(claim.allocations) for claim in claims])
        return [self._claim(claim) for claim in claims]

    def release(self, context: object, consumers: Mapping[str, int]) -> None:
        self.taken = {key: uuid for key, uuid in self.taken.items() if uuid not in consumers}

    def _claim(self, claim: AllocationClaim) -> ClaimResult:
        device = device_of(claim.allocations)
        is_free = device not in self.taken
        if is_free:
            self.taken[device] = claim.consumer_uuid
        return ClaimResult(
            consumer_uuid=claim.consumer_uuid,
            status=ClaimStatus.CLAIMED if is_free else ClaimStatus.NO_CAPACITY,
        )


def device_of(allocations: Mapping[str, Any]) -> str:
    (device,) = [uuid for uuid, taken in allocations.items() if "VGPU" in taken["resources"]]
    return device


def select(hosts: Sequence[Host], placement: DevicePlacement, instances: int = 1) -> Destinations:
    driver = a_driver(hosts, placement=placement)  # type: ignore[arg-type]
    return driver.select_destinations(
        admin_context(),
        a_request_spec(),
        [a_uuid() for _ in range(instances)],
        fences=[1] * instances,
        return_alternates=True,
        dry_run=False,
    )


def test_the_first_way_of_the_best_host_is_claimed() -> None:
    """With the host and the device in one allocation request, and so are the alternates."""
    hosts = some_hosts(2)
    placement = DevicePlacement(hosts)
    found = select(hosts, placement)
    (selection, alternate) = found.hosts
    host = selection.compute_node_uuid
    assert selection.allocation_request == {
        host: {"resources": {"VCPU": 1}},
        placement.devices[host][0]: {"resources": {"VGPU": 1}},
    }
    assert set(alternate.allocation_request) == {
        alternate.compute_node_uuid,
        placement.devices[alternate.compute_node_uuid][0],
    }


def test_a_refused_way_is_followed_by_the_next_on_the_same_host() -> None:
    """Other hosts are for the time when it has none left."""
    hosts = some_hosts(1)
    placement = DevicePlacement(hosts)
    placement.taken[placement.device(0, 0)] = "somebody"
    found = select(hosts, placement)
    assert device_of(found.hosts[0].allocation_request) == placement.device(0, 1)
    assert placement.claims == [[placement.device(0, 0)], [placement.device(0, 1)]]


def test_a_host_whose_ways_are_all_refused_is_out() -> None:
    """The next host is taken."""
    hosts = some_hosts(2)
    placement = DevicePlacement(hosts)
    best = select(hosts, DevicePlacement(hosts)).hosts[0].compute_node_uuid
    placement.taken.update(dict.fromkeys(placement.devices[best], "somebody"))
    found = select(hosts, placement)
    assert found.hosts[0].compute_node_uuid != best
    assert len(placement.claims) == DEVICES + 1


def test_instances_of_one_request_take_different_ways_without_a_refusal() -> None:
    """The scheduler knows what it has used up itself."""
    hosts = some_hosts(2)
    placement = DevicePlacement(hosts)
    found = select(hosts, placement, instances=2 * DEVICES)
    devices = [device_of(found.hosts[row[0]].allocation_request) for row in found.choices]
    assert sorted(devices) == sorted(placement.taken)
    assert len(placement.claims) == 1


def test_one_instance_more_than_there_are_ways_finds_no_host() -> None:
    """And what the others had claimed is given back."""
    hosts = some_hosts(2)
    placement = DevicePlacement(hosts)
    with pytest.raises(exception.NoValidHost, match="4 of 5 instances"):
        select(hosts, placement, instances=2 * DEVICES + 1)
    assert placement.taken == {}


def test_candidates_that_are_not_known_hosts_are_counted_as_hosts() -> None:
    """A host with many candidates is one in the trace."""
    hosts = some_hosts(3)
    found = select(hosts[:2], DevicePlacement(hosts))
    assert (found.trace.candidates, found.trace.unknown) == (3, 1)
