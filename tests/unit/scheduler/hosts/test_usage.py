"""Usage says what is free, and whether once more fits, exactly as placement reckons."""

from __future__ import annotations

import numpy as np
import pytest

from objects.allocation_candidates import AllocationCandidates
from scheduler.hosts.usage import Usage


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
    return Usage.of_candidates(candidates, np.array([1]))


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("VCPU", {"vcpus_total": 100, "vcpus_used": 30, "cpu_allocation_ratio": 2.0}),
        (
            "MEMORY_MB",
            {"total_usable_ram_mb": 100, "free_ram_mb": 70, "ram_allocation_ratio": 2.0},
        ),
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
    Usage.of_candidates(candidates, np.array([0])).add(0)
    assert candidates.used.tolist() == [[0]]
