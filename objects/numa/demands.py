"""NUMA cells, CPUs and pages requested by flavor and image; the only reader of these keys.

Each key is ``hw:NAME`` in a flavor's extra specs and ``hw_NAME`` in an image's properties:
``cpu_policy``, ``cpu_dedicated_mask``, ``cpu_thread_policy``, ``emulator_threads_policy``,
``mem_page_size``, ``numa_nodes``, ``numa_cpus.N``, ``numa_mem.N``. An image may not contradict its
flavor, nor request pinned CPUs or pages that the flavor does not allow.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection

from armillary import exception
from objects import page_sizes
from objects.flavor import Flavor
from objects.images.image_meta import ImageMeta
from objects.numa.cpu_sets import CPU_MAX, parse_cpus
from objects.numa.instance import (
    ANY,
    CPU_POLICIES,
    DEDICATED,
    EMULATOR_POLICIES,
    ISOLATE_EMULATOR,
    LARGE,
    MIXED,
    PAGE_WORDS,
    PREFER,
    SHARED,
    THREAD_POLICIES,
    InstanceCell,
    InstanceTopology,
)

_KB_IN_MB = 1024
_CELL_NUMBER = re.compile(r"0|[1-9][0-9]{0,3}")


@dataclasses.dataclass(frozen=True, slots=True)
class CpuDemand:
    """Number of shared and dedicated CPUs of an instance, including emulator threads."""

    vcpus: int
    pcpus: int
    thread_policy: str | None


def cpu_demand(flavor: Flavor, image: ImageMeta | None) -> CpuDemand:
    """Return the CPUs that flavor and image request. Raises ``InvalidNUMATopology``."""
    topology = topology_of(flavor, image)
    if topology is None:
        return CpuDemand(flavor.vcpus, 0, None)
    pinned = sum(len(cell.pinned_vcpus) for cell in topology.cells)
    return CpuDemand(
        vcpus=sum(len(cell.vcpus) for cell in topology.cells),
        pcpus=pinned + topology.isolates_emulator,
        thread_policy=topology.thread_policy,
    )


def topology_of(flavor: Flavor, image: ImageMeta | None) -> InstanceTopology | None:
    """Return the NUMA cells that flavor and image request; None if they request none.

    Raises ``InvalidNUMATopology`` with the key, its value, and the allowed values.
    """
    request = Settings(flavor, image)
    cpu_policy = _cpu_policy(request)
    thread_policy = _thread_policy(request, cpu_policy)
    emulator_policy = _emulator_policy(request, cpu_policy)
    pinned = _pinned_vcpus(request, cpu_policy)
    page_size = _page_size(request)
    cells = _cells(request)
    if cells is None:
        if page_size is None and not pinned:
            return None
        cells = [(_all_vcpus(request), flavor.memory_mb)]
    if isinstance(page_size, int):
        _check_divides(request, page_size, [memory_mb for _, memory_mb in cells])
    return InstanceTopology(
        cells=tuple(
            InstanceCell(
                id=number,
                vcpus=vcpus - pinned,
                pinned_vcpus=vcpus & pinned,
                memory_mb=memory_mb,
                page_size_kb=page_size,
            )
            for number, (vcpus, memory_mb) in enumerate(cells)
        ),
        cpu_policy=cpu_policy,
        thread_policy=thread_policy,
        emulator_threads_policy=emulator_policy,
    )


# Policies ---------------------------------------------------------------------------------------


def _cpu_policy(request: Settings) -> str | None:
    flavor = request.of_flavor("cpu_policy").one_of(CPU_POLICIES)
    image = request.of_image("cpu_policy").one_of(CPU_POLICIES)
    if flavor.text is None:
        return image.text
    if image.text not in (None, SHARED, flavor.text):  # shared asks for less than the flavor grants
        raise image.refused(f"'{flavor.text}', as in {flavor.key} of {flavor.source}")
    return flavor.text


def _thread_policy(request: Settings, cpu_policy: str | None) -> str | None:
    flavor = request.of_flavor("cpu_thread_policy").one_of(THREAD_POLICIES)
    request.of_image("cpu_thread_policy").one_of(THREAD_POLICIES)
    # The flavor's "prefer" overrides the image.
    asked = flavor if flavor.text == PREFER else request.of_flavor_or_image("cpu_thread_policy")
    if asked.text is not None and cpu_policy not in (DEDICATED, MIXED):
        raise asked.refused(f"only with the cpu_policy {DEDICATED} or {MIXED}")
    return asked.text


def _emulator_policy(request: Settings, cpu_policy: str | None) -> str | None:
    asked = request.of_flavor_or_image("emulator_threads_policy").one_of(EMULATOR_POLICIES)
    if asked.text == ISOLATE_EMULATOR and cpu_policy not in (DEDICATED, MIXED):
        raise asked.refused(f"only with the cpu_policy {DEDICATED} or {MIXED}")
    return asked.text


def _pinned_vcpus(request: Settings, cpu_policy: str | None) -> frozenset[int]:
    """Return the numbers of the vCPUs with a dedicated CPU."""
    mask = request.of_flavor_or_image("cpu_dedicated_mask")
    if cpu_policy != MIXED:
        if mask.text is not None:
            raise mask.refused(f"only with the cpu_policy {MIXED}")
        return _all_vcpus(request) if cpu_policy == DEDICATED else frozenset()
    vcpus = _all_vcpus(request)
    allowed = f"some, but not all, of the vCPUs 0 to {len(vcpus) - 1}, such as 0-1 or ^0"
    if mask.text is None:
        raise mask.refused(allowed)
    pinned = _cpu_set(mask, len(vcpus), allowed, all_but=True)
    if not pinned or pinned == vcpus:
        raise mask.refused(allowed)
    return pinned


def _all_vcpus(request: Settings) -> frozenset[int]:
    """Return the numbers of all vCPUs."""
    _check_vcpus(request)
    return frozenset(range(request.flavor.vcpus))


def _check_vcpus(request: Settings) -> None:
    """Refuse more vCPUs than any host has, since they are enumerated from here on."""
    count = request.flavor.vcpus
    if count > CPU_MAX + 1:
        raise exception.InvalidNUMATopology(
            key="vcpus",
            source=f"flavor {request.flavor.name}",
            found=count,
            allowed=f"at most {CPU_MAX + 1} with NUMA cells, pinned CPUs or page sizes",
        )


# Pages ------------------------------------------------------------------------------------------


def _page_size(request: Settings) -> int | str | None:
    flavor, image = request.of_flavor("mem_page_size"), request.of_image("mem_page_size")
    size, asked = _size_kb(flavor), _size_kb(image)
    if asked is None or asked == size:
        return size
    if size == ANY or (size == LARGE and asked != ANY and not _is_small(asked)):
        return asked
    if size is None:
        allowed = f"only with {flavor.key} of {flavor.source}"
    else:
        allowed = f"a value that {flavor.key} of {flavor.source} allows ('{flavor.text}')"
    raise image.refused(allowed)


def _is_small(size: int | str) -> bool:
    return size == PAGE_WORDS[0]


def _size_kb(asked: Setting) -> int | str | None:
    if asked.text is None:
        return None
    text = asked.text.strip().lower()
    if text in PAGE_WORDS:
        return text
    size_kb = page_sizes.parse_kb(text)
    if size_kb is None:
        raise asked.refused(f"{', '.join(PAGE_WORDS)}, or {page_sizes.RULE}")
    return size_kb


def _check_divides(request: Settings, size_kb: int, memories_mb: list[int]) -> None:
    odd = [memory for memory in memories_mb if memory * _KB_IN_MB % size_kb]
    if odd:
        image = request.of_image("mem_page_size")
        asked = image if image.text is not None else request.of_flavor("mem_page_size")
        raise asked.refused(f"a size that divides {odd[0]} MiB, the memory of a NUMA cell")


# Cells ------------------------------------------------------------------------------------------

_Cells = list[tuple[frozenset[int], int]]  # vCPUs and MiB of each


def _cells(request: Settings) -> _Cells | None:
    """Return the guest's cells, or None if none are requested."""
    flavor = request.flavor
    nodes = request.of_flavor_or_image("numa_nodes")
    count = nodes.number(flavor.vcpus, f"a number from 1 to {flavor.vcpus}, the flavor's vCPUs")
    cpus, memories = request.numbered("numa_cpus"), request.numbered("numa_mem")
    if count is None:
        for asked in (*cpus.values(), *memories.values()):
            raise asked.refused("only together with numa_nodes, the number of cells")
        return None
    _check_vcpus(request)
    if not cpus and not memories:
        return _even_cells(request, nodes, count)
    _check_complete(request, "numa_cpus", cpus, count)
    _check_complete(request, "numa_mem", memories, count)
    numbers = [str(number) for number in range(count)]
    return list(
        zip(
            _cpus_of_cells([cpus[number] for number in numbers], flavor.vcpus),
            _memories_of_cells([memories[number] for number in numbers], flavor.memory_mb),
            strict=True,
        )
    )


