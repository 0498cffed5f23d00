"""Query strings and bodies of the Placement API, and its sentences for validation errors."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import jsonschema

from armillary.http.validation import (
    DEPTH_MAX,
    MESSAGE_CHARACTERS_MAX,
    VALUE_CHARACTERS_MAX,
    CompiledSchema,
    Schema,
    check_clean,
    unique_fields,
)
from armillary.names.storable_text import is_storable
from placement.rest import errors

DIGITS_MAX = 400
PARAMETERS_MAX = 1000
PATH_PARAMETER_CHARACTERS_MAX = 1024  # names have limits of their own

_UUID = re.compile(r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}")

_formats = jsonschema.FormatChecker(formats=())


@_formats.checks("uuid")
def _is_uuid(value: object) -> bool:
    return not isinstance(value, str) or _UUID.fullmatch(value) is not None


class Check(CompiledSchema):
    """One compiled schema."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema, _formats)

    def body(self, value: Any, what: str = "JSON does not validate") -> None:
        """Raise status 400, with a detail that begins with ``what``, unless ``value`` is valid."""
        error = self.find_error(value)
        if error is not None:
            raise errors.bad_request(f"{what}: {_sentence(error)}")

    def query(self, parameters: Mapping[str, list[str]]) -> Mapping[str, list[str]]:
        """Return the parameters; raise status 400 unless they are valid.

        A property of type "array" is checked against all values of a parameter, any other one
        against the last.
        """
        values = {name: self._as_declared(name, sent) for name, sent in parameters.items()}
        self.body(values, "Invalid query string parameters")
        return parameters

    def _as_declared(self, name: str, values: list[str]) -> str | list[str]:
        is_list = self.properties.get(name, {}).get("type") == "array"
        return values if is_list else values[-1]


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
        if not is_storable(name) or not is_storable(value):
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
            object_pairs_hook=unique_fields,
            parse_int=_integer,
            parse_float=_number,
        )
        check_clean(value)
    except RecursionError:
        raise _malformed(f"it is nested deeper than {DEPTH_MAX} levels") from None
    except ValueError as error:  # not UTF-8, not JSON, NaN, a duplicate name
        raise _malformed(str(error)) from None
    return value


def check_path(parameters: Mapping[str, str]) -> None:
    """Raise status 404 for a part of the path that cannot be a name."""
    for value in parameters.values():
        if len(value) > PATH_PARAMETER_CHARACTERS_MAX or not is_storable(value):
            raise errors.not_found("")


def _integer(text: str) -> float:
    """Return a number; one beyond all limits becomes infinite, and is rejected with its field."""
    return int(text) if len(text) <= DIGITS_MAX else math.inf


def _number(text: str) -> float:
    """Return a number; 1.0 is the integer 1, as in JSON schema, since databases tell them apart."""
    value = float(text)
    return int(value) if value.is_integer() else value


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
