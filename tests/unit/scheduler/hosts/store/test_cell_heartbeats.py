"""Cells count as down when they are silent, unless all of them are."""

import pytest

from scheduler.hosts.store.cell_heartbeats import CellHeartbeats
from tests.fleets import CELL, OTHER_CELL, Clock, scheduling_conf

BOTH = {CELL, OTHER_CELL}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def heartbeats(clock: Clock) -> CellHeartbeats:
    made = CellHeartbeats(scheduling_conf(), clock=clock)
    made.note(CELL)
    made.note(OTHER_CELL)
    return made


def test_a_silent_cell_counts_as_down(clock: Clock, heartbeats: CellHeartbeats) -> None:
    """After service_down_time; one that was never heard is down, too."""
    clock.seconds += 59
    assert heartbeats.is_up(CELL)
    clock.seconds += 1
    assert not heartbeats.is_up(CELL)
    assert not heartbeats.is_up("unknown")
    heartbeats.note(CELL)
    assert heartbeats.is_up(CELL)


def test_a_cell_that_is_assumed_to_be_up_is_not_heard_by_that(
    clock: Clock, heartbeats: CellHeartbeats
) -> None:
    """A restored cell has service_down_time to send something; a known one is not made younger."""
    clock.seconds += 60
    heartbeats.assume("restored")
    heartbeats.assume(CELL)
    assert heartbeats.is_up("restored")
    assert not heartbeats.is_up(CELL)
    assert sorted(heartbeats.in_doubt(BOTH)) == sorted(BOTH)


def test_silent_cells_are_named(clock: Clock, heartbeats: CellHeartbeats) -> None:
    """Of those that are asked about: the ones that said nothing for so long, or never."""
    assert heartbeats.silent({CELL, "unknown"}, 10) == ["unknown"]
    clock.seconds += 11
    heartbeats.note(OTHER_CELL)
    assert heartbeats.silent(BOTH, 10) == [CELL]
    assert heartbeats.silent({OTHER_CELL}, 10) == []


def test_a_cell_is_in_doubt_if_no_cell_was_heard_for_long(
    clock: Clock, heartbeats: CellHeartbeats
) -> None:
    """Until each is heard again: the connection of this process may have been the cause."""
    heard_at = clock.seconds
    clock.seconds += 59
    assert heartbeats.in_doubt(BOTH) == {}
    clock.seconds += 1
    assert heartbeats.in_doubt(BOTH) == {CELL: heard_at, OTHER_CELL: heard_at}
    heartbeats.note(CELL)
    assert heartbeats.in_doubt(BOTH) == {OTHER_CELL: heard_at}
    assert heartbeats.in_doubt({CELL}) == {}
    heartbeats.forget(OTHER_CELL)
    assert heartbeats.in_doubt(BOTH) == {}


def test_a_cell_is_not_in_doubt_while_others_are_heard(
    clock: Clock, heartbeats: CellHeartbeats
) -> None:
    """It is down, and no request waits for it."""
    for _ in range(14):
        clock.seconds += 5
        heartbeats.note(CELL)
    assert not heartbeats.is_up(OTHER_CELL)
    assert heartbeats.in_doubt(BOTH) == {}
    clock.seconds += 45  # cut off, but for less than a cell needs to count as down
    heartbeats.note(CELL)
    assert list(heartbeats.in_doubt(BOTH)) == [OTHER_CELL]