def _even_cells(request: Settings, nodes: Setting, count: int) -> _Cells:
    flavor = request.flavor
    if flavor.vcpus % count or flavor.memory_mb % count:
        raise nodes.refused(
            f"a divisor of {flavor.vcpus} vCPUs and {flavor.memory_mb} MiB, or numa_cpus.N and "
            "numa_mem.N for each cell"
        )
    vcpus, memory_mb = flavor.vcpus // count, flavor.memory_mb // count
    return [
        (frozenset(range(number * vcpus, (number + 1) * vcpus)), memory_mb)
        for number in range(count)
    ]


def _check_complete(request: Settings, name: str, given: dict[str, Setting], count: int) -> None:
    for number, asked in given.items():
        if not _CELL_NUMBER.fullmatch(number) or int(number) >= count:
            raise asked.refused(f"the cells {name}.0 to {name}.{count - 1}, as numa_nodes says")
    for cell in range(count):
        if str(cell) not in given:
            raise request.of_flavor(f"{name}.{cell}").refused(
                "numa_cpus.N and numa_mem.N for all of the numa_nodes, or for none"
            )


def _cpus_of_cells(given: list[Setting], vcpus: int) -> list[frozenset[int]]:
    found: list[frozenset[int]] = []
    seen: frozenset[int] = frozenset()
    for asked in given:
        allowed = f"one or more of the vCPUs 0 to {vcpus - 1}, each in one cell"
        cpus = _cpu_set(asked, vcpus, allowed)
        if not cpus or cpus & seen:
            raise asked.refused(allowed)
        seen |= cpus
        found.append(cpus)
    if len(seen) < vcpus:
        missing = min(frozenset(range(vcpus)) - seen)
        raise given[-1].refused(f"each of the {vcpus} vCPUs in a cell; {missing} is in none")
    return found


