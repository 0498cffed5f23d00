"""Paths of zones: the names from below the asked zone down to the one that is meant.

As text, in tables and for people, they are joined by slashes; the asked zone itself is the empty
text. No name has a slash.
"""

from __future__ import annotations

from collections.abc import Sequence

Path = tuple[str, ...]

OWN: Path = ()


def to_text(path: Sequence[str]) -> str:
    """Return a path as it is stored and shown."""
    return "/".join(path)


def from_text(text: str) -> Path:
    """Return a stored path."""
    return tuple(text.split("/")) if text else OWN
