"""A guest's cells fit a host's exactly when they can, and never take what is not there."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from objects import numa
from objects.numa import fitting
from objects.pci import pci
from tests.fixtures.fleets.numa_fleets import (
    a_guest,
    a_host_cell,
    a_host_topology,
    a_pci_request,
    a_pool,
    guests,
    host_topologies,
    pci_requests,
    pools,
)
from tests.fixtures.plugins.examples import examples

RATIOS = st.sampled_from([None, {"cpu_allocation_ratio": 1.5, "ram_allocation_ratio": 1.2}])


# The reference: every way, by the rules as they are written, with no cleverness -------------------


def ways_to_pin(
    cell: numa.HostCell, count: int, emulator: int, policy: str | None
) -> Iterator[tuple[frozenset[int], frozenset[int]]]:
    """Yield every choice of CPUs for vCPUs and emulator that keeps to the thread policy."""
    free = sorted(cell.pcpus - cell.pinned)

    def threads(cpu: int) -> frozenset[int]:
        return next((core for core in cell.siblings if cpu in core), frozenset((cpu,)))

    for chosen in itertools.combinations(free, count + emulator):
        for extra in itertools.combinations(chosen, emulator):
            cpus = [cpu for cpu in chosen if cpu not in extra]
            if policy == "isolate":
                cores = {threads(cpu) for cpu in chosen}
                if len(cores) < len(chosen) or any(
                    core & cell.pinned or core & (cell.cpus - cell.pcpus) for core in cores
                ):
                    continue
            if policy == "require" and any(len(threads(cpu) & set(free)) < 2 for cpu in cpus):
                continue
            yield frozenset(cpus), frozenset(extra)


def has_memory(cell: numa.HostCell, wanted: numa.InstanceCell, strict: bool, ratio: float) -> bool:
    huge_kb = sum(pool.total * pool.size_kb for pool in cell.pages if pool.size_kb > 64)
    huge_used_kb = sum(pool.used * pool.size_kb for pool in cell.pages if pool.size_kb > 64)
    total, used = cell.memory_mb - huge_kb // 1024, cell.memory_mb_used - huge_used_kb // 1024
    need, size = wanted.memory_mb, wanted.page_size_kb
    if size is None:
        if strict:
            return need <= total - used
        return need <= total and need + used <= total * ratio
    for pool in cell.pages:
        is_huge = pool.size_kb > 64
        if isinstance(size, int) and size != pool.size_kb:
            continue
        if (size == "large" and not is_huge) or (size == "small" and is_huge):
            continue
        has_pages = need * 1024 % pool.size_kb == 0 and (
            need * 1024 // pool.size_kb <= pool.total - pool.used
        )
        if has_pages and (is_huge or need <= total - used):
            return True
    return False


def fits_cell(
    cell: numa.HostCell,
    wanted: numa.InstanceCell,
    guest: numa.InstanceTopology,
    cpu: float,
    ram: float,
) -> bool:
    shared = len(wanted.vcpus)
    if shared and (shared > len(cell.cpus) or cell.cpus_used + shared > len(cell.cpus) * cpu):
        return False
    is_pinned = guest.cpu_policy in ("dedicated", "mixed")
    if not has_memory(cell, wanted, is_pinned, ram):
        return False
    emulator = int(guest.emulator_threads_policy == "isolate" and wanted is guest.cells[0])
    ways = ways_to_pin(cell, len(wanted.pinned_vcpus), emulator, guest.thread_policy)
    return next(ways, None) is not None


def has_devices(
    host: numa.HostTopology,
    ids: set[int],
    pools: Sequence[pci.Pool],
    requests: Sequence[pci.PciRequest],
) -> bool:
    """Try every device for every one that is asked for."""
    socket_of = {cell.id: cell.socket for cell in host.cells}
    sockets = {socket_of[number] for number in ids} - {None}

    def serves(pool: pci.Pool, request: pci.PciRequest) -> bool:
        if not any(all(pool[name] == text for name, text in one.items()) and (
            pool["dev_type"] != "type-PF" or one.get("dev_type") == "type-PF"
        ) for one in request.spec):  # fmt: skip
            return False
        node, policy = pool["numa_node"], request.numa_policy or "legacy"
        return (
            policy == "preferred"
            or node in ids
            or (policy == "legacy" and node is None)
            or (policy == "socket" and node is not None and socket_of.get(node) in sockets)
        )

    devices = [pool for pool in pools for _ in range(pool["count"])]
    wanted = [request for request in requests for _ in range(request.count)]
    if len(wanted) > len(devices):
        return False
    return any(
        all(serves(pool, request) for pool, request in zip(chosen, wanted, strict=True))
        for chosen in itertools.permutations(devices, len(wanted))
    )


def fits(
    host: numa.HostTopology,
    guest: numa.InstanceTopology,
    limits: dict[str, float] | None,
    pools: Sequence[pci.Pool] = (),
    requests: Sequence[pci.PciRequest] = (),
) -> bool:
    given_ratios = limits or {}
    cpu = given_ratios.get("cpu_allocation_ratio", host.cpu_allocation_ratio)
    ram = given_ratios.get("ram_allocation_ratio", host.ram_allocation_ratio)
    return any(
        all(
            fits_cell(cell, wanted, guest, cpu, ram)
            for cell, wanted in zip(cells, guest.cells, strict=True)
        )
        and has_devices(host, {cell.id for cell in cells}, pools, requests)
        for cells in itertools.permutations(host.cells, len(guest.cells))
    )


# Laws --------------------------------------------------------------------------------------------


@settings(max_examples=examples(70))
@given(host_topologies(), guests(), RATIOS, st.booleans())
def test_a_guest_fits_exactly_when_some_way_fits(
    host: numa.HostTopology,
    guest: numa.InstanceTopology,
    limits: dict[str, float] | None,
    packing: bool,
) -> None:
    """As the reference finds it, which tries them all."""
    found = numa.fit(host, guest, limits=limits, packing=packing)
    assert (found is not None) == fits(host, guest, limits)
    assert (numa.why_not(host, guest, limits=limits) is None) == (found is not None)
    assert numa.fits(host, guest, limits=limits) == (found is not None)


@settings(max_examples=examples(70))
@given(host_topologies(), guests(cells_max=2), pools(), pci_requests)
def test_devices_are_near_enough_exactly_when_some_way_is(
    host: numa.HostTopology,
    guest: numa.InstanceTopology,
    free: list[dict[str, Any]],
    requests: list[pci.PciRequest],
) -> None:
    """With all policies, and requests that compete for the same devices."""
    found = numa.fit(host, guest, pools=free, pci_requests=requests)
    assert (found is not None) == fits(host, guest, None, free, requests)
    if found is not None:
        left = pci.take(free, requests, found.host_cells, host.sockets)
        assert left is not None
        taken = sum(request.count for request in requests)
        assert pci.count_free(left) == pci.count_free(free) - taken


@settings(max_examples=examples(40))
@given(host_topologies(), guests(), pools(), pci_requests)
def test_what_was_fitted_keeps_to_what_there_is(
    host: numa.HostTopology,
    guest: numa.InstanceTopology,
    free: list[dict[str, Any]],
    requests: list[pci.PciRequest],
) -> None:
    """No cell has less than nothing left, no CPU two masters, and each vCPU has its place."""
    fitted = numa.fit(host, guest, pools=free, pci_requests=requests)
    if fitted is None:
        return
    assert len(fitted.host_cells) == len(guest.cells)
    by_id = {cell.id: cell for cell in host.cells}
    taken: list[int] = []
    for wanted, cell in zip(guest.cells, fitted.cells, strict=True):
        assert cell.host_cell is not None
        free_cpus = by_id[cell.host_cell].free_pcpus
        assert cell.pinning.keys() == wanted.pinned_vcpus
        assert free_cpus.issuperset(cell.cpus_taken)
        taken += [*cell.pinning.values(), *cell.emulator_cpus]
    assert len(taken) == len(set(taken))
    assert len(taken) == sum(len(cell.pinned_vcpus) for cell in guest.cells) + (
        guest.isolates_emulator
    )
    for now in numa.consume(host, fitted).cells:
        assert now.pinned <= now.pcpus
        assert all(pool.used <= pool.total for pool in now.pages)
        before = by_id[now.id]
        assert now.cpus_used <= max(before.cpus_used, len(now.cpus) * host.cpu_allocation_ratio)


@settings(max_examples=examples(40))
@given(host_topologies(), guests())
def test_giving_back_undoes_taking(host: numa.HostTopology, guest: numa.InstanceTopology) -> None:
    """To the last thread that was kept idle."""
    fitted = numa.fit(host, guest)
    if fitted is not None:
        assert numa.release(numa.consume(host, fitted), fitted) == host


@settings(max_examples=examples(40))
@given(host_topologies(), guests(), pools(), pci_requests)
def test_a_fit_changes_nothing_that_it_is_given(
    host: numa.HostTopology,
    guest: numa.InstanceTopology,
    free: list[dict[str, Any]],
    requests: list[pci.PciRequest],
) -> None:
    """All of it is shared by many requests."""

    def now() -> str:
        return repr([host.to_plain(), guest.to_plain(), free, requests])

    before = now()
    fitted = numa.fit(host, guest, pools=free, pci_requests=requests)
    if fitted is not None:
        numa.consume(host, fitted)
        pci.take(free, requests, fitted.host_cells, host.sockets)
    assert now() == before


@settings(max_examples=examples(40))
@given(host_topologies(), guests())
def test_wire_forms_lead_back(host: numa.HostTopology, guest: numa.InstanceTopology) -> None:
    """Before a fit and after."""
    assert numa.HostTopology.from_plain(host.to_plain()) == host
    for each in (guest, numa.fit(host, guest) or guest):
        assert numa.InstanceTopology.from_plain(each.to_plain()) == each


# Which way is taken -----------------------------------------------------------------------------


def test_the_emptiest_cell_comes_first() -> None:
    """So that guests spread over the cells."""
    host = a_host_topology(a_host_cell(memory_mb_used=100), a_host_cell(1))
    assert fitted_cells(host, a_guest(shared=1)) == [1]


def test_the_fullest_cell_comes_first_when_packing() -> None:
    """As long as it has room."""
    host = a_host_topology(a_host_cell(), a_host_cell(1, memory_mb_used=100))
    assert fitted_cells(host, a_guest(shared=1), packing=True) == [1]
    assert fitted_cells(host, a_guest(shared=1, memory_mb=3072), packing=True) == [0]


def test_cells_with_devices_are_left_to_those_who_ask_for_devices() -> None:
    """However empty they are."""
    host = a_host_topology(a_host_cell(), a_host_cell(1, memory_mb_used=100))
    assert fitted_cells(host, a_guest(shared=1), pools=[a_pool()]) == [1]
    assert fitted_cells(host, a_guest(2, shared=1), pools=[a_pool()]) == [1, 0]


def test_a_preferred_device_draws_the_guest_to_its_cell() -> None:
    """But does not keep it from a host where its cell is full."""
    wanted = {"pools": [a_pool(numa_node=1)], "pci_requests": [a_pci_request(policy="preferred")]}
    host = a_host_topology(a_host_cell(), a_host_cell(1, memory_mb_used=100))
    assert fitted_cells(host, a_guest(shared=1), **wanted) == [1]
    full = a_host_topology(a_host_cell(), a_host_cell(1, memory_mb_used=3072))
    assert fitted_cells(full, a_guest(shared=1), **wanted) == [0]


def test_devices_that_are_all_near_are_preferred_to_some_that_are() -> None:
    """Also when the cell with some is the emptier one."""
    host = a_host_topology(a_host_cell(), a_host_cell(1, memory_mb_used=100))
    found = fitted_cells(
        host,
        a_guest(shared=1),
        pools=[a_pool(numa_node=0, count=1), a_pool(numa_node=1)],
        pci_requests=[a_pci_request(count=2, policy="preferred")],
    )
    assert found == [1]


def test_cells_of_different_sockets_are_not_alike() -> None:
    """When the device has to be on the guest's socket."""
    host = a_host_topology(
        a_host_cell(0), a_host_cell(1, memory_mb_used=100), a_host_cell(2, socket=1, memory_mb=0)
    )
    request = a_pci_request(policy="socket")
    found = fitted_cells(
        host, a_guest(shared=1), pools=[a_pool(numa_node=2)], pci_requests=[request]
    )
    assert found == [1]


