"""The cells of many hosts as numbers say what each cell says."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from objects import numa
from objects.numa.cell_columns import (
    CELLS_MAX,
    POOLS_MAX,
    can_serve,
    facts_of,
    is_countable,
    needed,
)
from objects.numa.fitting import Ratios, fit_cell
from tests.fixtures.fleets.numa_fleets import (
    a_guest,
    a_host_cell,
    a_host_topology,
    guests,
    host_topologies,
)

TWO_OF_A_SIZE = a_host_cell(pages=(numa.PagePool(2048, 4, 4), numa.PagePool(2048, 256)))
ODD_PAGES = a_host_cell(pages=(numa.PagePool(64, 4), numa.PagePool(3, 999999), numa.PagePool(3, 1)))
SMALL_TAKEN = a_host_cell(pages=(numa.PagePool(64, 1000), numa.PagePool(4, 10)))
MEMORY_TAKEN = a_host_cell(memory_mb_used=3000)
LONE_THREADS = a_host_cell(siblings=())
HUGE_ONLY = a_host_cell(pages=(numa.PagePool(2048, 512),), memory_mb_used=10**30)


def serves(
    hosts: list[numa.HostTopology], guest: numa.InstanceTopology, cpu: float, ram: float
) -> list[list[list[bool]]]:
    """Return [guest cell][host][cell], those that are there."""
    width = max(len(host.cells) for host in hosts)
    facts: dict[int, np.ndarray] = {}
    for some in needed(guest):
        columns = np.array([facts_of(host, some, width) for host in hosts]).transpose(1, 2, 0)
        facts.update(zip(some, columns, strict=True))
    ratios = {"cpu_ratio": np.full(len(hosts), cpu), "ram_ratio": np.full(len(hosts), ram)}
    found = []
    for wanted in guest.cells:
        mask = can_serve(facts, wanted, guest, **ratios).T
        assert not any(row[len(host.cells) :].any() for row, host in zip(mask, hosts, strict=True))
        found.append(
            [row[: len(host.cells)].tolist() for row, host in zip(mask, hosts, strict=True)]
        )
    return found


@given(
    hosts=st.lists(host_topologies(), min_size=1, max_size=3),
    guest=guests(),
    cpu=st.sampled_from([0.5, 1.0, 2.0]),
    ram=st.sampled_from([0.5, 1.0, 1.5]),
)
@example([a_host_topology(TWO_OF_A_SIZE)], a_guest(page_size_kb=2048), 1.0, 1.0)
@example([a_host_topology(TWO_OF_A_SIZE)], a_guest(page_size_kb="large"), 1.0, 1.0)
@example([a_host_topology(ODD_PAGES)], a_guest(page_size_kb="small", memory_mb=3), 1.0, 1.0)
@example([a_host_topology(ODD_PAGES)], a_guest(page_size_kb="any", memory_mb=3), 1.0, 1.0)
@example([a_host_topology(ODD_PAGES)], a_guest(page_size_kb=3, memory_mb=3), 1.0, 1.0)
@example([a_host_topology(HUGE_ONLY)], a_guest(page_size_kb="small"), 1.0, 1.0)
@example([a_host_topology(HUGE_ONLY)], a_guest(page_size_kb="any"), 1.0, 1.0)
@example([a_host_topology(HUGE_ONLY)], a_guest(memory_mb=10**30), 1.0, 1.0)
@example([a_host_topology(SMALL_TAKEN)], a_guest(page_size_kb="small", memory_mb=32), 1.0, 1.0)
@example([a_host_topology(MEMORY_TAKEN)], a_guest(page_size_kb=4), 1.0, 1.0)
@example([a_host_topology(LONE_THREADS)], a_guest(pinned=2, thread_policy="require"), 1.0, 1.0)
@example([a_host_topology(LONE_THREADS)], a_guest(pinned=2, thread_policy="isolate"), 1.0, 1.0)
@example([a_host_topology(a_host_cell())], a_guest(memory_mb=0), 1.0, 1.0)
@example([a_host_topology(a_host_cell())], a_guest(memory_mb=0, page_size_kb=1048576), 1.0, 1.0)
def test_a_cell_serves_where_it_fits(
    hosts: list[numa.HostTopology], guest: numa.InstanceTopology, cpu: float, ram: float
) -> None:
    """As ``fit_cell`` has it for one cell."""
    assert serves(hosts, guest, cpu, ram) == [
        [
            [fit_cell(cell, wanted, guest, Ratios(cpu, ram)) is not None for cell in host.cells]
            for host in hosts
        ]
        for wanted in guest.cells
    ]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (a_host_topology(*map(a_host_cell, range(CELLS_MAX))), True),
        (a_host_topology(*map(a_host_cell, range(CELLS_MAX + 1))), False),
        (a_host_topology(a_host_cell(pages=(numa.PagePool(4, 1),) * POOLS_MAX)), True),
        (a_host_topology(a_host_cell(pages=(numa.PagePool(4, 1),) * (POOLS_MAX + 1))), False),
    ],
    ids=["cells", "a cell too many", "pages", "a size too many"],
)
def test_hosts_beyond_the_bounds_are_not_told_in_numbers(
    host: numa.HostTopology, expected: bool
) -> None:
    assert is_countable(host) is expected
