"""Times as text are in UTC unless they name a time zone."""

from datetime import UTC, datetime, timedelta

import pytest

from armillary import times


@pytest.mark.parametrize(
    ("text", "hour"),
    [("2030-01-31T12:00", 12), ("2030-01-31T12:00:00Z", 12), ("2030-01-31T12:00+02:00", 10)],
    ids=["no zone", "UTC", "another zone"],
)
def test_time_is_parsed_in_its_zone_or_utc(text: str, hour: int) -> None:
    """The result has a time zone in any case."""
    found = times.parse(text)
    assert found == datetime(2030, 1, 31, hour, tzinfo=UTC)
    assert isinstance(found.utcoffset(), timedelta)
