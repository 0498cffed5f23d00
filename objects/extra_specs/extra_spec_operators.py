"""Operators in extra specs: ``>= 4``, ``<in> avx``, ``<or> a <or> b``, or a plain string.

A requirement is split at white space. If its first word is an operator, the other words are its
operands; otherwise it is compared as a string.

=============================== ==================================================================
``=`` ``>=``                    the value is a number and at least the operand
``==`` ``!=`` ``<=``            the value is a number and equal, not equal, at most
``s==`` ``s!=`` ``s<`` ``s<=``
``s>`` ``s>=``                  the same as strings, character by character ("10" is before "9")
``<in>``                        the operand is a substring of the value
``<all-in> a b``                every operand is a substring of the value
``<or> a <or> b``               the value is one of the operands
=============================== ==================================================================

Superfluous operands are ignored. With missing operands, or a numeric operand that is not a number,
nothing matches: a mistake in a flavor keeps its own instances from starting, but does not affect
other requests.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

Predicate = Callable[[str], bool]

_NUMERIC: dict[str, Callable[[float, float], bool]] = {
    "=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
}
_TEXT: dict[str, Callable[[str, str], bool]] = {
    "s==": operator.eq,
    "s!=": operator.ne,
    "s<": operator.lt,
    "s<=": operator.le,
    "s>": operator.gt,
    "s>=": operator.ge,
}
_WORDS = ("<in>", "<all-in>", "<or>")


def parse(requirement: str) -> Predicate:
    """Parse a requirement into a predicate on values."""
    first, *operands = requirement.split() or [""]
    if compare := _NUMERIC.get(first):
        return _numeric(compare, operands)
    if compare_text := _TEXT.get(first):
        return lambda value: bool(operands) and compare_text(value, operands[0])
    match first:
        case "<in>":
            return lambda value: bool(operands) and operands[0] in value
        case "<all-in>":
            return lambda value: bool(operands) and all(word in value for word in operands)
        case "<or>":
            alternatives = _alternatives(operands)
            return lambda value: value in alternatives
        case _:
            return lambda value: value == requirement


def mistake(requirement: str) -> str | None:
    """Return why a requirement is invalid, without a full stop; None if it is valid.

    A requirement without an operator is a plain string and always valid.
    """
    first, *operands = requirement.split() or [""]
    if first not in (*_NUMERIC, *_TEXT, *_WORDS):
        return None
    if not operands:
        return f"The operator {first} needs an operand after it"
    if first in _NUMERIC and _number(operands[0]) is None:
        return f"The operand of {first} must be a number"
    if first == "<or>" and (len(operands) % 2 == 0 or set(operands[1::2]) - {"<or>"}):
        return "Alternatives must be separated by <or>"
    return None


def matches(value: str, requirement: str) -> bool:
    """Return whether a value meets a requirement."""
    return parse(requirement)(value)


def _numeric(compare: Callable[[float, float], bool], operands: list[str]) -> Predicate:
    wanted = _number(operands[0]) if operands else None
    if wanted is None:
        return lambda _value: False

    def question(value: str) -> bool:
        number = _number(value)
        return number is not None and compare(number, wanted)

    return question


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _alternatives(operands: list[str]) -> set[str]:
    """Return every second word, up to the first that is not separated by ``<or>``."""
    found = set(operands[:1])
    for separator, word in zip(operands[1::2], operands[2::2], strict=False):
        if separator != "<or>":
            break
        found.add(word)
    return found
