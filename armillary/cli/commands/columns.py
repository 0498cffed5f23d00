"""Values in tables: short text for people, the whole value for programs (``-f json``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cliff.columns import FormattableColumn

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def printable(value: Any) -> str:
    """Return text from somebody else without what a terminal would obey, line ends but for."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(value))


class Text(FormattableColumn[str]):
    """A text that somebody chose."""

    def human_readable(self) -> str:
        return printable(self._value)


class Pairs(FormattableColumn[Mapping[str, Any]]):
    """A mapping: ``key=value`` for each, one a line."""

    def human_readable(self) -> str:
        return "\n".join(printable(f"{key}={value}") for key, value in sorted(self._value.items()))


class Words(FormattableColumn[Sequence[str]]):
    """A list of texts: joined by commas."""

    def human_readable(self) -> str:
        return ", ".join(printable(word) for word in self._value)


class Used(FormattableColumn[Mapping[str, float]]):
    """How much of something is taken; sorted by that."""

    def __init__(self, used: float, total: float) -> None:
        super().__init__({"used": used, "total": total})

    def human_readable(self) -> str:
        return f"{self._value['used']:g} of {self._value['total']:g}"

    def __lt__(self, other: object) -> bool:
        return isinstance(other, Used) and self._value["used"] < other._value["used"]


class Missing(FormattableColumn[None]):
    """No value: an empty cell for people, null for programs; the last one when sorted."""

    def __init__(self) -> None:
        super().__init__(None)

    def human_readable(self) -> str:
        return ""

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return not isinstance(other, Missing)


def cells(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return plain values as a table shows them."""
    return tuple(_cell(value) for value in values)


def _cell(value: Any) -> Any:
    if value is None or value == "":
        return Missing()
    if isinstance(value, str) and _CONTROL.search(value):
        return Text(value)
    if isinstance(value, Mapping):
        return Pairs(value)
    if isinstance(value, list | tuple):
        return Words(value)
    return value
