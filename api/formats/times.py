"""Times in the Compute API's formats; always UTC."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from armillary import times
from armillary.http.validation import invalid


def seconds(value: datetime | None) -> str | None:
    """Return a time as 2030-01-31T12:00:00Z."""
    return None if value is None else f"{_utc(value):%Y-%m-%dT%H:%M:%SZ}"


def microseconds(value: datetime | None) -> str | None:
    """Return a time as 2030-01-31T12:00:00.000000."""
    return None if value is None else f"{_utc(value):%Y-%m-%dT%H:%M:%S.%f}"


def asked(query: Mapping[str, Any], name: str) -> datetime | None:
    """Return the time in a query parameter in UTC, if it was given. Raises Invalid."""
    text = query.get(name)
    if text is None:
        return None
    try:
        return times.parse(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:  # in UTC it may be before year 1 or after 9999
        raise invalid(name, text, "It must be a time such as 2030-01-31T12:00:00Z") from error


def asked_changes(query: Mapping[str, Any]) -> tuple[datetime | None, datetime | None]:
    """Return the times between which something has changed, as far as given. Raises Invalid."""
    since, before = asked(query, "changes-since"), asked(query, "changes-before")
    if since is not None and before is not None and since > before:
        reason = "changes-since must be less than or equal to changes-before"
        raise invalid("changes-since", query["changes-since"], reason)
    return since, before


def _utc(value: datetime) -> datetime:
    """Return the time in UTC; one without a zone is assumed to be UTC."""
    return value.astimezone(UTC) if value.tzinfo else value
