"""Times as text in ISO 8601; UTC unless they name a time zone."""

from datetime import UTC, datetime


def parse(text: str) -> datetime:
    """Return a time with its time zone. Raises ValueError."""
    return with_zone(datetime.fromisoformat(text))


def with_zone(moment: datetime) -> datetime:
    """Return a time with its time zone, which is UTC if it has none."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
