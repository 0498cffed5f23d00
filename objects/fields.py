"""Field types beside oslo's own: JSON values, numeric columns, columns of strings, closed words."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from oslo_versionedobjects import fields
from oslo_versionedobjects.fields import (
    BooleanField,
    DateTimeField,
    DictOfIntegersField,
    DictOfNullableStringsField,
    DictOfStringsField,
    FloatField,
    IntegerField,
    ListOfIntegersField,
    ListOfObjectsField,
    ListOfStringsField,
    ObjectField,
    StringField,
    UUIDField,
)

__all__ = [
    "BooleanField",
    "ColumnField",
    "DateTimeField",
    "DictOfIntegersField",
    "DictOfNullableStringsField",
    "DictOfStringsField",
    "FloatField",
    "IntegerField",
    "JSONField",
    "ListOfIntegersField",
    "ListOfObjectsField",
    "ListOfStringsField",
    "ObjectField",
    "StringColumnField",
    "StringField",
    "TaskStateField",
    "UUIDField",
    "VmStateField",
]


class _JSON(fields.FieldType[Any]):
    """A JSON-ready value (dict, list, text, number, true, false, null) that travels as it is."""

    @staticmethod
    def coerce(obj: Any, attr: str, value: Any) -> Any:
        if not isinstance(value, dict | list | str | int | float | bool | None):
            raise ValueError(  # noqa: TRY004 - what coerce is to raise
                f"{attr} takes a JSON value, not {type(value).__name__}"
            )
        return value


class JSONField(fields.AutoTypedField[Any]):
    """A JSON-ready value, not checked further."""

    AUTO_TYPE = _JSON()


class _Column(fields.FieldType[Any]):
    """A NumPy array of int64, float64 or bool: shape and raw bytes on the wire."""

    @staticmethod
    def coerce(obj: Any, attr: str, value: Any) -> np.ndarray:
        array = np.asarray(value)
        if array.dtype.kind not in "ifb":
            raise ValueError(f"{attr} takes numbers, not {array.dtype}")
        return array

    @staticmethod
    def to_primitive(obj: Any, attr: str, value: np.ndarray) -> dict[str, Any]:
        little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        return {
            "dtype": little.dtype.str,
            "shape": list(little.shape),
            "data": base64.b64encode(little.tobytes()).decode("ascii"),
        }

    @staticmethod
    def from_primitive(obj: Any, attr: str, value: Any) -> np.ndarray:
        raw = base64.b64decode(value["data"])
        dtype = np.dtype(value["dtype"])
        if dtype.kind not in "ifb":
            raise ValueError(f"{attr} takes numbers, not {dtype}")
        return np.frombuffer(raw, dtype=dtype).reshape(value["shape"]).copy()

    @staticmethod
    def stringify(value: np.ndarray) -> str:
        return f"column{value.shape}"


class ColumnField(fields.AutoTypedField[Any]):
    """Numbers, one (or one row) for each item of a sibling column."""

    AUTO_TYPE = _Column()


class _StringColumn(fields.FieldType[Any]):
    """Many short texts without line breaks, as one text on the wire: cheap at ten thousand."""

    @staticmethod
    def coerce(obj: Any, attr: str, value: Any) -> list[str]:
        if isinstance(value, str) or not hasattr(value, "__iter__"):
            raise ValueError(f"{attr} takes a list of texts")
        return list(value)

    @staticmethod
    def to_primitive(obj: Any, attr: str, value: list[str]) -> dict[str, Any]:
        return {"count": len(value), "text": "\n".join(value)}

    @staticmethod
    def from_primitive(obj: Any, attr: str, value: Any) -> list[str]:
        if not value["count"]:
            return []
        items: list[str] = value["text"].split("\n")
        if len(items) != value["count"]:
            raise ValueError(f"{attr} holds {len(items)} texts, {value['count']} were announced")
        return items

    @staticmethod
    def stringify(value: list[str]) -> str:
        return f"{len(value)} texts"


class StringColumnField(fields.AutoTypedField[Any]):
    """Texts without line breaks (UUIDs, host names), one for each row."""

    AUTO_TYPE = _StringColumn()


class VmStateField(fields.BaseEnumField):
    """What an instance is: building, active, stopped (its process ended), error, deleted."""

    class _Type(fields.Enum):
        def __init__(self) -> None:
            super().__init__(valid_values=("building", "active", "stopped", "error", "deleted"))

    AUTO_TYPE = _Type()


class TaskStateField(fields.BaseEnumField):
    """What is being done to an instance now; null when nothing is."""

    class _Type(fields.Enum):
        def __init__(self) -> None:
            super().__init__(valid_values=("scheduling", "spawning", "deleting"))

    AUTO_TYPE = _Type()
