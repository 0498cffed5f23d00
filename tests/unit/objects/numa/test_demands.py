"""Extra specs and image properties become NUMA cells, or an error that says what is allowed."""

import pytest

from armillary import exception
from objects import numa
from tests.builders import a_flavor, an_image

PINNED = {"hw:cpu_policy": "dedicated"}
TWO_CELLS = {"hw:numa_nodes": "2"}


def topology(
    specs: dict[str, str], properties: dict[str, str] | None = None, *, vcpus: int = 4
) -> numa.InstanceTopology | None:
    flavor = a_flavor(vcpus=vcpus, memory_mb=4096, extra_specs=specs)
    image = None if properties is None else an_image(properties=properties)
    return numa.topology_of(flavor, image)


def shape(
    specs: dict[str, str], properties: dict[str, str] | None = None
) -> list[tuple[list[int], list[int], int]]:
    found = topology(specs, properties)
    assert found is not None
    return [(sorted(cell.vcpus), sorted(cell.pinned_vcpus), cell.memory_mb) for cell in found.cells]


@pytest.mark.parametrize(
    "specs",
    [
        {},
        {"hw:cpu_policy": "shared"},
        {"hw:cpu_cores": "2"},
        {"hw:emulator_threads_policy": "share"},
    ],
    ids=str,
)
def test_most_requests_ask_for_no_cells(specs: dict[str, str]) -> None:
    """And may be anywhere on a host."""
    assert topology(specs) is None


