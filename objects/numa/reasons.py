"""Reasons why a guest's NUMA cells do not fit a host."""

from collections.abc import Mapping, Sequence

from objects.numa.fitting import Ratios, emulator_cpus, fit, fit_cell, has_shared_cpus
from objects.numa.host import HostTopology
from objects.numa.instance import ISOLATE, REQUIRE, InstanceCell, InstanceTopology
from objects.numa.memory import back, free_mb
from objects.numa.pinning import has_room, room
from objects.pci import pci

_ROOM = {ISOLATE: "idle cores", REQUIRE: "free dedicated CPUs on cores with several threads free"}


def why_not(
    host: HostTopology,
    instance: InstanceTopology,
    *,
    limits: Mapping[str, float] | None = None,
    pools: Sequence[pci.Pool] | None = None,
    pci_requests: Sequence[pci.PciRequest] = (),
) -> str | None:
    """Return what is missing, in a few words; None if it fits. Takes the arguments of ``fit``."""
    if fit(host, instance, limits=limits, pools=pools, pci_requests=pci_requests) is not None:
        return None
    if len(instance.cells) > len(host.cells):
        return f"has {len(host.cells)} NUMA cells; {len(instance.cells)} are needed"
    ratios = Ratios.of(host, limits)
    for wanted in instance.cells:
        if all(fit_cell(cell, wanted, instance, ratios) is None for cell in host.cells):
            return _why_nowhere(host, wanted, instance, ratios)
    if fit(host, instance, limits=limits) is None:
        return "its NUMA cells have room for each of the guest's, but not for all of them together"
    return _why_no_devices(host, pools or (), pci_requests)


def _why_nowhere(
    host: HostTopology, wanted: InstanceCell, instance: InstanceTopology, ratios: Ratios
) -> str:
    """Name the resource that no cell has enough of, or else all of them together."""
    cells, policy = host.cells, instance.thread_policy
    pinned, emulator = len(wanted.pinned_vcpus), emulator_cpus(instance, wanted)
    if not any(has_room(cell, pinned, emulator, policy) for cell in cells):
        most = max(room(cell, policy) for cell in cells)
        what = _ROOM.get(policy or "", "free dedicated CPUs")
        return f"no NUMA cell has {pinned + emulator} {what}; the most is {most}"
    shared = len(wanted.vcpus)
    if not any(has_shared_cpus(cell, shared, ratios.cpu) for cell in cells):
        most = max(int(len(cell.cpus) * ratios.cpu) - cell.cpus_used for cell in cells)
        widest = max(len(cell.cpus) for cell in cells)
        return (
            f"no NUMA cell has room for {shared} shared vCPUs; the most is "
            f"{max(min(most, widest), 0)}"
        )
    is_strict = instance.has_pinned_cpus
    if all(back(cell, wanted, is_strict=is_strict, ratio=ratios.ram) is None for cell in cells):
        free = max(free_mb(cell, wanted, is_strict=is_strict, ratio=ratios.ram) for cell in cells)
        return (
            f"no NUMA cell has {wanted.memory_mb} MiB free{_pages(wanted)}; the most is {free} MiB"
        )
    return (
        f"no NUMA cell has {pinned + shared} vCPUs and {wanted.memory_mb} MiB free{_pages(wanted)}"
        " at the same time"
    )


def _pages(wanted: InstanceCell) -> str:
    size = wanted.page_size_kb
    if size is None:
        return ""
    return f" in pages of {size} KiB" if isinstance(size, int) else f" in {size} pages"


def _why_no_devices(
    host: HostTopology, pools: Sequence[pci.Pool], requests: Sequence[pci.PciRequest]
) -> str:
    if (missing := pci.why_not(pools, requests)) is not None:
        return missing
    policies = sorted({request.numa_policy or pci.LEGACY for request in requests})
    return (
        "the requested devices are not close enough to NUMA cells with room for the guest "
        f"(policy {', '.join(policies)})"
    )