def _memories_of_cells(given: list[Setting], memory_mb: int) -> list[int]:
    allowed = f"MiB that add up to {memory_mb}, the flavor's memory, in all cells"
    found = [asked.number(memory_mb, allowed) or 0 for asked in given]
    if sum(found) != memory_mb:
        raise given[-1].refused(f"{allowed}, not {sum(found)}")
    return found


def _cpu_set(asked: Setting, vcpus: int, allowed: str, *, all_but: bool = False) -> frozenset[int]:
    try:
        return parse_cpus(asked.text or "", cpu_max=vcpus - 1, all_but=all_but)
    except ValueError as error:
        raise asked.refused(f"{allowed} ({error})") from error


# Settings: hw:cpu_policy of a flavor and hw_cpu_policy of an image are one setting ---------------


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """The value of a setting, None if it is not set, with its key and source."""

    text: str | None
    key: str
    source: str

    def refused(self, allowed: str) -> exception.InvalidNUMATopology:
        """Return an error that names the allowed values."""
        found = "missing" if self.text is None else f"'{self.text[:200]}'"
        return exception.InvalidNUMATopology(
            key=self.key, source=self.source, found=found, allowed=allowed
        )

    def one_of(self, words: Collection[str]) -> Setting:
        """Return self. Raises ``InvalidNUMATopology`` unless the value is one of the words."""
        if self.text is not None and self.text not in words:
            raise self.refused(", ".join(words))
        return self

    def number(self, largest: int, what: str) -> int | None:
        """Return the value as a number from 1. Raises ``InvalidNUMATopology`` otherwise."""
        if self.text is None:
            return None
        digits = self.text.strip()
        if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
            raise self.refused(what)
        if not 1 <= (number := int(digits)) <= largest:
            raise self.refused(what)
        return number


class Settings:
    """Settings of a flavor and an image, by the flavor's key without ``hw:``."""

    def __init__(self, flavor: Flavor, image: ImageMeta | None) -> None:
        self.flavor = flavor
        self._properties = {} if image is None else image.properties
        self._image_source = "" if image is None else f"image {image.name}"

    def of_flavor(self, name: str) -> Setting:
        """Return the flavor's setting."""
        key = f"hw:{name}"
        return Setting(self.flavor.extra_specs.get(key), key, f"flavor {self.flavor.name}")

    def of_image(self, name: str) -> Setting:
        """Return the image's setting."""
        key = f"hw_{name}"
        return Setting(self._properties.get(key), key, self._image_source)

    def of_flavor_or_image(self, name: str) -> Setting:
        """Return the flavor's setting, or else the image's. Raises if they differ."""
        flavor, image = self.of_flavor(name), self.of_image(name)
        if flavor.text is None:
            return flavor if image.text is None else image
        if image.text not in (None, flavor.text):
            raise image.refused(f"'{flavor.text}', as in {flavor.key} of {flavor.source}")
        return flavor

    def numbered(self, name: str) -> dict[str, Setting]:
        """Return the settings ``name.N`` by N, as it is written."""
        texts = {
            key.rpartition(".")[2]
            for texts, prefix in ((self.flavor.extra_specs, "hw:"), (self._properties, "hw_"))
            for key in texts
            if key.startswith(f"{prefix}{name}.")
        }
        return {number: self.of_flavor_or_image(f"{name}.{number}") for number in sorted(texts)}