@pytest.mark.parametrize(
    ("specs", "cells"),
    [
        (TWO_CELLS, [([0, 1], [], 2048), ([2, 3], [], 2048)]),
        (PINNED, [([], [0, 1, 2, 3], 4096)]),
        ({"hw:mem_page_size": "small"}, [([0, 1, 2, 3], [], 4096)]),
        (
            {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "^0-1", **TWO_CELLS},
            [([0, 1], [], 2048), ([], [2, 3], 2048)],
        ),
        (
            {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0,3"},
            [([1, 2], [0, 3], 4096)],
        ),
        (
            {
                **TWO_CELLS,
                "hw:numa_cpus.0": "0", "hw:numa_cpus.1": "1-3",
                "hw:numa_mem.0": "1024", "hw:numa_mem.1": "3072",
            },
            [([0], [], 1024), ([1, 2, 3], [], 3072)],
        ),
    ],
    ids=["even", "pinned", "pages", "mixed-but", "mixed", "uneven"],
)  # fmt: skip
def test_cells_are_as_asked(
    specs: dict[str, str], cells: list[tuple[list[int], list[int], int]]
) -> None:
    """Shared vCPUs, pinned vCPUs, memory."""
    assert shape(specs) == cells


def test_an_image_may_ask_for_what_its_flavor_leaves_open() -> None:
    """Under the same names, except for the colon."""
    properties = {
        "hw_numa_nodes": "2", "hw_cpu_policy": "dedicated", "hw_cpu_thread_policy": "isolate",
    }  # fmt: skip
    found = topology({}, properties)
    assert found is not None
    assert len(found.cells) == 2
    assert (found.cpu_policy, found.thread_policy) == ("dedicated", "isolate")


@pytest.mark.parametrize(
    ("specs", "properties", "policies"),
    [
        (PINNED, {"hw_cpu_policy": "shared"}, ("dedicated", None)),
        (
            {**PINNED, "hw:cpu_thread_policy": "prefer"},
            {"hw_cpu_thread_policy": "require"},
            ("dedicated", "prefer"),
        ),
    ],
    ids=["cpu", "threads"],
)
def test_a_flavor_stands_above_what_its_image_would_rather_have(
    specs: dict[str, str], properties: dict[str, str], policies: tuple[str, str | None]
) -> None:
    """Where it grants more, or prefers."""
    found = topology(specs, properties)
    assert found is not None
    assert (found.cpu_policy, found.thread_policy) == policies


@pytest.mark.parametrize(
    ("size", "image_size", "found"),
    [
        ("any", None, "any"), ("any", "small", "small"), ("any", "1GB", 1048576),
        ("large", "2MB", 2048), ("large", "large", "large"), ("2048", None, 2048),
        ("4 KiB", None, 4), ("2mb", "2048", 2048),
    ],
    ids=str,
)  # fmt: skip
def test_pages_are_of_the_size_asked_for(
    size: str, image_size: str | None, found: int | str
) -> None:
    """An image chooses among what its flavor allows."""
    properties = {} if image_size is None else {"hw_mem_page_size": image_size}
    cells = topology({"hw:mem_page_size": size}, properties)
    assert cells is not None
    assert cells.cells[0].page_size_kb == found


@pytest.mark.parametrize(
    ("specs", "properties", "key"),
    [
        ({"hw:numa_nodes": "3"}, {}, "hw:numa_nodes"),
        ({"hw:numa_nodes": "0"}, {}, "hw:numa_nodes"),
        ({"hw:numa_nodes": "5"}, {}, "hw:numa_nodes"),
        ({"hw:numa_nodes": "two"}, {}, "hw:numa_nodes"),
        ({"hw:numa_nodes": "²"}, {}, "hw:numa_nodes"),
        ({"hw:numa_nodes": "9" * 5000}, {}, "hw:numa_nodes"),
        ({"hw:numa_cpus.0": "0"}, {}, "hw:numa_cpus.0"),
        ({**TWO_CELLS, "hw:numa_cpus.0": "0-1"}, {}, "hw:numa_cpus.1"),
        ({**TWO_CELLS, "hw:numa_mem.7": "1"}, {}, "hw:numa_cpus.0"),
        ({"hw:cpu_policy": "exclusive"}, {}, "hw:cpu_policy"),
        ({"hw:cpu_policy": "shared"}, {"hw_cpu_policy": "dedicated"}, "hw_cpu_policy"),
        ({"hw:cpu_policy": "mixed"}, {}, "hw:cpu_dedicated_mask"),
        ({"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0-3"}, {}, "hw:cpu_dedicated_mask"),
        ({"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "4"}, {}, "hw:cpu_dedicated_mask"),
        ({"hw:cpu_dedicated_mask": "0"}, {}, "hw:cpu_dedicated_mask"),
        ({"hw:cpu_thread_policy": "isolate"}, {}, "hw:cpu_thread_policy"),
        ({**PINNED, "hw:cpu_thread_policy": "x"}, {}, "hw:cpu_thread_policy"),
        ({"hw:emulator_threads_policy": "isolate"}, {}, "hw:emulator_threads_policy"),
        ({"hw:mem_page_size": "0"}, {}, "hw:mem_page_size"),
        ({"hw:mem_page_size": "huge"}, {}, "hw:mem_page_size"),
        ({"hw:mem_page_size": "3GB"}, {}, "hw:mem_page_size"),
        ({}, {"hw_mem_page_size": "2MB"}, "hw_mem_page_size"),
        ({"hw:mem_page_size": "large"}, {"hw_mem_page_size": "small"}, "hw_mem_page_size"),
        ({"hw:mem_page_size": "small"}, {"hw_mem_page_size": "large"}, "hw_mem_page_size"),
        (TWO_CELLS, {"hw_numa_nodes": "1"}, "hw_numa_nodes"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_is_refused(
    specs: dict[str, str], properties: dict[str, str], key: str
) -> None:
    """By key, with what was found."""
    with pytest.raises(exception.InvalidNUMATopology) as refused:
        topology(specs, properties)
    assert refused.value.kwargs["key"] == key
    assert refused.value.kwargs["allowed"] in refused.value.message


@pytest.mark.parametrize(
    "specs", [TWO_CELLS, PINNED, {"hw:mem_page_size": "large"}], ids=["cells", "pinned", "pages"]
)
def test_vcpus_that_no_host_has_are_not_counted_out(specs: dict[str, str]) -> None:
    """A flavor may have two thousand millions of them, as long as it asks for nothing else."""
    assert topology({}, vcpus=2**31 - 2) is None
    with pytest.raises(exception.InvalidNUMATopology, match="at most 8192"):
        topology(specs, vcpus=2**31 - 2)


@pytest.mark.parametrize(
    ("cpus", "memories", "key"),
    [
        (["0-1", "1-3"], ["2048", "2048"], "hw:numa_cpus.1"),
        (["0", "1-2"], ["2048", "2048"], "hw:numa_cpus.1"),
        (["0-1", "2-9"], ["2048", "2048"], "hw:numa_cpus.1"),
        (["0-3", "^0"], ["2048", "2048"], "hw:numa_cpus.1"),
        (["0-1", "2-3"], ["2048", "2047"], "hw:numa_mem.1"),
        (["0-1", "2-3"], ["0", "4096"], "hw:numa_mem.0"),
    ],
    ids=str,
)
def test_uneven_cells_share_out_all_there_is(
    cpus: list[str], memories: list[str], key: str
) -> None:
    """Each vCPU once, and the flavor's memory."""
    specs = {
        **TWO_CELLS,
        **{f"hw:numa_cpus.{number}": text for number, text in enumerate(cpus)},
        **{f"hw:numa_mem.{number}": text for number, text in enumerate(memories)},
    }
    with pytest.raises(exception.InvalidNUMATopology) as refused:
        topology(specs)
    assert refused.value.kwargs["key"] == key


@pytest.mark.parametrize(
    ("specs", "demand"),
    [
        ({}, numa.CpuDemand(4, 0, None)),
        (TWO_CELLS, numa.CpuDemand(4, 0, None)),
        ({**PINNED, "hw:cpu_thread_policy": "require"}, numa.CpuDemand(0, 4, "require")),
        ({"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0"}, numa.CpuDemand(3, 1, None)),
        ({**PINNED, "hw:emulator_threads_policy": "isolate"}, numa.CpuDemand(0, 5, None)),
    ],
    ids=["none", "cells", "pinned", "mixed", "emulator"],
)
def test_cpus_are_counted_as_placement_counts_them(
    specs: dict[str, str], demand: numa.CpuDemand
) -> None:
    """Isolated emulator threads have a dedicated CPU of their own."""
    assert numa.cpu_demand(a_flavor(vcpus=4, memory_mb=4096, extra_specs=specs), None) == demand
