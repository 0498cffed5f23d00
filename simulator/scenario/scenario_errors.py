"""Errors in scenario files: location, value found, values allowed."""

from collections.abc import Iterable
from typing import Any

from armillary import exception

Place = tuple[str | int, ...]
"""Keys and indexes that lead to a value in the document."""

FOUND_CHARACTERS_MAX = 80


class BadScenario(exception.Invalid):
    """A scenario, or the load it refers to, is invalid."""

    template = "%(file)s: %(where)s: %(reason)s"


class ScenarioError(Exception):
    """An error at a location of the document; the caller adds the file."""

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(reason)
        self.place = place
        self.reason = reason


def path_text(place: Iterable[str | int]) -> str:
    """Return a location as ``hosts[0].vcpus``."""
    text = ""
    for step in place:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".") or "the document"


def found(value: Any) -> str:
    """Return a value for a message, truncated if it is long."""
    text = repr(value)
    is_long = len(text) > FOUND_CHARACTERS_MAX
    return f"{text[: FOUND_CHARACTERS_MAX - 1]}…" if is_long else text
