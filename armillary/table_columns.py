"""Table values: short text for people, the whole value for programs (``-f json``)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from cliff.columns import FormattableColumn

from armillary import times

SHORT_ID_CHARACTERS = 8

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters of terminals except the line end, and what changes the order of text."""
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(Z|\+00:00)?")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UNITS = (("d", 86400), ("h", 3600), ("m", 60))
_LARGEST_COUNT = 2
"""Minimum number of a unit to use it: 90 minutes, not one hour."""


def printable(value: Any) -> str:
    """Strip terminal control sequences from untrusted text; keep line ends."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(value))


class Text(FormattableColumn[str]):
    """Untrusted text."""

    def human_readable(self) -> str:
        return printable(self._value)


class Pairs(FormattableColumn[Mapping[str, Any]]):
    """A mapping, shown as one ``key=value`` per line; a list has a line for each value."""

    def human_readable(self) -> str:
        return "\n".join(
            printable(f"{key}={each}")
            for key, value in sorted(self._value.items())
            for each in (value if isinstance(value, list) else [value])
        )


class Words(FormattableColumn[Sequence[str]]):
    """A list of strings, joined by commas."""

    def human_readable(self) -> str:
        return ", ".join(printable(word) for word in self._value)


class Used(FormattableColumn[Mapping[str, float]]):
    """Used and total amount; sorted by the used amount."""

    def __init__(self, used: float, total: float) -> None:
        super().__init__({"used": used, "total": total})

    def human_readable(self) -> str:
        return f"{_number(self._value['used'])} of {_number(self._value['total'])}"

    def __lt__(self, other: object) -> bool:
        return isinstance(other, Used) and self._value["used"] < other._value["used"]


class ShortId(FormattableColumn[str]):
    """An id shortened for people, in a form that commands accept; other ids stay whole."""

    def human_readable(self) -> str:
        is_uuid = _UUID.fullmatch(self._value) is not None
        return self._value[:SHORT_ID_CHARACTERS] if is_uuid else printable(self._value)


class Age(FormattableColumn[float | None]):
    """The time since a moment: ``5m`` for people, seconds for programs."""

    def __init__(self, since: str | None, now: datetime | None = None) -> None:
        value = None
        if since:
            seconds = ((now or datetime.now(UTC)) - times.parse(since)).total_seconds()
            value = max(0, round(seconds))
        super().__init__(value)

    def human_readable(self) -> str:
        if self._value is None:
            return ""
        for unit, seconds in _UNITS:
            if self._value >= _LARGEST_COUNT * seconds:
                return f"{self._value // seconds:g}{unit}"
        return f"{self._value:g}s"


class Missing(FormattableColumn[None]):
    """No value: an empty cell for people, null for programs; sorted last."""

    def __init__(self) -> None:
        super().__init__(None)

    def human_readable(self) -> str:
        return ""

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return not isinstance(other, Missing)


def cells(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return plain values as table cells."""
    return tuple(_cell(value) for value in values)


def _cell(value: Any) -> Any:
    if value is None or value == "":
        return Missing()
    if isinstance(value, str):
        if found := _TIME.fullmatch(value):
            return f"{found[1]}T{found[2]}Z"  # one form of all times: UTC, and says so
        return Text(value) if _CONTROL.search(value) else value
    if isinstance(value, Mapping):
        return Pairs(value)
    if isinstance(value, list | tuple):
        return Words(value)
    return value


def _number(amount: float) -> str:
    return str(int(amount)) if amount == int(amount) else f"{amount:g}"
