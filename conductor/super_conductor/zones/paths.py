"""Zone paths: the zone names from below the asked zone down to the target zone.

In tables and for people a path is text joined by slashes; the asked zone itself is the empty text.
Zone names contain no slash.
"""

from collections.abc import Sequence

Path = tuple[str, ...]

OWN: Path = ()


def to_text(path: Sequence[str]) -> str:
    """Return a path as text."""
    return "/".join(path)


def from_text(text: str) -> Path:
    """Return the path of a text."""
    return tuple(text.split("/")) if text else OWN
