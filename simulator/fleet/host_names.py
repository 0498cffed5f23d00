"""Host name patterns: ``web-{01..20}`` expands to web-01 to web-20."""

from __future__ import annotations

import re
from collections.abc import Iterator

_RANGE = re.compile(r"\{(\d{1,6})\.\.(\d{1,6})\}")
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,198}[A-Za-z0-9])?")


def expand(pattern: str) -> Iterator[str]:
    """Yield the names of a pattern; ``{01..20}`` keeps the number of digits of its first number.

    Raises ``ValueError`` for an empty range or an invalid host name.
    """
    match = _RANGE.search(pattern)
    if match is None:
        if not _HOST_NAME.fullmatch(pattern):
            raise ValueError(
                f"'{pattern}' is not a host name: use letters, digits and ._- with a letter "
                "or digit at both ends, and numbers as {01..20}"
            )
        yield pattern
        return
    first, last = int(match[1]), int(match[2])
    if first > last:
        raise ValueError(f"the range {match[0]} is empty")
    width = len(match[1]) if match[1].startswith("0") else 0
    for number in range(first, last + 1):
        yield from expand(f"{pattern[: match.start()]}{number:0{width}d}{pattern[match.end() :]}")
