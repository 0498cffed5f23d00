"""Shell patterns of host names: whether two of them fit a common name."""

import fnmatch
import string
from collections.abc import Iterable

_CHARACTERS = frozenset(string.ascii_letters + string.digits + "._:@-")
"""Those of host names; see ``identifiers.is_host_name``."""
_ANY_TEXT = None
"""What a star becomes; any other part of a pattern is the set of the characters that it fits."""

_Part = frozenset[str] | None


def overlap(one: str, other: str) -> bool:
    """Return whether there is a name that both patterns fit, in the form that fnmatch knows."""
    left, right = _parts(one), _parts(other)
    # `ahead[j]`: whether what remains of the left pattern and `right[j:]` fit a common text.
    ahead = _without_left(right)
    for part in reversed(left):
        before, ahead = ahead, [False] * (len(right) + 1)
        for j in range(len(right), -1, -1):
            ahead[j] = _fits(part, right[j:], before, ahead, j)
    return ahead[0]


def common(some: Iterable[str], others: Iterable[str]) -> tuple[str, str] | None:
    """Return the first pattern of each side that fit a common name, None if there are none."""
    others = list(others)
    return next(((one, other) for one in some for other in others if overlap(one, other)), None)


def _without_left(right: list[_Part]) -> list[bool]:
    return [all(part is _ANY_TEXT for part in right[j:]) for j in range(len(right) + 1)]


def _fits(part: _Part, rest: list[_Part], before: list[bool], ahead: list[bool], j: int) -> bool:
    """Return whether a part of the left pattern, and what follows it, fit a text with the rest."""
    if part is _ANY_TEXT and before[j]:
        return True  # the star fits no text
    if not rest:
        return False
    if rest[0] is _ANY_TEXT:
        return ahead[j + 1] or before[j]  # their star fits no text, or this part
    if part is _ANY_TEXT:
        return ahead[j + 1]  # the star fits their character
    return bool(part & rest[0]) and before[j + 1]


def _parts(pattern: str) -> list[_Part]:
    found: list[_Part] = []
    position = 0
    while position < len(pattern):
        end = _end_of_part(pattern, position)
        piece, position = pattern[position:end], end
        if piece == "*":
            found.append(_ANY_TEXT)
        elif len(piece) == 1 and piece not in "?[":
            found.append(frozenset(piece))
        else:
            piece = "[[]" if piece == "[" else piece
            found.append(frozenset(one for one in _CHARACTERS if fnmatch.fnmatchcase(one, piece)))
    return found


def _end_of_part(pattern: str, start: int) -> int:
    """Return where a part ends: a set of characters in brackets, or one character."""
    if pattern[start] != "[":
        return start + 1
    first = start + 2 if pattern[start + 1 : start + 2] == "!" else start + 1
    closing = pattern.find("]", first + 1)  # a bracket that comes first is one of the set
    return start + 1 if closing < 0 else closing + 1
