"""Tests of turning a clock's seconds into moments."""

from datetime import UTC, datetime

from conductor.common.clock import moment


def test_a_moment_is_in_whole_seconds_of_utc() -> None:
    """What is below is lost on the wire anyway."""
    assert moment(0.9) == datetime(1970, 1, 1, tzinfo=UTC)
