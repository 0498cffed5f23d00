"""Versioned objects in columns: stored in their wire form, decoded when they are asked for."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Generic, Self, TypeVar, cast

import sqlalchemy as sa

from objects.base import ArmillaryObject, Primitive

T = TypeVar("T", bound=ArmillaryObject)


@dataclasses.dataclass(frozen=True, slots=True)
class StoredObject(Generic[T]):
    """A versioned object; rows are read far more often than the objects in them."""

    primitive: Primitive

    @classmethod
    def of(cls, made: T) -> Self:
        return cls(made.obj_to_primitive())

    def load(self) -> T:
        """Return the object, a new one at each call."""
        return cast(T, ArmillaryObject.obj_from_primitive(self.primitive))


class StoredColumn(sa.TypeDecorator[StoredObject[Any]]):
    """A JSON column with the wire form of a versioned object."""

    impl = sa.JSON(none_as_null=True)
    cache_ok = True

    def process_bind_param(self, value: StoredObject[Any] | None, dialect: sa.Dialect) -> Any:
        return None if value is None else value.primitive

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> StoredObject[Any] | None:
        return None if value is None else StoredObject(value)


def stored_text(column: Any, *path: str) -> sa.ColumnElement[str]:
    """Return a text in a column with the wire form of an object; ``path`` leads through objects."""
    text: sa.ColumnElement[str] = _element(column, path).as_string()
    return text


def stored_flag(column: Any, *path: str) -> sa.ColumnElement[bool]:
    """Return a truth value in such a column."""
    flag: sa.ColumnElement[bool] = _element(column, path).as_boolean()
    return flag


def stored_number(column: Any, *path: str) -> sa.ColumnElement[int]:
    """Return an integer in such a column."""
    number: sa.ColumnElement[int] = _element(column, path).as_integer()
    return number


def stored_json(column: Any, *path: str) -> sa.ColumnElement[Any]:
    """Return a JSON value in such a column."""
    value: sa.ColumnElement[Any] = _element(column, path).as_json()
    return value


def _element(column: Any, path: Sequence[str]) -> Any:
    data = ArmillaryObject.primitive_key("data")
    keys = tuple(key for name in path for key in (data, name))
    return sa.type_coerce(column, sa.JSON)[keys]
