"""Reserved parts of a host's NUMA cells."""

from pathlib import Path

import pytest

from armillary import exception
from compute_agent.host.reserved import (
    ReservedAmounts,
    ReservedPages,
    ReservedTopology,
    check_pages,
    parse_pages,
    without_reserved,
)
from objects.numa import HostCell, HostTopology, InstanceCell, InstanceTopology, PagePool, fit
from tests.fixtures.agent import Agent, agent_conf

HUGE = 2048


def a_cell(number: int, memory_mb: int = 1024, huge: int = 0) -> HostCell:
    """Return a cell whose memory is in huge pages and, the rest, in pages of 4 KiB."""
    ordinary = PagePool(4, (memory_mb * 1024 - huge * HUGE) // 4)
    pages = (ordinary, PagePool(HUGE, huge)) if huge else (ordinary,)
    return HostCell(id=number, cpus=frozenset({number}), memory_mb=memory_mb, pages=pages)


def left(cells: tuple[HostCell, ...]) -> list[int]:
    """Return the memory that is left of each cell."""
    return [cell.memory_mb - cell.memory_mb_used for cell in cells]


def test_memory_is_taken_from_the_first_cells() -> None:
    """As much as they have."""
    cells = without_reserved([a_cell(0), a_cell(1), a_cell(2)], ReservedTopology(memory_mb=1536))
    assert left(cells) == [0, 512, 1024]


def test_nothing_reserved_is_nothing_changed() -> None:
    """The cells are as they were."""
    cells = (a_cell(0, huge=10), a_cell(1))
    assert without_reserved(cells, ReservedTopology()) == cells


def test_more_than_there_is_leaves_nothing() -> None:
    """And no less."""
    assert left(without_reserved([a_cell(0), a_cell(1)], ReservedTopology(memory_mb=9999))) == [
        0,
        0,
    ]


def test_huge_pages_are_part_of_what_is_reserved() -> None:
    """512 MiB in all: 200 in pages of the second cell, the rest ordinary memory of the first."""
    reserve = ReservedTopology((ReservedPages(1, HUGE, 100),), 512)
    first, second = without_reserved([a_cell(0), a_cell(1, huge=200)], reserve)
    assert left((first, second)) == [1024 - 312, 1024 - 200]
    assert [pool.free for pool in second.huge_pages] == [100]
    assert second.ordinary_memory_mb - second.ordinary_memory_mb_used == 1024 - 400


def test_memory_comes_from_ordinary_pages_not_from_huge_ones() -> None:
    """Huge pages are there for guests who ask for them."""
    (cell,) = without_reserved([a_cell(0, huge=256)], ReservedTopology(memory_mb=512))
    assert [pool.free for pool in cell.huge_pages] == [256]
    assert cell.ordinary_memory_mb == 0
    assert cell.pool(4) == PagePool(4, 0)


@pytest.mark.parametrize("page_size_kb", [None, 4], ids=["any", "small"])
@pytest.mark.parametrize(("memory_mb", "fits"), [(512, True), (513, False)])
def test_a_guest_gets_what_is_left(memory_mb: int, fits: bool, page_size_kb: int | None) -> None:
    """However overcommitted the rest is: what is reserved is not there."""
    (cell,) = without_reserved([a_cell(0)], ReservedTopology(memory_mb=512))
    guest = InstanceTopology(
        (InstanceCell(0, vcpus=frozenset({0}), memory_mb=memory_mb, page_size_kb=page_size_kb),)
    )
    assert (fit(HostTopology((cell,), 4.0, 2.0), guest) is not None) is fits


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("node:0,size:2048,count:64", ReservedPages(0, 2048, 64)),
        ("node:1, size:1GB, count:1", ReservedPages(1, 1024 * 1024, 1)),
        ("count:3,node:2,size:2mb", ReservedPages(2, 2048, 3)),
    ],
    ids=["kib", "gib", "any-order"],
)
def test_pages_are_read(text: str, expected: ReservedPages) -> None:
    """In KiB, or with a unit."""
    assert parse_pages([text]) == (expected,)


@pytest.mark.parametrize(
    "text",
    [
        "", "node:0", "node:0,size:2048", "node:0,size:2048,count:1,extra:1",
        "node:0,size:2TB,count:1", "node:-1,size:2048,count:1", "node:0,size:2048,count:x",
        "node:0,node:0,size:2048,count:1", "node:0,size:2048,count:99999999999",
        "node:0,size:0,count:1", "node:0,size:128GB,count:1",
    ],
    ids=[
        "empty", "one", "two", "more", "unit", "negative", "word", "twice", "large", "no-size",
        "large-size",
    ],
)  # fmt: skip
def test_a_bad_text_is_quoted(text: str) -> None:
    """With an example."""
    with pytest.raises(exception.ConfigurationError, match="node:0,size:2048,count:64"):
        parse_pages([text])


def test_the_same_pages_twice_are_refused() -> None:
    """It is unclear which number holds."""
    with pytest.raises(exception.ConfigurationError, match="listed twice"):
        parse_pages(["node:0,size:2048,count:1", "node:0,size:2MB,count:2"])


@pytest.mark.parametrize("cell_id", [0, 1], ids=["too-many", "no-such-cell"])
def test_a_host_has_to_have_the_pages(agent: Agent, cell_id: int) -> None:
    """The message says how many it has."""
    agent.conf.set_override("reserved_huge_pages", [f"node:{cell_id},size:2048,count:65"])
    with pytest.raises(exception.ConfigurationError, match="of host h"):
        check_pages(agent.conf, "h", [a_cell(0, huge=64)])
    check_pages(agent.conf, "h", [a_cell(0, huge=65), a_cell(1, huge=65)])


def test_disk_is_rounded_up_to_whole_gib(tmp_path: Path) -> None:
    """A started GiB is kept back whole."""
    conf = agent_conf(tmp_path)
    conf.set_override("reserved_host_cpus", 2)
    conf.set_override("reserved_host_disk_mb", 1025)
    assert ReservedAmounts.of(conf, guests=0) == ReservedAmounts(vcpus=2, memory_mb=512, disk_gb=2)
