"""Integer identifiers, for versions of the Compute API without UUIDs."""

import hashlib
import re

BYTES = 6
"""Small enough for a float, in which some clients keep all numbers."""

_DIGITS = re.compile(r"\d{1,15}")


def integer_id(identifier: str) -> int:
    """Return the number of an object, which follows from its UUID or other identifier.

    Among a million objects two have the same number with a probability of 0.2 %.
    """
    digest = hashlib.blake2b(identifier.encode(), digest_size=BYTES).digest()
    return int.from_bytes(digest)


def is_integer_id(text: str) -> bool:
    """Return whether a part of a path is a number rather than a UUID or a name."""
    return _DIGITS.fullmatch(text) is not None
