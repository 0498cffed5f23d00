"""Sizes of memory pages as text: a number of KiB, or one with a unit."""

import re

SIZE_KB_MAX = 64 * 1024 * 1024
RULE = "a size such as 2048 (KiB), 2MB or 1GB"

_SIZE = re.compile(r"([0-9]{1,9})\s*([kmg]?)i?b?", re.IGNORECASE)
_KB_OF_UNIT = {"": 1, "k": 1, "m": 1024, "g": 1024 * 1024}


def parse_kb(text: str) -> int | None:
    """Return a page size in KiB; None for anything else than a size up to ``SIZE_KB_MAX``."""
    match = _SIZE.fullmatch(text.strip())
    size_kb = int(match[1]) * _KB_OF_UNIT[match[2].lower()] if match else 0
    return size_kb if 1 <= size_kb <= SIZE_KB_MAX else None
