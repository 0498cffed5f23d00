"""Field types in addition to oslo's: JSON, columns of numbers, strings or UUIDs, and enums."""

import base64
import re
import uuid
from datetime import UTC, datetime
from typing import Any

import numpy as np
from oslo_versionedobjects import fields

from armillary.names.identifiers import is_host_name, is_uuid
from objects.packed import packing

# Of type Any, as a class states the type of a field's values: ``host: str = StringField()``.
BooleanField: Any = fields.BooleanField
DictOfIntegersField: Any = fields.DictOfIntegersField
DictOfStringsField: Any = fields.DictOfStringsField
FloatField: Any = fields.FloatField
IntegerField: Any = fields.IntegerField
ListOfObjectsField: Any = fields.ListOfObjectsField
ListOfStringsField: Any = fields.ListOfStringsField
ObjectField: Any = fields.ObjectField
StringField: Any = fields.StringField
_AutoTypedField: Any = fields.AutoTypedField
_EnumField: Any = fields.BaseEnumField


VM_STATES = (
    "building", "active", "stopped", "resized", "shelved", "shelved_offloaded", "soft-delete",
    "paused", "suspended", "rescued", "error", "deleted", "unknown",
)  # fmt: skip
TASK_STATES = (
    "scheduling", "spawning", "deleting", "powering-on", "powering-off", "rebooting",
    "rebooting_hard", "rebuilding", "resize_prep", "resize_migrating", "resize_finish",
    "resize_confirming", "resize_reverting", "migrating", "evacuating", "shelving",
    "shelving_offloading", "unshelving", "soft-deleting", "restoring",
    "pausing", "unpausing", "suspending", "resuming", "rescuing", "unrescuing",
    "image_snapshot", "image_backup",
)  # fmt: skip


class UUID(fields.UUID):
    """A UUID in its usual form; oslo's field of this name accepts any text with a warning.

    The values become parts of file names, queue names and log lines.
    """

    def coerce(self, obj: Any, attr: str, value: Any) -> str:
        text = str(value) if isinstance(value, uuid.UUID) else value
        if not is_uuid(text):
            raise ValueError(f"{attr} must be a UUID, not {value!a:.100}")
        return str(text)


class UUIDField(_AutoTypedField):
    """A UUID."""

    AUTO_TYPE = UUID()


class HostName(fields.String):
    """The name of a host, a node or an agent."""

    @staticmethod
    def coerce(obj: Any, attr: str, value: Any) -> str:
        if not is_host_name(value):
            raise ValueError(f"{attr} must be the name of a host, not {value!a:.100}")
        return str(value)


class HostNameField(_AutoTypedField):
    """The name of a host, a node or an agent: part of queue names, file names and log lines."""

    AUTO_TYPE = HostName()


class DateTime(fields.DateTime):
    """oslo's DateTime field with a fast path for UTC."""

    def from_primitive(self, obj: Any, attr: str, value: Any) -> datetime:
        if isinstance(value, str) and len(value) == _UTC_LENGTH and value[-1] == "Z":
            try:
                return self.coerce(obj, attr, datetime.fromisoformat(value))
            except ValueError:
                pass  # the library parses it or reports the error
        found: datetime = super().from_primitive(obj, attr, value)
        return found

    def to_primitive(self, obj: Any, attr: str, value: datetime) -> str:
        if value.tzinfo is UTC and value.year >= _YEAR_OF_FOUR_DIGITS:
            return value.isoformat()[: _UTC_LENGTH - 1] + "Z"
        return str(super().to_primitive(obj, attr, value))


_UTC_LENGTH = len("2026-01-31T23:59:59Z")
_YEAR_OF_FOUR_DIGITS = 1000


class DateTimeField(_AutoTypedField):
    """An aware datetime, in whole seconds on the wire."""

    AUTO_TYPE = DateTime()


_JSON_TYPES = (dict, list, str, int, float, bool, type(None))


class _JSON(fields.FieldType[Any]):
    """A JSON value (dict, list, string, number, true, false, null), sent unchanged."""

    @staticmethod
    def coerce(obj: Any, attr: str, value: Any) -> Any:
        if not isinstance(value, _JSON_TYPES):
            raise ValueError(  # noqa: TRY004 - required of coerce
                f"{attr} must be a JSON value, not {type(value).__name__}"
            )
        return value


class JSONField(_AutoTypedField):
    """A JSON value without further validation."""

    AUTO_TYPE = _JSON()


_NUMBERS = re.compile("[<|][ifb][1248]").fullmatch
"""Matches the types that :class:`_Column` writes."""


