"""Field types of schemas, with their limits."""

from collections.abc import Iterable, Mapping
from typing import Any

from api.validation import ONCE_KEYWORD, REPEATED_MAX, RULE_KEYWORD
from armillary.http.microversion import Version
from armillary.http.ranges import Ranged

Schema = dict[str, Any]
Part = Schema | Ranged | tuple[Ranged, ...]
"""A schema, or what it is in some versions."""

INTEGER_MAX = 2**31 - 1
TEXT_MAX = 255
MAP_SIZE_MAX = 128

KEY_PATTERN = r"^[a-zA-Z0-9\-_:. ]{1,255}$"
HOST_PATTERN = r"^[a-zA-Z0-9\-_.]+$"
ZONE_PATTERN = r"^[^:]+$"


def fields(properties: Mapping[str, Part], required: Iterable[str] = ()) -> Schema:
    """Return an object with these fields and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def open_fields(properties: Mapping[str, Part]) -> Schema:
    """Return an object with these fields, and others that have no effect."""
    return {"type": "object", "properties": properties}


def every(properties: Mapping[str, Part]) -> Schema:
    """Return an object that has all of these fields and no others."""
    return fields(properties, properties)


def since(major: int, minor: int, schema: Part) -> Ranged:
    """Return a part that exists since a version."""
    return Ranged(schema, since=(major, minor))


def until(major: int, minor: int, schema: Schema) -> Ranged:
    """Return a part that a version was the last to have."""
    return Ranged(schema, until=(major, minor))


def own(schema: Part) -> Ranged:
    """Return an extension: no version has it, clients ask for it with a header."""
    return Ranged(schema, is_own=True)


def changed(version: Version, before: Schema, after: Schema) -> tuple[Ranged, ...]:
    """Return a part that has another form since a version."""
    return Ranged(after, since=version), Ranged(before)


def listed(item: Part) -> Schema:
    """Return a list of such items."""
    return {"type": "array", "items": item}


def integer(minimum: int = 0, maximum: int = INTEGER_MAX) -> Schema:
    """Return an integer within bounds."""
    return {"type": "integer", "minimum": minimum, "maximum": maximum}


def text(maximum: int = TEXT_MAX, minimum: int = 0) -> Schema:
    """Return a string with a length within bounds."""
    return {"type": "string", "minLength": minimum, "maxLength": maximum}


def name(pattern: str | None = None, rule: str | None = None) -> Schema:
    """Return a string for names: printable, no surrounding spaces, 1 to 255 characters."""
    schema = {**text(minimum=1), "format": "name"}
    if pattern is not None:
        schema["pattern"] = pattern
    return schema if rule is None else ruled(schema, rule)


def ruled(schema: Schema, rule: str) -> Schema:
    """Return the schema with our own error message."""
    return {**schema, RULE_KEYWORD: rule}


def nullable(schema: Schema) -> Schema:
    """Return the schema of the same kind or null."""
    kind = schema["type"]
    return {**schema, "type": [*([kind] if isinstance(kind, str) else kind), "null"]}


def text_map(value_max: int = TEXT_MAX, *, is_limited: bool = True) -> Schema:
    """Return an object of strings with arbitrary keys, as many as all the bodies' limits allow."""
    return {
        "type": "object",
        **({"maxProperties": MAP_SIZE_MAX} if is_limited else {}),
        "propertyNames": {
            **name(
                KEY_PATTERN, "A key may contain letters, digits, spaces and -_:. only, at most 255"
            )
        },
        "additionalProperties": text(value_max),
    }


def one_or_more(values: Schema) -> Schema:
    """Return a query parameter that may be repeated."""
    return {"anyOf": [values, {"type": "array", "items": values, "maxItems": REPEATED_MAX}]}


def once(schema: Schema) -> Schema:
    """Return a query parameter that may not be repeated; of others the last value counts.

    Nova refuses to repeat the parameters that it has got since version 2.43.
    """
    return {**schema, ONCE_KEYWORD: True}


BOOLEAN: Schema = {"type": "boolean"}
BOOLEAN_OR_EMPTY: Schema = {"type": ["boolean", "string"], "enum": [True, False, ""]}
"""A query parameter that may have no value, which means that it is true."""
UUID: Schema = {"type": "string", "format": "uuid"}
HOST = name(HOST_PATTERN, "A host name may contain letters, digits and -_. only, at most 255")
ZONE = name(
    ZONE_PATTERN, "A zone's name must be printable, without a colon, and at most 255 characters"
)

SORT_DIRECTION: Schema = {"enum": ["asc", "desc"]}
PAGE = {"limit": integer(), "marker": name()}
"""Pagination parameters of a list."""
PAGE_ONCE = {name: once(schema) for name, schema in PAGE.items()}

# Schemas of responses.
ANY: Schema = {}
STRING: Schema = {"type": "string"}
STRING_OR_NULL: Schema = {"type": ["string", "null"]}
NUMBER: Schema = {"type": "integer"}
NUMBER_OR_NULL: Schema = {"type": ["integer", "null"]}
TIME_OR_NULL: Schema = {"type": ["string", "null"], "format": "date-time"}
STRINGS = listed(STRING)
STRING_MAP: Schema = {"type": "object", "additionalProperties": STRING}
OBJECT: Schema = {"type": "object"}
LINKS = listed(
    {
        "type": "object",
        "properties": {"rel": STRING, "href": STRING, "type": STRING},
        "required": ["rel", "href"],
    }
)
ENTITY = every({"id": STRING, "links": LINKS})
"""An object embedded in another."""
NAMED = every({"id": STRING, "name": STRING, "links": LINKS})
"""An object in a list without details."""

ERROR: Schema = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": every({"code": NUMBER, "message": STRING}),
}
"""An error: one field, named after the status."""
