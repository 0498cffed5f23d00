"""Free cells and devices of a host: properties that hold whatever comes and goes."""

import dataclasses
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from compute_agent.host.host_topology import DoesNotFit, FreeTopology
from compute_agent.host.instance_topology import InstancePlacement, PlacementWanted
from compute_agent.virt.simulated.simulated_hosts import parse_hosts
from objects.numa import HostCell, HostTopology, InstanceTopology
from objects.pci.pci import PciRequest
from tests.fixtures.plugins.examples import examples

CPU_RATIO, RAM_RATIO = 2.0, 1.5

hosts = st.builds(
    lambda cells, threads, shared, dedicated, devices: (
        f"name=a:vcpus={shared * cells * threads}:pcpus={dedicated * cells * threads}"
        f":memory_mb={2048 * cells}:disk_gb=0:numa={cells}:siblings={threads}"
        f":hugepages=2048@{64 * cells}:pci=8086/10ed/VF@{devices}+10de/1db4@4"
    ),
    st.integers(1, 3), st.integers(1, 2), st.integers(1, 3), st.integers(1, 4), st.integers(2, 9),
)  # fmt: skip


def a_topology(
    sizes: list[tuple[int, int]], memory_mb: int, page_size: Any, thread_policy: str | None
) -> InstanceTopology:
    """Return cells with so many shared and pinned vCPUs each."""
    cells, first = [], 0
    for number, (shared, pinned) in enumerate(sizes):
        cells.append(
            {
                "id": number,
                "vcpus": [*range(first, first + shared)],
                "pinned_vcpus": [*range(first + shared, first + shared + pinned)],
                "memory_mb": memory_mb,
                "page_size_kb": page_size,
            }
        )
        first += shared + pinned
    policy = "mixed" if any(pinned for _, pinned in sizes) else "shared"
    return InstanceTopology.from_plain(
        {"cells": cells, "cpu_policy": policy, "thread_policy": thread_policy}
    )


topologies = st.builds(
    a_topology,
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=2),
    st.sampled_from([64, 512, 1024]),
    st.sampled_from([None, 2048, "large", "any"]),
    st.sampled_from([None, "prefer", "isolate", "require"]),
)
requests = st.builds(
    lambda vendor, count, policy: PciRequest("card", count, ({"vendor_id": vendor},), policy),
    st.sampled_from(["8086", "10de"]),
    st.integers(1, 2),
    st.sampled_from([None, "required", "preferred", "socket"]),
)
wishes = st.builds(
    PlacementWanted, st.none() | topologies, st.lists(requests, max_size=2).map(tuple)
)  # fmt: skip


def whole(declared: str) -> FreeTopology:
    (host,) = parse_hosts([declared])
    return FreeTopology(HostTopology(host.cells, CPU_RATIO, RAM_RATIO), host.devices)


def left_beside(empty: FreeTopology, placed: list[InstancePlacement]) -> FreeTopology:
    """Return what is left, computed again, as an agent does after a restart."""
    places = empty
    for place in placed:
        places = places.without(place)
    return places


def check_cell(cell: HostCell, placed: list[InstancePlacement]) -> None:
    """Check that no instance has what another has, and nothing is overdrawn."""
    mine = [
        each
        for place in placed
        if place.numa_topology is not None
        for each in place.numa_topology.cells
        if each.host_cell == cell.id
    ]
    taken = [cpu for each in mine for cpu in each.cpus_taken]
    assert len(taken) == len(set(taken))
    assert set(taken) <= cell.pinned <= cell.pcpus
    assert cell.cpus_used == sum(len(each.vcpus) for each in mine) <= len(cell.cpus) * CPU_RATIO
    assert all(pool.used <= pool.total for pool in cell.pages)
    assert cell.memory_mb_used <= cell.memory_mb * RAM_RATIO


@settings(max_examples=examples(100), deadline=None)
@given(declared=hosts, story=st.lists(wishes | st.integers(0, 5), max_size=12))
def test_nothing_is_given_away_twice(declared: str, story: list[PlacementWanted | int]) -> None:
    """Whatever comes and goes (a number: that one goes); in the end all is there again."""
    empty = whole(declared)
    placed: list[InstancePlacement] = []
    for step in story:
        if isinstance(step, int):
            del placed[step : step + 1]
            continue
        try:
            placed.append(left_beside(empty, placed).find(step))
        except DoesNotFit:
            continue
        left = left_beside(empty, placed)
        addresses = [device.address for place in placed for device in place.pci_devices]
        assert len(addresses) == len(set(addresses))
        assert not set(addresses) & {device.address for device in left.devices}
        assert left.topology is not None
        for cell in left.topology.cells:
            check_cell(cell, placed)
    assert left_beside(empty, []) == empty


@settings(max_examples=examples(100), deadline=None)
@given(declared=hosts, wanted=wishes)
def test_what_was_asked_for_is_what_one_gets(declared: str, wanted: PlacementWanted) -> None:
    """As many vCPUs, as much memory, as many devices of the right kind; nothing is changed."""
    empty = whole(declared)
    before = dataclasses.replace(empty)
    try:
        place = empty.find(wanted)
    except DoesNotFit:
        return
    assert empty == before
    assert [device.vendor_id for device in place.pci_devices] == [
        request.spec[0]["vendor_id"]
        for request in wanted.pci_requests
        for _ in range(request.count)
    ]
    if wanted.numa_topology is None:
        assert place.numa_topology is None
        return
    assert place.numa_topology is not None
    for asked, got in zip(wanted.numa_topology.cells, place.numa_topology.cells, strict=True):
        assert (got.vcpus, got.memory_mb) == (asked.vcpus, asked.memory_mb)
        assert set(got.pinning) == asked.pinned_vcpus
