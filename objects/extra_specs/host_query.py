"""The ``query`` scheduler hint: JSON such as ``["and", [">=", "$free_ram_mb", 1024]]``.

A query is a list: an operator, then its arguments, which are plain values, host attributes
(``$name``, or ``$name.key`` for an entry of a dictionary) and nested queries.

==================== ============================================================================
``=`` ``<`` ``>``    the first argument compared with each of the others; with fewer than two it
``<=`` ``>=``        does not hold
``in``               the first argument is one of the others
``and`` ``or``       all, or any, of the arguments hold
``not``              one of the arguments does not hold
==================== ============================================================================

An argument that is null, empty, or an attribute that the host does not report, is ignored. Values
that cannot be compared (a string with a number) do not match. A query within ``not`` is negated at
any depth; similar systems are known to do so at the top level only.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from armillary import exception

HINT = "query"
DEPTH_MAX = 20
SIZE_MAX = 1000
"""Maximum number of queries and arguments in total."""

Lookup = Callable[[str], Any]
"""Returns a host attribute by name; None if there is none."""

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
_OTHERS = ("in", "and", "or", "not")
_PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True, slots=True)
class Query:
    """An operator and its arguments: plain values, attributes, nested queries."""

    operator: str
    arguments: tuple[Any, ...]

    def holds(self, lookup: Lookup) -> bool:
        """Return whether it holds for a host."""
        values = [
            value for value in map(lookup_in(lookup), self.arguments) if value not in _LEFT_OUT
        ]
        match self.operator:
            case "and":
                return all(values)
            case "or":
                return any(values)
            case "not":
                return any(not value for value in values)
            case "in":
                return bool(values) and any(
                    _is(operator.eq, values[0], each) for each in values[1:]
                )
            case _:
                compare = _COMPARISONS[self.operator]
                return len(values) > 1 and all(_is(compare, values[0], each) for each in values[1:])

    @property
    def attributes(self) -> set[str]:
        """Names of the host attributes that it uses."""
        names: set[str] = set()
        for argument in self.arguments:
            if isinstance(argument, Query):
                names |= argument.attributes
            elif isinstance(argument, Attribute):
                names.add(argument.name)
        return names


@dataclass(frozen=True, slots=True)
class Attribute:
    """A host attribute, or a value nested in it."""

    name: str
    keys: tuple[str, ...] = ()

    def value(self, lookup: Lookup) -> Any:
        """Return the host's value; None if there is none."""
        value = lookup(self.name)
        for key in self.keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value


_LEFT_OUT: tuple[Any, ...] = (None, "")


def lookup_in(lookup: Lookup) -> Callable[[Any], Any]:
    """Return a function that evaluates an argument for a host."""

    def value(argument: Any) -> Any:
        if isinstance(argument, Query):
            return argument.holds(lookup)
        return argument.value(lookup) if isinstance(argument, Attribute) else argument

    return value


def parse(text: str) -> Query | None:
    """Parse the hint; None for an empty one, which every host passes.

    Raises ``Invalid`` for a malformed query, or one that is too deep or too long.
    """
    try:
        value = json.loads(text) if text.strip() else None
    except (ValueError, RecursionError) as error:
        raise _invalid("it is not JSON") from error
    if not value:
        return None
    return _Parser().question(value, 1)


class _Parser:
    """Builds a query and counts its parts."""

    def __init__(self) -> None:
        self._size = 0

    def question(self, value: Any, depth: int) -> Query:
        if not isinstance(value, list) or not value:
            raise _invalid(
                f"a query must be a list that begins with an operator, not {_shown(value)}"
            )
        if depth > DEPTH_MAX:
            raise _invalid(f"queries are nested more than {DEPTH_MAX} levels deep")
        first, *arguments = value
        if not isinstance(first, str) or first not in (*_COMPARISONS, *_OTHERS):
            known = " ".join((*_COMPARISONS, *_OTHERS))
            raise _invalid(f"unknown operator {_shown(first)}; known: {known}")
        return Query(first, tuple(self._argument(each, depth) for each in arguments))

    def _argument(self, value: Any, depth: int) -> Any:
        self._size += 1
        if self._size > SIZE_MAX:
            raise _invalid(f"it has more than {SIZE_MAX} arguments")
        if isinstance(value, list):
            return self.question(value, depth + 1)
        if not isinstance(value, _PLAIN):
            raise _invalid(f"{_shown(value)} is neither a value nor a query")
        if isinstance(value, str) and value.startswith("$"):
            name, *keys = value[1:].split(".")
            return Attribute(name, tuple(keys))
        return value


def _is(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    try:
        return bool(compare(left, right))
    except TypeError:
        return False


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _invalid(reason: str) -> exception.Invalid:
    return exception.Invalid(reason=f"the hint {HINT}: {reason}")
