"""Schemas whose parts exist in some microversions only: one declaration for all versions.

A part of a schema may be a ``Ranged`` schema, or a tuple of them of which the first that fits the
version applies. From such a declaration follow the plain schema of each version, and the
projection of a response onto it: it drops the fields that the version does not have.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from armillary.http.microversion import BEGINNING, Version

OWN_PREFIX = "armillary:"
"""Fields with this prefix are extensions of the product; they are in no microversion."""

Projection = Callable[[Any], Any]

_OF_SCHEMAS = frozenset({"items", "additionalProperties", "anyOf", "oneOf"})
"""Keywords whose values are schemas, or lists of schemas."""


@dataclass(frozen=True, slots=True)
class Ranged:
    """A schema from one version to another, both included; ``until`` None has no end.

    ``is_own`` marks an extension without the prefix: responses have it if the client asked for
    extensions, whatever the version.
    """

    schema: Any
    since: Version = BEGINNING
    until: Version | None = None
    is_own: bool = False


class _Absent:
    """Result for a part that a version does not have."""


_ABSENT = _Absent()


def resolve(part: Any, version: Version, *, with_own: bool) -> Any:
    """Return the plain schema of a version, with or without the product's extensions."""
    chosen = _choose(part, version, with_own)
    if isinstance(chosen, list):
        return [resolve(item, version, with_own=with_own) for item in chosen]
    if not isinstance(chosen, Mapping):
        return chosen
    made = {
        keyword: resolve(value, version, with_own=with_own) if keyword in _OF_SCHEMAS else value
        for keyword, value in chosen.items()
    }
    if "properties" in made:
        made["properties"] = {
            name: resolve(schema, version, with_own=with_own)
            for name, schema in chosen["properties"].items()
            if not _is_dropped(name, schema, version, with_own)
        }
        if "required" in made:
            made["required"] = [name for name in made["required"] if name in made["properties"]]
    return made


def projection(part: Any, version: Version, *, with_own: bool) -> Projection | None:
    """Return the function that drops declared fields which a version lacks; None if it has all.

    Fields that no version declares are kept: a handler must not return them.
    """
    chosen = _choose(part, version, with_own)
    if not isinstance(chosen, Mapping):
        return None
    if "properties" in chosen:
        return _of_object(chosen["properties"], version, with_own)
    if "items" in chosen:
        of_item = projection(chosen["items"], version, with_own=with_own)
        return None if of_item is None else _for_list(of_item)
    return None


def breakpoints(part: Any) -> list[Version]:
    """Return the versions at which a schema changes, and the beginning, in ascending order."""
    return sorted({BEGINNING, *_changes(part)})


def _choose(part: Any, version: Version, with_own: bool) -> Any:
    """Return the schema of a part in a version, or ``_ABSENT``."""
    variants = part if isinstance(part, tuple) else (part,)
    if not (variants and isinstance(variants[0], Ranged)):
        return part
    for variant in variants:
        is_in_range = variant.since <= version <= (variant.until or version)
        if is_in_range and (with_own or not variant.is_own):
            return _choose(variant.schema, version, with_own)
    return _ABSENT


def _is_dropped(name: str, schema: Any, version: Version, with_own: bool) -> bool:
    is_extension = name.startswith(OWN_PREFIX) and not with_own
    return is_extension or _choose(schema, version, with_own) is _ABSENT


def _of_object(
    properties: Mapping[str, Any], version: Version, with_own: bool
) -> Projection | None:
    dropped = {
        name for name, schema in properties.items() if _is_dropped(name, schema, version, with_own)
    }
    changed = {
        name: project
        for name, schema in properties.items()
        if name not in dropped
        and (project := projection(schema, version, with_own=with_own)) is not None
    }
    return _for_object(dropped, changed) if dropped or changed else None


def _for_object(dropped: set[str], changed: Mapping[str, Projection]) -> Projection:
    def project(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            name: changed[name](field) if name in changed else field
            for name, field in value.items()
            if name not in dropped
        }

    return project


def _for_list(of_item: Projection) -> Projection:
    def project(value: Any) -> Any:
        return [of_item(item) for item in value] if isinstance(value, list) else value

    return project


def _changes(part: Any) -> Iterator[Version]:
    if isinstance(part, Ranged):
        yield part.since
        if part.until is not None:
            yield (part.until[0], part.until[1] + 1)
        yield from _changes(part.schema)
    elif isinstance(part, Mapping):
        for value in part.values():
            yield from _changes(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from _changes(value)