def test_threads_of_a_core_are_taken_together() -> None:
    """A core that has one thread left serves a request that needs but one."""
    host = a_host_topology(a_host_cell(pinned=frozenset((4,))))
    assert pinned_cpus(host, a_guest(pinned=2)) == [6, 7]
    assert pinned_cpus(host, a_guest(pinned=1)) == [5]


@pytest.mark.parametrize(
    ("policy", "pinned", "fits"),
    [
        ("require", 4, True), ("isolate", 2, True), ("isolate", 3, False), ("prefer", 5, False),
    ],
    ids=str,
)  # fmt: skip
def test_a_thread_policy_decides_how_many_fit(policy: str, pinned: int, fits: bool) -> None:
    """On two cores of two threads."""
    host = a_host_topology(a_host_cell())
    assert (numa.fit(host, a_guest(pinned=pinned, thread_policy=policy)) is not None) is fits


def test_threads_are_not_found_where_there_are_none() -> None:
    """So a guest that requires them does not fit."""
    host = a_host_topology(a_host_cell(siblings=()))
    assert numa.fit(host, a_guest(pinned=2, thread_policy="require")) is None
    assert numa.fit(host, a_guest(pinned=2, thread_policy="isolate")) is not None


def test_an_isolated_guest_keeps_the_threads_beside_it_idle() -> None:
    """No other instance is pinned to them."""
    host = a_host_topology(a_host_cell())
    fitted = numa.fit(host, a_guest(pinned=1, thread_policy="isolate"))
    assert fitted is not None
    assert numa.consume(host, fitted).cells[0].pinned == {4, 5}


