"""Validation of parsed JSON: clean text first, then a JSON schema; each API words its errors."""

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
from jsonschema.exceptions import ValidationError, best_match

from armillary import exception
from armillary.http import ranges
from armillary.http.microversion import Version
from armillary.names.storable_text import is_storable

Schema = Mapping[str, Any]

ByVersion = Mapping[Version, Schema | None]
"""Schemas by the version that introduced them; None where nothing is accepted any more."""

Versioned = Any
"""One ``Schema``, whose parts may be ``ranges.Ranged``, or schemas ``ByVersion``."""

NOTHING: Schema = {"type": "object", "additionalProperties": False}
"""The schema of no parameters."""

DEPTH_MAX = 32
PATTERN_CHARACTERS_MAX = 4096  # of a text whose schema has a pattern and no limit
ERRORS_MAX = 100  # the best error is chosen among these: a large body may have millions
VALUE_CHARACTERS_MAX = 80
MESSAGE_CHARACTERS_MAX = 400


def by_version(schemas: Versioned | None) -> ByVersion:
    """Return plain schemas by version, of responses with the product's extensions.

    One schema has been there since always, with what it declares by version.
    """
    if schemas is None:
        return {}
    is_table = isinstance(schemas, Mapping) and schemas and isinstance(next(iter(schemas)), tuple)
    if is_table:
        return schemas
    return {
        since: ranges.resolve(schemas, since, with_own=True)
        for since in ranges.breakpoints(schemas)
    }


class DuplicateField(ValueError):
    """An object of a body has a field twice."""


def unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, as ``object_pairs_hook`` of ``json.loads``.

    Raises DuplicateField: of a field that is there twice, a proxy may check the one and the API use
    the other.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise DuplicateField(f"duplicate field {twice[:MESSAGE_CHARACTERS_MAX]!a}")
    return found


def check_clean(
    value: Any, *, allow_infinity: bool = False, path: tuple[str, ...] = (), depth: int = 1
) -> None:
    """Check a JSON value; infinity may be left to the schemas.

    Raises ``ValueError`` for text or numbers that cannot be stored, ``RecursionError`` for a value
    nested deeper than ``DEPTH_MAX``.
    """
    if isinstance(value, str):
        if not is_storable(value):
            raise ValueError(f"the text at '{'.'.join(path)}' contains a NUL or a lone surrogate")
        return
    if isinstance(value, float) and not (allow_infinity or math.isfinite(value)):
        raise ValueError(f"the number at '{'.'.join(path)}' is out of range, or not a number")
    if not isinstance(value, dict | list):
        return
    if depth > DEPTH_MAX:
        raise RecursionError
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(key, str) and not is_storable(key):
            raise ValueError("the name of a field contains a NUL or a lone surrogate")
        check_clean(item, allow_infinity=allow_infinity, path=(*path, str(key)), depth=depth + 1)


def _is_integer(checker: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_unique(validator: Any, wanted: bool, values: Any, schema: Any) -> Iterator[Exception]:
    """Check uniqueness in linear time; jsonschema's own check may be quadratic."""
    if not isinstance(values, list):
        return
    seen = {value if isinstance(value, str) else (type(value), repr(value)) for value in values}
    if wanted and len(seen) < len(values):
        yield ValidationError(f"{values!r} has non-unique elements")


def _match(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[Exception]:
    """Check a pattern, unless the text is too long anyway: it could take very long."""
    if not isinstance(value, str):
        return
    if len(value) > schema.get("maxLength", PATTERN_CHARACTERS_MAX):
        if "maxLength" not in schema:
            yield ValidationError(f"{value!r} is too long")
    elif not re.search(_of_json_schema(pattern), value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _of_json_schema(pattern: str) -> str:
    """Return a pattern whose last ``$`` is the end of the text, as in JSON schema.

    Python's is also before a line break at the end, which would get into names.
    """
    return rf"{pattern[:-1]}\Z" if pattern.endswith("$") else pattern


# JSON schema accepts 1.0 as an integer, but databases do not: clients must write 1.
_Validator: Any = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
    jsonschema.Draft202012Validator,
    {"uniqueItems": _are_unique, "pattern": _match},
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)


class CompiledSchema:
    """One compiled schema, with the formats of its API."""

    def __init__(self, schema: Schema, formats: jsonschema.FormatChecker) -> None:
        self._validator = _Validator(schema, format_checker=formats)
        self.schema = schema
        self.properties: Mapping[str, Schema] = schema.get("properties", {})

    def find_error(self, value: Any) -> ValidationError | None:
        """Return the most relevant error of a value, None if it is valid."""
        errors = itertools.islice(self._validator.iter_errors(value), ERRORS_MAX)
        found: ValidationError | None = best_match(errors)
        return found if found is None or found.validator != "anyOf" else _of_its_type(found)


def _of_its_type(error: ValidationError) -> ValidationError:
    """Return the error of the only alternative that takes values of this type, if there is one."""
    apt = [each for each in error.context or () if each.validator != "type" or each.relative_path]
    return apt[0] if len({each.schema_path[0] for each in apt}) == 1 else error


def invalid(field: str, value: Any, rule: str) -> exception.Invalid:
    """Return an error with the field, its value (truncated) and the violated rule."""
    return exception.Invalid(
        f"Invalid input for field/attribute {field}. Value: {_shown(value)}. {rule}"
    )


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    printable = text.encode("unicode_escape").decode("ascii") if not text.isprintable() else text
    if len(printable) <= VALUE_CHARACTERS_MAX:
        return printable
    return f"{printable[:VALUE_CHARACTERS_MAX]}..."
