"""Times in the Compute API's formats; always UTC."""

from __future__ import annotations

from datetime import UTC, datetime


def seconds(value: datetime | None) -> str | None:
    """Return a time as 2030-01-31T12:00:00Z."""
    return None if value is None else f"{_utc(value):%Y-%m-%dT%H:%M:%SZ}"


def microseconds(value: datetime | None) -> str | None:
    """Return a time as 2030-01-31T12:00:00.000000."""
    return None if value is None else f"{_utc(value):%Y-%m-%dT%H:%M:%S.%f}"


def _utc(value: datetime) -> datetime:
    """Return the time in UTC; one without a zone is assumed to be UTC."""
    return value.astimezone(UTC) if value.tzinfo else value
