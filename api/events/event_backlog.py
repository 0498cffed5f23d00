"""The newest events of the feed, numbered, for followers whose connection broke."""

import secrets
from collections import deque
from collections.abc import Mapping
from typing import Any

Line = Mapping[str, Any]

_NAME_BYTES = 4


class Backlog:
    """Events with their positions; not thread-safe.

    A position names the backlog and a number, so that another API process, whose numbers differ,
    does not mistake it for one of its own.
    """

    def __init__(self, size_max: int) -> None:
        self._name = secrets.token_hex(_NAME_BYTES)
        self._number = 0
        self._lines: deque[tuple[int, Line]] = deque(maxlen=size_max)
        self._complete_after = 0

    @property
    def position(self) -> str:
        """The position of the newest event."""
        return f"{self._name}.{self._number}"

    def add(self, line: Line) -> str:
        """Keep an event; return its position."""
        if len(self._lines) == self._lines.maxlen:
            self._complete_after = self._lines[0][0]
        self._number += 1
        self._lines.append((self._number, line))
        return self.position

    def interrupt(self) -> None:
        """Note that events are missing between those before and those after this call."""
        self._number += 1
        self._complete_after = self._number
        self._lines.clear()

    def since(self, position: str) -> list[tuple[str, Line]] | None:
        """Return the events after a position, each with its own; None if some are not kept."""
        name, _, number = position.partition(".")
        if name != self._name or not (number.isascii() and number.isdigit()):
            return None
        if not self._complete_after <= int(number) <= self._number:
            return None
        return [(f"{name}.{own}", line) for own, line in self._lines if own > int(number)]
