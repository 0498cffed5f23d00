"""Table values: short text for people, the whole value for programs (``-f json``)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cliff.columns import FormattableColumn

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def printable(value: Any) -> str:
    """Strip terminal control sequences from untrusted text; keep line ends."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(value))


class Text(FormattableColumn[str]):
    """Untrusted text."""

    def human_readable(self) -> str:
        return printable(self._value)


class Pairs(FormattableColumn[Mapping[str, Any]]):
    """A mapping, shown as one ``key=value`` per line."""

    def human_readable(self) -> str:
        return "\n".join(printable(f"{key}={value}") for key, value in sorted(self._value.items()))


class Words(FormattableColumn[Sequence[str]]):
    """A list of strings, joined by commas."""

    def human_readable(self) -> str:
        return ", ".join(printable(word) for word in self._value)


class Used(FormattableColumn[Mapping[str, float]]):
    """Used and total amount; sorted by the used amount."""

    def __init__(self, used: float, total: float) -> None:
        super().__init__({"used": used, "total": total})

    def human_readable(self) -> str:
        return f"{self._value['used']:g} of {self._value['total']:g}"

    def __lt__(self, other: object) -> bool:
        return isinstance(other, Used) and self._value["used"] < other._value["used"]


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
    if isinstance(value, str) and _CONTROL.search(value):
        return Text(value)
    if isinstance(value, Mapping):
        return Pairs(value)
    if isinstance(value, list | tuple):
        return Words(value)
    return value
