"""Usage says what is free, and whether once more fits, exactly as placement reckons."""

import numpy as np
import pytest

from objects.allocations.allocation_candidates import AllocationCandidates
from scheduler.hosts.candidate_hosts import hosts_and_offers
from scheduler.hosts.usage import TreeUsage, Usage


def of_one(
    name: str, *, asked: int, total: int, reserved: int = 0, used: int = 0, ratio: float = 1.0
) -> Usage:
    candidates = AllocationCandidates.from_values(
        provider_uuids=["other", "this"],
        resource_classes=[name],
        amounts=np.array([asked]),
        total=np.array([[1], [total]]),
        reserved=np.array([[0], [reserved]]),
        used=np.array([[0], [used]]),
        ratio=np.array([[1.0], [ratio]]),
    )
    return Usage.of_candidates(candidates, np.array([1]), candidates.request_builder())


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("VCPU", {"vcpus_total": 100, "vcpus_used": 30, "cpu_allocation_ratio": 2.0}),
        ("MEMORY_MB", {"total_usable_ram_mb": 100, "free_ram_mb": 70, "ram_allocation_ratio": 2.0}),
        (
            "DISK_GB",
            {
                "total_usable_disk_gb": 100,
                "free_disk_mb": 70 * 1024,
                "disk_mb_used": 30 * 1024,
                "disk_allocation_ratio": 2.0,
            },
        ),
        ("CUSTOM_GPU", {}),
    ],
)
def test_host_attributes_follow_from_an_inventory(name: str, attributes: dict[str, float]) -> None:
    """For all hosts and for one, with what is reserved counted as used."""
    usage = of_one(name, asked=1, total=100, reserved=10, used=20, ratio=2.0)
    assert {key: column.tolist() for key, column in usage.attributes().items()} == {
        key: [value] for key, value in attributes.items()
    }
    assert usage.attributes_at(0) == attributes


@pytest.mark.parametrize(
    ("used", "fits"), [(0, True), (149, True), (150, True), (151, False)], ids=str
)
def test_once_more_fits_up_to_the_capacity(used: int, fits: bool) -> None:
    """Total less reserved, times the ratio."""
    assert of_one("VCPU", asked=30, total=100, reserved=10, used=used, ratio=2.0).fits(0) is fits


def test_using_does_not_change_the_candidates() -> None:
    """They are placement's answer, and still needed."""
    candidates = AllocationCandidates.from_values(
        provider_uuids=["this"],
        resource_classes=["VCPU"],
        amounts=np.array([1]),
        total=np.array([[8]]),
        reserved=np.array([[0]]),
        used=np.array([[0]]),
        ratio=np.array([[1.0]]),
    )
    Usage.of_candidates(candidates, np.array([0]), candidates.request_builder()).add(0)
    assert candidates.used.tolist() == [[0]]


def two_hosts(devices_total: int = 1) -> AllocationCandidates:
    """Return host a with two devices, host b with one; each candidate is a host and a device."""
    return AllocationCandidates.from_values(
        provider_uuids=["a", "b", "a"],
        resource_classes=["MEMORY_MB", "VGPU"],
        amounts=np.array([100, 1]),
        total=np.array([[1000, devices_total]] * 3),
        reserved=np.zeros((3, 2), np.int64),
        used=np.array([[0, 0], [50, 0], [0, 0]]),
        ratio=np.ones((3, 2)),
        templates=[[{"MEMORY_MB": 100}, {"VGPU": 1}]],
        template_of=np.zeros(3, np.int64),
        slots=np.array([0, 1, 3, 4, 0, 2]),
        slot_uuids=["a", "a-device1", "a-device2", "b", "b-device1"],
    )


def usage_of(candidates: AllocationCandidates) -> TreeUsage:
    offers = list(hosts_and_offers(candidates).values())
    return TreeUsage(candidates, offers, candidates.request_builder())


def test_a_host_is_listed_once_with_all_its_candidates() -> None:
    """In placement's order."""
    assert hosts_and_offers(two_hosts()) == {"a": [0, 2], "b": [1]}


def test_a_host_whose_first_way_is_used_up_stands_for_the_next() -> None:
    """Whose figures are shown: shared memory is used, the other device is not."""
    usage = usage_of(two_hosts())
    assert usage.attributes()["free_ram_mb"].tolist() == [1000, 950]
    assert usage.add(0) == 0
    assert usage.candidate_at(0) == 2
    assert usage.attributes_at(0)["free_ram_mb"] == 900
    assert usage.fits(0)


def test_a_host_whose_ways_are_all_used_up_has_no_room() -> None:
    """However much memory it has left."""
    usage = usage_of(two_hosts())
    assert [usage.add(0), usage.add(0)] == [0, 2]
    assert not usage.fits(0)


def test_a_way_with_room_for_more_is_used_again() -> None:
    """The order of the candidates is placement's, and means something."""
    usage = usage_of(two_hosts(devices_total=2))
    assert [usage.add(0), usage.add(0), usage.add(0)] == [0, 0, 2]


def test_what_is_taken_back_can_be_used_again() -> None:
    """In the same way."""
    usage = usage_of(two_hosts())
    first = usage.add(0)
    usage.subtract(0, first)
    assert (usage.candidate_at(0), usage.attributes_at(0)["free_ram_mb"]) == (0, 1000)


def test_a_refused_way_is_not_tried_again() -> None:
    """Until none is left: then the host is out."""
    usage = usage_of(two_hosts())
    assert usage.refuse(0, usage.candidate_at(0))
    usage.subtract(0, usage.add(0))
    assert usage.candidate_at(0) == 2
    assert not usage.refuse(0, 2)
    assert not usage.refuse(0, 2)


def test_a_part_of_the_hosts_keeps_their_ways() -> None:
    """As filters leave it."""
    usage = usage_of(two_hosts()).take(np.array([1]))
    assert usage.add(0) == 1
    assert not usage.fits(0)


def test_placements_answer_is_not_changed() -> None:
    """It is still needed."""
    candidates = two_hosts()
    usage_of(candidates).add(0)
    assert candidates.used.tolist() == [[0, 0], [50, 0], [0, 0]]


def test_a_withdrawn_way_is_not_stood_for() -> None:
    """Nor after what was used is given back; the filter that withdrew it may give it back, too."""
    usage = usage_of(two_hosts())
    assert usage.prune(0, "a", lambda request: "a-device1" not in request)
    assert usage.candidate_at(0) == 2
    usage.subtract(0, usage.add(0))
    assert usage.candidate_at(0) == 2
    assert usage.prune(0, "a", lambda request: True)
    assert usage.candidate_at(0) == 0


def test_a_host_whose_ways_are_all_withdrawn_has_none_left() -> None:
    """Each filter withdraws for itself."""
    usage = usage_of(two_hosts())
    assert usage.prune(0, "a", lambda request: "a-device1" not in request)
    assert not usage.prune(0, "b", lambda request: "a-device2" not in request)
    assert usage.prune(1, "b", lambda request: "a-device2" not in request)


def test_a_part_of_the_hosts_keeps_only_the_ways_that_are_left() -> None:
    """As filters leave them."""
    usage = usage_of(two_hosts())
    usage.prune(0, "a", lambda request: "a-device1" not in request)
    taken = usage.take(np.array([0]))
    assert taken.candidate_at(0) == 2
    assert not taken.refuse(0, 2)


def test_what_claims_a_way_is_known() -> None:
    """Provider by provider."""
    assert usage_of(two_hosts()).allocations(1) == {
        "b": {"resources": {"MEMORY_MB": 100}},
        "b-device1": {"resources": {"VGPU": 1}},
    }