@pytest.mark.parametrize(
    ("size", "backed_by"), [(None, None), ("small", 4), ("large", 2048), ("any", 2048), (4, 4)],
    ids=str,
)  # fmt: skip
def test_memory_is_made_of_the_pages_asked_for(
    size: int | str | None, backed_by: int | None
) -> None:
    """And of the largest where any will do."""
    fitted = numa.fit(a_host_topology(), a_guest(shared=1, page_size_kb=size))
    assert fitted is not None
    assert fitted.cells[0].page_size_kb == backed_by


@pytest.mark.parametrize(("memory_mb", "fits"), [(1022, True), (1024, False)], ids=str)
def test_no_more_pages_than_are_free(memory_mb: int, fits: bool) -> None:
    """The last free page may be had, the one after it may not."""
    cell = a_host_cell(pages=(numa.PagePool(2048, 512, used=1),))
    guest = a_guest(shared=1, memory_mb=memory_mb, page_size_kb=2048)
    assert (numa.fit(a_host_topology(cell), guest) is not None) is fits


def test_huge_pages_are_not_ordinary_memory() -> None:
    """A guest without pages gets none of theirs."""
    host = a_host_topology(a_host_cell())  # 3 GiB and 1 GiB of huge pages
    assert numa.fit(host, a_guest(shared=1, memory_mb=3072)) is not None
    assert numa.fit(host, a_guest(shared=1, memory_mb=3073)) is None


