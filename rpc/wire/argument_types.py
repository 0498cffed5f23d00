"""Checks of plain arguments of a message against the types that a declaration names.

A sender with a key may put any value there. Versioned objects and dataclasses are checked when they
are made.
"""

import collections.abc
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from armillary import exception

Fits = Callable[[Any], bool]

_INTEGER_MAX = 2**63 - 1
"""What databases store."""


def argument_check(
    hints: Mapping[str, Any], required: frozenset[str]
) -> Callable[[Mapping[str, Any]], None]:
    """Return what raises Invalid unless arguments, in wire form, are as declared.

    ``hints`` has the type of each argument, ``required`` those without a default.
    """
    checks = {name: fits_of(hint) for name, hint in hints.items()}

    def check(arguments: Mapping[str, Any]) -> None:
        if not required <= arguments.keys() <= checks.keys():
            names = ", ".join(sorted(required)) or "none"
            raise exception.Invalid(
                reason=f"the arguments are not those declared; required are: {names}"
            )
        for name, value in arguments.items():
            if not checks[name](value):
                raise exception.Invalid(reason=f"argument {name} is not of the declared type")

    return check


def fits_of(hint: Any) -> Fits:
    """Return what decides whether a value in wire form is of the type that a hint names."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if origin in (typing.Union, types.UnionType):
        options = [fits_of(each) for each in inside]
        return lambda value: any(fits(value) for fits in options)
    if origin in (list, collections.abc.Sequence):
        item = fits_of(inside[0])
        return lambda value: isinstance(value, list | tuple) and all(map(item, value))
    if origin in (dict, collections.abc.Mapping):
        key, item = map(fits_of, inside)
        return lambda value: (
            isinstance(value, dict) and all(map(key, value)) and all(map(item, value.values()))
        )
    return _anything


def _anything(_value: Any) -> bool:
    return True


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and -_INTEGER_MAX <= value <= _INTEGER_MAX


_PLAIN: Mapping[Any, Fits] = {
    str: lambda value: isinstance(value, str),
    bool: lambda value: isinstance(value, bool),
    int: _is_integer,
    float: lambda value: isinstance(value, float) or _is_integer(value),
    types.NoneType: lambda value: value is None,
}
