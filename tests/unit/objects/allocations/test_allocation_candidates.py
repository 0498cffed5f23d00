"""Candidates as columns: what claims each, and on the wire."""

import numpy as np

from objects.allocations.allocation_candidates import AllocationCandidates
from objects.base import ArmillaryObject
from tests.builders import a_uuid

HOST, OTHER, DISK = (a_uuid() for _ in range(3))


def plain() -> AllocationCandidates:
    """Return two hosts that each serve one vCPU alone."""
    return AllocationCandidates.from_values(
        provider_uuids=[HOST, OTHER],
        resource_classes=["VCPU", "DISK_GB"],
        amounts=np.array([1, 10]),
        total=np.array([[8, 100], [4, 50]]),
        reserved=np.array([[0, 1], [0, 2]]),
        used=np.array([[3, 0], [0, 0]]),
        ratio=np.array([[2.0, 1.0], [1.0, 1.0]]),
        providers_total=5,
    )


def mixed() -> AllocationCandidates:
    """Return a host with lent disk, another one alone, and the first one alone."""
    return plain().with_values(
        provider_uuids=[HOST, OTHER, HOST],
        total=np.array([[8, 900], [4, 50], [8, 100]]),
        reserved=np.zeros((3, 2), np.int64),
        used=np.zeros((3, 2), np.int64),
        ratio=np.ones((3, 2)),
        templates=[[{"VCPU": 1}, {"DISK_GB": 10}], [{"VCPU": 1, "DISK_GB": 10}]],
        template_of=np.array([0, 1, 1]),
        slots=np.array([0, 2, 1, 0]),
        slot_uuids=[HOST, OTHER, DISK],
    )


def received(candidates: AllocationCandidates) -> AllocationCandidates:
    made = ArmillaryObject.obj_from_primitive(candidates.obj_to_primitive())
    assert isinstance(made, AllocationCandidates)
    return made


def test_a_host_alone_is_claimed_with_all_amounts() -> None:
    """By its UUID or its index."""
    request = {OTHER: {"resources": {"VCPU": 1, "DISK_GB": 10}}}
    assert plain().allocation_request(OTHER) == request
    assert plain().request_builder()(1) == request


def test_each_candidate_is_claimed_from_its_own_providers() -> None:
    """The same host may be offered in several ways; the first one counts where it is named."""
    together = {HOST: {"resources": {"VCPU": 1}}, DISK: {"resources": {"DISK_GB": 10}}}
    request = mixed().request_builder()
    assert [request(index) for index in range(3)] == [
        together,
        {OTHER: {"resources": {"VCPU": 1, "DISK_GB": 10}}},
        {HOST: {"resources": {"VCPU": 1, "DISK_GB": 10}}},
    ]
    assert mixed().allocation_request(HOST) == together


def test_what_is_claimed_is_the_callers_own() -> None:
    """It may be changed without changing that of other candidates."""
    for request in (mixed().request_builder(), plain().request_builder()):
        request(1)[OTHER]["resources"]["VCPU"] = 99
        assert request(1)[OTHER]["resources"]["VCPU"] == 1
    assert mixed().request_builder()(2)[HOST]["resources"]["VCPU"] == 1


def test_the_wire_keeps_every_way() -> None:
    """With all figures."""
    sent, got = mixed(), received(mixed())
    assert got.provider_uuids == sent.provider_uuids
    assert got.total.tolist() == sent.total.tolist()
    assert [got.request_builder()(index) for index in range(3)] == [
        sent.request_builder()(index) for index in range(3)
    ]
