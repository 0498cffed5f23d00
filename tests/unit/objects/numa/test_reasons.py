"""A reason names what is missing, and how much there is of it."""

from typing import Any

import pytest

from objects import numa
from tests.fixtures.fleets.numa_fleets import (
    GPU,
    a_guest,
    a_host_cell,
    a_host_topology,
    a_pci_request,
    a_pool,
)


@pytest.mark.parametrize(
    ("guest", "values", "reason"),
    [
        (a_guest(3, shared=1), {}, "has 2 NUMA cells; 3 are needed"),
        (a_guest(pinned=5), {}, "no NUMA cell has 5 free dedicated CPUs; the most is 4"),
        (
            a_guest(pinned=2, thread_policy="isolate", emulator_threads_policy="isolate"),
            {},
            "no NUMA cell has 3 idle cores; the most is 2",
        ),
        (a_guest(shared=5), {}, "no NUMA cell has room for 5 shared vCPUs; the most is 4"),
        (
            a_guest(shared=1, memory_mb=3073),
            {},
            "no NUMA cell has 3073 MiB free; the most is 3072 MiB",
        ),
        (
            a_guest(shared=1, memory_mb=1026, page_size_kb="large"),
            {},
            "no NUMA cell has 1026 MiB free in large pages; the most is 1024 MiB",
        ),
        (
            a_guest(shared=1),
            {"pci_requests": [a_pci_request(GPU, count=2, name="gpu")]},
            "has 0 free devices of gpu; 2 are needed",
        ),
        (
            a_guest(shared=1),
            {"pools": [a_pool(numa_node=7)], "pci_requests": [a_pci_request(policy="required")]},
            "the requested devices are not close enough to NUMA cells with room for the guest "
            "(policy required)",
        ),
    ],
    ids=["cells", "pinned", "isolated", "shared", "memory", "pages", "devices", "far"],
)
def test_what_is_missing_is_said(
    guest: numa.InstanceTopology, values: dict[str, Any], reason: str
) -> None:
    """In the terms of the request."""
    assert numa.why_not(a_host_topology(), guest, **values) == reason


def test_cells_that_lack_different_things_are_told_from_those_that_are_full() -> None:
    """No cell has all of it, or not all cells have it together."""
    host = a_host_topology(a_host_cell(0, memory_mb=1024), a_host_cell(1, cpus_used=4))
    assert numa.why_not(host, a_guest(shared=2, memory_mb=2048)) == (
        "no NUMA cell has 2 vCPUs and 2048 MiB free at the same time"
    )
    assert numa.why_not(
        a_host_topology(a_host_cell(), a_host_cell(1, cpus_used=4)), a_guest(2, shared=1)
    ) == ("its NUMA cells have room for each of the guest's, but not for all of them together")