def test_no_guest_cell_is_larger_than_its_host_cell() -> None:
    """However far the ratios would go."""
    host = a_host_topology(a_host_cell(), cpu_allocation_ratio=4.0, ram_allocation_ratio=4.0)
    assert numa.fit(host, a_guest(shared=4, memory_mb=3072)) is not None
    assert numa.fit(host, a_guest(shared=5, memory_mb=3072)) is None
    assert numa.fit(host, a_guest(shared=4, memory_mb=3073)) is None


def test_memory_is_made_of_whole_pages() -> None:
    """A large page is not given in part."""
    guest = a_guest(shared=1, memory_mb=3, page_size_kb="large")
    assert numa.fit(a_host_topology(), guest) is None
    either = numa.fit(a_host_topology(), a_guest(shared=1, memory_mb=3, page_size_kb="any"))
    assert either is not None
    assert either.cells[0].page_size_kb == 4


@pytest.mark.parametrize(("memory_mb", "fits"), [(1024, True), (1025, False)], ids=str)
def test_only_guests_without_pinned_cpus_overcommit_memory(memory_mb: int, fits: bool) -> None:
    """Up to the ratio, with all that is used; pinned ones take what is free."""
    cell = a_host_cell(memory_mb_used=2048 + 1024 * 2)
    host = a_host_topology(cell, ram_allocation_ratio=5120 / 3072)
    assert (numa.fit(host, a_guest(shared=1, memory_mb=memory_mb)) is not None) is fits
    assert numa.fit(host, a_guest(pinned=1, memory_mb=1)) is None


