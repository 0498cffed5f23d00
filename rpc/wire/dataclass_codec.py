"""Wire form of dataclasses in RPC arguments and answers, derived from their type hints.

A dataclass travels as a dict of its fields. A receiver ignores fields that it does not know, uses
the default of a field that an older sender lacks, and makes no other classes than the declaration
names. Versioned objects inside a dataclass are left to the serializer.
"""

import collections.abc
import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from armillary import exception


@dataclasses.dataclass(frozen=True, slots=True)
class Codec:
    """Conversion of one type. ``decode`` raises Invalid for a value of another type."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


def codec_of(hint: Any) -> Codec | None:
    """Return the codec of a type hint, None if its values are sent as they are.

    Raises TypeError for a union of more than one type and None.
    """
    if dataclasses.is_dataclass(hint):
        fields = _fields_codec(typing.cast(type, hint))
        return Codec(fields.encode, fields.decode)
    if hint is datetime:
        return Codec(datetime.isoformat, _to_datetime)
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in _UNIONS:
        return _optional(hint, inside)
    if origin is tuple:
        return _items(codec_of(inside[0]) or _AS_IS, tuple)
    if origin in (list, collections.abc.Sequence):
        item = codec_of(inside[0])
        return item and _items(item, list)
    if origin in (dict, collections.abc.Mapping):
        value = codec_of(inside[1])
        return value and _values(value)
    return None


def dataclasses_in(hint: Any) -> Iterator[type]:
    """Return the dataclasses that a type hint names, without those of their fields."""
    if dataclasses.is_dataclass(hint):
        yield typing.cast(type, hint)
    for each in typing.get_args(hint):
        yield from dataclasses_in(each)


class _FieldsCodec:
    """Codec of one dataclass; reads the hints at its first use, so that classes may be nested."""

    def __init__(self, made: type[Any]) -> None:
        self._made = made

    @functools.cached_property
    def _fields(self) -> list[tuple[dataclasses.Field[Any], Codec]]:
        hints = typing.get_type_hints(self._made)
        fields = dataclasses.fields(self._made)
        return [
            (field, codec_of(hints[field.name]) or _checked(hints[field.name])) for field in fields
        ]

    def encode(self, value: Any) -> dict[str, object]:
        return {
            field.name: codec.encode(getattr(value, field.name)) for field, codec in self._fields
        }

    def decode(self, wire: Any) -> Any:
        known = {}
        for field, codec in self._fields:
            if field.name in _expected(wire, dict):
                known[field.name] = codec.decode(wire[field.name])
            elif not _has_default(field):
                raise exception.Invalid(reason=f"{self._made.__name__} without {field.name}")
        return self._made(**known)


@functools.cache
def _fields_codec(made: type[Any]) -> _FieldsCodec:
    return _FieldsCodec(made)


def _has_default(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is not missing or field.default_factory is not missing


def _optional(hint: Any, inside: tuple[Any, ...]) -> Codec | None:
    codecs = [codec for codec in map(codec_of, inside) if codec is not None]
    if not codecs:
        return None
    if len(inside) != 2 or types.NoneType not in inside:
        raise TypeError(f"{hint} is not of one type and None")
    codec = codecs[0]
    return Codec(
        lambda value: None if value is None else codec.encode(value),
        lambda wire: None if wire is None else codec.decode(wire),
    )


def _items(item: Codec, made: type) -> Codec:
    return Codec(
        lambda values: [item.encode(value) for value in values],
        lambda wire: made(item.decode(value) for value in _expected(wire, list, tuple)),
    )


def _values(value: Codec) -> Codec:
    return Codec(
        lambda values: {key: value.encode(each) for key, each in values.items()},
        lambda wire: {key: value.decode(each) for key, each in _expected(wire, dict).items()},
    )


def _checked(hint: Any) -> Codec:
    """Return a codec that leaves values as they are and checks their class, as far as it is one."""
    parts = typing.get_args(hint) if typing.get_origin(hint) in _UNIONS else (hint,)
    classes = tuple(typing.get_origin(part) or part for part in parts)
    if Any in classes or not all(isinstance(each, type) for each in classes):
        return _AS_IS
    accepted = (*classes, int) if float in classes else classes
    return Codec(_same, lambda wire: _expected(wire, *accepted))


def _expected(wire: Any, *classes: type) -> Any:
    if not isinstance(wire, classes):
        names = " or ".join(each.__name__ for each in classes)
        raise exception.Invalid(reason=f"{type(wire).__name__} instead of {names}")
    return wire


def _to_datetime(wire: Any) -> datetime:
    try:
        return datetime.fromisoformat(_expected(wire, str))
    except ValueError as error:
        raise exception.Invalid(reason=str(error)) from error


def _same(value: Any) -> Any:
    return value


_AS_IS = Codec(_same, _same)
_UNIONS = (typing.Union, types.UnionType)
