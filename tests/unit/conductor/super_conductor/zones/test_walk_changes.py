"""Tests of what becomes of a walk after news of its attempt."""

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest

from conductor.super_conductor.db.zones.zone_walks import Walk, WalkState
from conductor.super_conductor.zones import walk_changes
from objects.zones.zone_attempt import AttemptState, ZoneAttempt
from tests.builders import a_uuid

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = BEGAN + timedelta(seconds=5)


def a_walk(state: str) -> Walk:
    """Return a walk whose first attempt is in a zone."""
    return Walk(
        instance_uuid=a_uuid(), reservation_id="r-1", start=0, step=0, attempt=1, state=state,
        path="eu", host_id="h1", since=BEGAN, heard_at=BEGAN, failures=[], is_deleting=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "answer",
    [None, ZoneAttempt(1, AttemptState.BUILDING), ZoneAttempt(1, AttemptState.CANCELLING)],
    ids=["of another attempt", "building", "cancelling"],
)
def test_the_next_zone_waits_until_nothing_is_left_in_the_last(answer: ZoneAttempt | None) -> None:
    """The walk stays where it is, and is cancelled there again."""
    walk = a_walk(WalkState.CANCELLING)
    assert walk_changes.after_cancel(walk, answer, NOW) == dataclasses.replace(walk, heard_at=NOW)


def test_the_next_zone_has_its_turn_when_nothing_is_left_in_the_last() -> None:
    """One step further, at no zone yet."""
    walk = a_walk(WalkState.CANCELLING)
    answer = ZoneAttempt(1, AttemptState.GONE)
    after = walk_changes.after_cancel(walk, answer, NOW)
    assert (after.state, after.step, after.path) == (WalkState.NEXT, 1, None)
