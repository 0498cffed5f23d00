"""Text from peers as every database stores it."""

import re

_UNCLEAN = re.compile("[\0\ud800-\udfff]")
_INSTEAD = "\N{REPLACEMENT CHARACTER}"


def is_storable(text: str) -> bool:
    """Return whether it has no NUL and no lone surrogate."""
    return _UNCLEAN.search(text) is None


def storable(text: str) -> str:
    """Return a text whose NULs and lone surrogates, which no database stores, are replaced."""
    return _UNCLEAN.sub(_INSTEAD, text)