def test_limits_stand_above_the_hosts_own_ratios() -> None:
    """They are what the scheduler decided by."""
    host = a_host_topology(a_host_cell(cpus_used=4), cpu_allocation_ratio=1.0)
    assert numa.fit(host, a_guest(shared=1)) is None
    assert numa.fit(host, a_guest(shared=1), limits={"cpu_allocation_ratio": 2.0}) is not None


def test_devices_beside_another_cell_of_the_socket_will_do() -> None:
    """When the policy says socket, and not when it says required."""
    host = a_host_topology(a_host_cell(0, socket=0), a_host_cell(1, socket=0, memory_mb=0))
    free = [a_pool(numa_node=1)]
    for policy, is_near in (("socket", True), ("required", False), ("legacy", False)):
        request = a_pci_request(policy=policy)
        found = numa.fit(host, a_guest(shared=1), pools=free, pci_requests=[request])
        assert (found is not None) is is_near


def test_many_equal_cells_are_not_tried_in_every_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host of 32 cells and a guest of 16 whose device is nowhere near."""
    asked: list[int] = []
    assign = pci.assign

    def counted(*args: Any, **kwargs: Any) -> Any:
        asked.append(1)
        return assign(*args, **kwargs)

    monkeypatch.setattr(pci, "assign", counted)
    host = a_host_topology(
        *(a_host_cell(number) for number in range(31)), a_host_cell(31, memory_mb=0)
    )
    request = a_pci_request(policy="required")
    guest = a_guest(16, shared=1, memory_mb=16)
    assert numa.fit(host, guest, pools=[a_pool(numa_node=31)], pci_requests=[request]) is None
    assert len(asked) < 10


def test_the_search_ends_when_all_cells_are_different(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a no, after a bounded number of ways to choose 8 of 24 cells."""
    monkeypatch.setattr(fitting, "CHOICES_MAX", 100)
    cells = [a_host_cell(number, socket=number) for number in range(24)]
    free = [a_pool(numa_node=number, count=1) for number in range(24)]
    wanted = [a_pci_request(count=12, policy="socket")]
    guest = a_guest(8, shared=1, memory_mb=16)
    assert numa.fit(a_host_topology(*cells), guest, pools=free, pci_requests=wanted) is None


def fitted_cells(host: numa.HostTopology, guest: numa.InstanceTopology, **values: Any) -> list[Any]:
    fitted = numa.fit(host, guest, **values)
    assert fitted is not None
    return [cell.host_cell for cell in fitted.cells]


def pinned_cpus(host: numa.HostTopology, guest: numa.InstanceTopology) -> list[int]:
    fitted = numa.fit(host, guest)
    assert fitted is not None
    return [cpu for _vcpu, cpu in sorted(fitted.cells[0].pinning.items())]