class _Column(fields.FieldType[Any]):
    """A NumPy array of int64, float64 or bool: shape and raw bytes on the wire."""

    @staticmethod
    def coerce(obj: Any, attr: str, value: Any) -> np.ndarray:
        array = np.asarray(value)
        if array.dtype.kind not in "ifb":
            raise ValueError(f"{attr} must be numbers, not {array.dtype}")
        return array

    @staticmethod
    def to_primitive(obj: Any, attr: str, value: np.ndarray) -> dict[str, object]:
        little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        return {
            "dtype": little.dtype.str,
            "shape": list(little.shape),
            "data": base64.b64encode(little.tobytes()).decode("ascii"),
        }

    @staticmethod
    def from_primitive(obj: Any, attr: str, value: Any) -> np.ndarray:
        dtype, shape = value["dtype"], packing.checked_shape(value["shape"])
        if not isinstance(dtype, str) or not _NUMBERS(dtype):
            raise ValueError(f"{attr} must be numbers, not {dtype!a:.40}")
        raw = base64.b64decode(value["data"])
        return np.frombuffer(raw, dtype=dtype).reshape(shape).copy()

    @staticmethod
    def stringify(value: np.ndarray) -> str:
        return f"column{value.shape}"


class ColumnField(_AutoTypedField):
    """Numbers, one (or one row) for each item of a sibling column."""

    AUTO_TYPE = _Column()


class _PackedColumn(_Column):
    """Columns of int64, float64 or bool, compressed by ``objects.packed.packing``."""

    @staticmethod
    def coerce(obj: Any, attr: str, value: Any) -> np.ndarray:
        array = _Column.coerce(obj, attr, value)
        if array.ndim not in (1, 2):
            raise ValueError(f"{attr} must have one or two dimensions, not {array.ndim}")
        return array if array.dtype in _PACKED_TYPES else array.astype(_WIDEST[array.dtype.kind])

    @staticmethod
    def to_primitive(obj: Any, attr: str, value: np.ndarray) -> dict[str, object]:
        return packing.pack_numbers(value)

    @staticmethod
    def from_primitive(obj: Any, attr: str, value: Any) -> np.ndarray:
        return packing.unpack_numbers(value)


_WIDEST = {"i": np.dtype(np.int64), "f": np.dtype(np.float64), "b": np.dtype(np.bool_)}
_PACKED_TYPES = frozenset(_WIDEST.values())


class PackedColumnField(_AutoTypedField):
    """Numbers as in ``ColumnField``, compressed for large, time-critical answers."""

    AUTO_TYPE = _PackedColumn()


class _StringColumn(fields.FieldType[Any]):
    """Many short strings without line breaks, joined on the wire; cheap for ten thousand."""

    @staticmethod
    def coerce(obj: Any, attr: str, value: Any) -> list[str]:
        if isinstance(value, str) or not hasattr(value, "__iter__"):
            raise ValueError(f"{attr} must be a list of strings")
        return list(value)

    @staticmethod
    def to_primitive(obj: Any, attr: str, value: list[str]) -> dict[str, object]:
        return {"count": len(value), "text": "\n".join(value)}

    @staticmethod
    def from_primitive(obj: Any, attr: str, value: Any) -> list[str]:
        count, text = value["count"], value["text"]
        if not count:
            return []
        rows = text.count("\n") + 1
        if rows != count or rows > packing.ROWS_MAX:
            raise ValueError(
                f"{attr} has {rows} strings instead of {count!a:.40}; at most {packing.ROWS_MAX} "
                "are allowed"
            )
        items: list[str] = text.split("\n")
        return items

    @staticmethod
    def stringify(value: list[str]) -> str:
        return f"{len(value)} texts"


class StringColumnField(_AutoTypedField):
    """Strings without line breaks (UUIDs, host names), one for each row."""

    AUTO_TYPE = _StringColumn()


class _UUIDColumn(_StringColumn):
    """Many UUIDs, 16 bytes each on the wire; other strings are sent unchanged."""

    @staticmethod
    def to_primitive(obj: Any, attr: str, value: list[str]) -> dict[str, object]:
        return packing.pack_uuids(value)

    @staticmethod
    def from_primitive(obj: Any, attr: str, value: Any) -> list[str]:
        return packing.unpack_uuids(value)


class UUIDColumnField(_AutoTypedField):
    """UUIDs as strings, one for each row."""

    AUTO_TYPE = _UUIDColumn()


class VmStateField(_EnumField):
    """State of an instance. ``stopped``: powered off by request, or its process ended."""

    class _Type(fields.Enum):
        def __init__(self) -> None:
            super().__init__(valid_values=VM_STATES)

    AUTO_TYPE = _Type()


class TaskStateField(_EnumField):
    """The task running on an instance; null if there is none."""

    class _Type(fields.Enum):
        def __init__(self) -> None:
            super().__init__(valid_values=TASK_STATES)

    AUTO_TYPE = _Type()
