"""JSON patches of images: fields and properties are set and removed, one level deep."""

from collections.abc import Iterable, Mapping
from typing import Any

from api.image.schemas import OPERATIONS, READ_ONLY, SETTABLE
from armillary import exception
from armillary.http.call import Document

_KEEPS_NULL = frozenset({"name", "owner", "disk_format", "container_format"})


def patched(values: Mapping[str, Any], changes: Iterable[Mapping[str, Any]]) -> Document:
    """Return the values after all changes, in either form of ``schemas.PATCH``.

    Raises Invalid for a path that is not a field, Forbidden for one that cannot be set, and
    Conflict for a property that is missing.
    """
    result = dict(values)
    for change in changes:
        op = change.get("op") or next(name for name in OPERATIONS if name in change)
        _apply(result, op, _name(change["path"] if "op" in change else change[op]), change)
    return result


def _apply(result: Document, op: str, name: str, change: Mapping[str, Any]) -> None:
    if name in READ_ONLY or name == "id":
        raise exception.Forbidden(reason=f"attribute '{name}' is read-only")
    is_field = name in SETTABLE
    if op == "remove":
        if is_field:
            raise exception.Forbidden(reason=f"property '{name}' cannot be removed")
        if name not in result:
            raise exception.Conflict(f"Property {name} does not exist.")
        del result[name]
        return
    if "value" not in change:
        raise exception.Invalid(f"The change of /{name} has no value.")
    if op == "replace" and not is_field and name not in result:
        raise exception.Conflict(f"Property {name} does not exist.")
    if change["value"] is None and not (is_field and name in _KEEPS_NULL):
        raise exception.Invalid(f"The value of /{name} must not be null.")
    result[name] = change["value"]


def _name(path: str) -> str:
    """Return the field in a JSON pointer with one part."""
    if not path.startswith("/") or "/" in path[1:]:
        raise exception.Invalid(f"The path '{path[:80]}' is not a field such as /name.")
    return path[1:].replace("~1", "/").replace("~0", "~")
