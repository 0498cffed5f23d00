"""Answers to two questions become one, in which each candidate keeps what it was asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from objects.allocation_candidates import AllocationCandidates
from scheduler.hosts.usage import TreeUsage, hosts_and_offers
from scheduler.request.merged_candidates import join


def plain(classes: dict[str, int], uuids: Sequence[str], total: int = 8) -> AllocationCandidates:
    shape = (len(uuids), len(classes))
    return AllocationCandidates.from_values(
        provider_uuids=list(uuids),
        resource_classes=list(classes),
        amounts=np.array(list(classes.values())),
        total=np.full(shape, total),
        reserved=np.zeros(shape, np.int64),
        used=np.arange(shape[0] * shape[1]).reshape(shape),
        ratio=np.ones(shape),
        providers_total=9,
        ruled_out=[{"kind": "trait", "name": "|".join(classes), "count": 1}],
    )


def with_device(classes: dict[str, int], uuids: Sequence[str]) -> AllocationCandidates:
    """The same on hosts that each have a device."""
    made = plain({**classes, "VGPU": 1}, uuids)
    pairs = [(at, len(uuids) + at) for at in range(len(uuids))]
    return made.with_values(
        templates=[[classes, {"VGPU": 1}]],
        template_of=np.zeros(len(uuids), np.int64),
        slots=np.array(pairs, np.int64).ravel(),
        slot_uuids=[*uuids, *(f"{uuid}-gpu" for uuid in uuids)],
    )


PINNED = {"PCPU": 2, "MEMORY_MB": 64}
SHARED = {"VCPU": 2, "MEMORY_MB": 64}


def test_each_candidate_claims_what_it_was_asked_for() -> None:
    found = join(plain(PINNED, ["a", "b"]), plain(SHARED, ["c", "b", "d"]))
    assert found.provider_uuids == ["a", "b", "c", "d"]
    request = found.request_builder()
    assert [request(at) for at in range(4)] == [
        {"a": {"resources": PINNED}},
        {"b": {"resources": PINNED}},
        {"c": {"resources": SHARED}},
        {"d": {"resources": SHARED}},
    ]
    assert found.resource_classes == ["PCPU", "MEMORY_MB", "VCPU"]
    assert found.amounts.tolist() == [[2, 64, 0], [2, 64, 0], [0, 64, 2], [0, 64, 2]]
    assert found.used.tolist() == [[0, 1, 0], [2, 3, 0], [0, 1, 0], [0, 5, 4]]


def test_a_host_that_fits_both_ways_is_offered_the_first_way_alone() -> None:
    """The answer is the first one itself when the second adds no host."""
    first = plain(PINNED, ["a", "b"])
    assert join(first, plain(SHARED, ["b", "a"])) is first
    assert join(first, plain(SHARED, [])) is first


def test_without_a_host_the_first_way_the_second_answer_stands() -> None:
    """With its own reasons."""
    second = plain(SHARED, ["a"])
    assert join(plain(PINNED, []), second) is second


def test_when_neither_has_a_host_the_reasons_are_those_of_the_first() -> None:
    first = plain(PINNED, [])
    assert join(first, plain(SHARED, [])) is first


def test_candidates_with_devices_keep_them() -> None:
    """On either side."""
    found = join(with_device(PINNED, ["a", "b"]), with_device(SHARED, ["b", "c"]))
    request = found.request_builder()
    assert [request(at) for at in range(3)] == [
        {"a": {"resources": PINNED}, "a-gpu": {"resources": {"VGPU": 1}}},
        {"b": {"resources": PINNED}, "b-gpu": {"resources": {"VGPU": 1}}},
        {"c": {"resources": SHARED}, "c-gpu": {"resources": {"VGPU": 1}}},
    ]
    mixed = join(plain(PINNED, ["a"]), with_device(SHARED, ["b"])).request_builder()
    assert [list(mixed(at)) for at in range(2)] == [["a"], ["b", "b-gpu"]]


def test_room_is_reckoned_by_what_is_asked_of_each_host() -> None:
    """A host is not held to a class that it was not asked for."""
    found = join(plain(PINNED, ["a"], total=70), plain(SHARED, ["b"], total=70))
    usage = TreeUsage(found, list(hosts_and_offers(found).values()))
    assert [usage.fits(0), usage.fits(1)] == [True, True]
    usage.add(0)
    assert [usage.fits(0), usage.fits(1)] == [False, True]
    assert usage.fit_mask().tolist() == [False, True]
    usage.subtract(0, 0)
    assert usage.fits(0)


def test_attributes_follow_only_from_what_all_were_asked_for() -> None:
    """What hosts report of the others stays as it is."""
    found = join(plain(PINNED, ["a"]), plain(SHARED, ["b"]))
    usage = TreeUsage(found, list(hosts_and_offers(found).values()))
    assert "free_ram_mb" in usage.attributes()
    assert "vcpus_used" not in usage.attributes()
    assert "vcpus_used" not in usage.attributes_at(0)
