"""What an instance uses up of a host's reported figures."""

from __future__ import annotations

import numpy as np

from scheduler.hosts.reported_usage import ReportedUsage, changes_of
from tests.builders import a_flavor

FIGURES = {
    "vcpus_used": np.array([0, 4]),
    "free_ram_mb": np.array([8192, 100]),
    "free_disk_mb": np.array([10240, 0]),
    "disk_mb_used": np.array([0, 10240]),
}
FLAVOR = a_flavor(vcpus=2, memory_mb=512, root_gb=2, ephemeral_gb=1, swap_mb=4096)


def test_swap_is_no_part_of_what_is_used_up() -> None:
    """Root and ephemeral disk are."""
    usage = ReportedUsage(FIGURES, changes_of(FLAVOR))
    usage.add(0)
    assert usage.attributes_at(0) == {
        "vcpus_used": 2,
        "free_ram_mb": 7680,
        "free_disk_mb": 7168,
        "disk_mb_used": 3072,
    }
    assert usage.attributes_at(1)["free_ram_mb"] == 100


def test_what_was_added_can_be_taken_back_and_is_nobody_else_s() -> None:
    """A usage of some hosts, and the figures it came from, are others."""
    usage = ReportedUsage(FIGURES, changes_of(FLAVOR)).take(np.array([1]))
    candidate = usage.add(0)
    assert usage.attributes()["free_ram_mb"].tolist() == [-412]
    usage.subtract(0, candidate)
    assert usage.attributes()["free_ram_mb"].tolist() == [100]
    assert FIGURES["free_ram_mb"].tolist() == [8192, 100]
