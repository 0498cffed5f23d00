"""Validation against JSON schemas, with one sentence per error that names the field."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

import jsonschema
from jsonschema.exceptions import ValidationError, best_match

from placement.rest import errors

Schema = Mapping[str, Any]

DEPTH_MAX = 32
DIGITS_MAX = 400
PARAMETERS_MAX = 1000
ERRORS_MAX = 100  # the best error is chosen among these: a large body may have millions
MESSAGE_CHARACTERS_MAX = 400
VALUE_CHARACTERS_MAX = 80
PATH_PARAMETER_CHARACTERS_MAX = 1024  # names have limits of their own

_UUID = re.compile(r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}")
_UNCLEAN = re.compile("[\0\ud800-\udfff]")

_formats = jsonschema.FormatChecker(formats=())


@_formats.checks("uuid")
def _is_uuid(value: object) -> bool:
    return not isinstance(value, str) or _UUID.fullmatch(value) is not None


def _is_integer(checker: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_unique(validator: Any, wanted: bool, values: Any, schema: Any) -> Iterator[Exception]:
    """Check uniqueness in linear time; jsonschema's own check may be quadratic."""
    if not isinstance(values, list):
        return
    seen = {value if isinstance(value, str) else (type(value), repr(value)) for value in values}
    if wanted and len(seen) < len(values):
        yield ValidationError(f"{values!r} has non-unique elements")


# JSON schema accepts 1.0 as an integer, but databases do not: clients must write 1.
_Validator: Any = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
    jsonschema.Draft202012Validator,
    {"uniqueItems": _are_unique},
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)


class Check:
    """One compiled schema."""

    def __init__(self, schema: Schema) -> None:
        self._properties: Mapping[str, Schema] = schema.get("properties", {})
        self._validator = _Validator(schema, format_checker=_formats)

    def body(self, value: Any) -> None:
        """Raise status 400 unless ``value`` is valid."""
        self.value(value)

    def value(self, value: Any, what: str = "JSON does not validate") -> None:
        """Raise status 400, with a detail that begins with ``what``, unless ``value`` is valid."""
        self._check(value, what)

    def query(self, parameters: Mapping[str, list[str]]) -> None:
        """Raise status 400 unless the parameters are valid.

        A property of type "array" is checked against all values of a parameter, any other one
        against the last.
        """
        values = {name: self._as_declared(name, sent) for name, sent in parameters.items()}
        self._check(values, "Invalid query string parameters")

    def _as_declared(self, name: str, values: list[str]) -> str | list[str]:
        is_list = self._properties.get(name, {}).get("type") == "array"
        return values if is_list else values[-1]

    def _check(self, value: Any, what: str) -> None:
        error = best_match(itertools.islice(self._validator.iter_errors(value), ERRORS_MAX))
        if error is not None:
            raise errors.bad_request(f"{what}: {_sentence(error)}")


def parse_query(query_string: str) -> dict[str, list[str]]:
    """Return every parameter with all its values, in order. Raises status 400."""
    if not query_string:
        return {}
    try:
        pairs = parse_qsl(
            query_string,
            keep_blank_values=True,
            errors="surrogateescape",  # invalid UTF-8 is rejected below
            max_num_fields=PARAMETERS_MAX,
        )
    except ValueError:
        raise errors.bad_request(
            f"Invalid query string parameters: at most {PARAMETERS_MAX} are allowed"
        ) from None
    parameters: dict[str, list[str]] = {}
    for name, value in pairs:
        if not is_clean(name) or not is_clean(value):
            raise errors.bad_request(
                f"Invalid query string parameters: {name!a} contains a NUL, or is not UTF-8"
            )
        parameters.setdefault(name, []).append(value)
    return parameters


def parse_body(raw: bytes) -> Any:
    """Return the JSON value in ``raw``. Raises status 400."""
    try:
        value = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_object,
            parse_int=_integer,
        )
        _check_value(value, path=(), depth=1)
    except RecursionError:
        raise _malformed(f"it is nested deeper than {DEPTH_MAX} levels") from None
    except ValueError as error:  # not UTF-8, not JSON, NaN, a duplicate name
        raise _malformed(str(error)) from None
    return value


def check_path(parameters: Mapping[str, str]) -> None:
    """Raise status 404 for a part of the path that cannot be a name."""
    for value in parameters.values():
        if len(value) > PATH_PARAMETER_CHARACTERS_MAX or not is_clean(value):
            raise errors.not_found("")


def is_clean(text: str) -> bool:
    """Return whether text can be stored everywhere: no NUL, no lone surrogate."""
    return _UNCLEAN.search(text) is None


def _check_value(value: Any, path: tuple[str, ...], depth: int) -> None:
    if isinstance(value, str):
        if not is_clean(value):
            raise ValueError(f"the text at '{'.'.join(path)}' contains a NUL or a lone surrogate")
        return
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"the number at '{'.'.join(path)}' is out of range, or not a number")
    if not isinstance(value, dict | list):
        return
    if depth > DEPTH_MAX:
        raise RecursionError
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(key, str) and not is_clean(key):
            raise ValueError("the name of a field contains a NUL or a lone surrogate")
        _check_value(item, (*path, str(key)), depth + 1)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object without duplicate names, which parsers interpret differently."""
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"duplicate field {twice[:MESSAGE_CHARACTERS_MAX]!a}")
    return found


def _integer(text: str) -> float:
    """Return a number; one beyond all limits becomes infinite, and is rejected with its field."""
    return int(text) if len(text) <= DIGITS_MAX else math.inf


def _malformed(why: str) -> Exception:
    return errors.bad_request(f"Malformed JSON: {why}")


def _sentence(error: Any) -> str:
    """Return jsonschema's message, the violated rule, and the field."""
    message = str(error.message)
    value = repr(error.instance)
    if len(message) > MESSAGE_CHARACTERS_MAX and message.startswith(value):
        message = f"{value[:VALUE_CHARACTERS_MAX]}...{message.removeprefix(value)}"
    place = "".join(f"[{part!r}]" for part in list(error.relative_schema_path)[:-1])
    field = ".".join(str(part) for part in error.absolute_path)
    where = f", field {field[:MESSAGE_CHARACTERS_MAX]}" if field else ""
    return (
        f"{message[:MESSAGE_CHARACTERS_MAX]}. "
        f"Failed validating '{error.validator}' in schema{place}{where}"
    )
