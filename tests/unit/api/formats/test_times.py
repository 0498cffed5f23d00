"""Times are written as the Compute API writes them."""

from datetime import UTC, datetime, timedelta, timezone

from api.formats import times

NOON = datetime(2030, 1, 31, 12, 0, 0, 5, tzinfo=UTC)


def test_seconds_end_with_z() -> None:
    """No fractions."""
    assert times.seconds(NOON) == "2030-01-31T12:00:00Z"


def test_microseconds_have_no_zone() -> None:
    """It is UTC all the same."""
    assert times.microseconds(NOON) == "2030-01-31T12:00:00.000005"


def test_other_zones_are_converted() -> None:
    """What counts is the moment."""
    there = NOON.astimezone(timezone(timedelta(hours=2)))
    assert times.seconds(there) == "2030-01-31T12:00:00Z"


def test_a_time_without_zone_is_utc() -> None:
    """As databases give it back."""
    assert times.seconds(NOON.replace(tzinfo=None)) == "2030-01-31T12:00:00Z"


def test_no_time_stays_none() -> None:
    """In either form."""
    assert (times.seconds(None), times.microseconds(None)) == (None, None)
