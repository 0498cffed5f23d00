"""Names of many hosts by one pattern: ``web-{01..20}`` stands for web-01 to web-20."""

from __future__ import annotations

import re
from collections.abc import Iterator

_RANGE = re.compile(r"\{(\d{1,6})\.\.(\d{1,6})\}")
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,198}[A-Za-z0-9])?")


def expand(pattern: str) -> Iterator[str]:
    """Yield the names of a pattern, ``{01..20}`` in as many digits as its first number has.

    Raises ``ValueError`` for an empty range, and for what is no name of a host.
    """
    match = _RANGE.search(pattern)
    if match is None:
        if not _HOST_NAME.fullmatch(pattern):
            raise ValueError(
                f"'{pattern}' is no name of a host: letters, digits and ._- with a letter or digit "
                "at both ends, numbers as {01..20}"
            )
        yield pattern
        return
    first, last = int(match[1]), int(match[2])
    if first > last:
        raise ValueError(f"the range {match[0]} is empty")
    width = len(match[1]) if match[1].startswith("0") else 0
    for number in range(first, last + 1):
        yield from expand(f"{pattern[: match.start()]}{number:0{width}d}{pattern[match.end() :]}")
