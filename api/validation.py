"""Messages of the Compute API for validation errors: field, value and rule."""

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jsonschema
from jsonschema.exceptions import ValidationError

from armillary import exception
from armillary.http.validation import (
    MESSAGE_CHARACTERS_MAX,
    VALUE_CHARACTERS_MAX,
    CompiledSchema,
    Schema,
    invalid,
)
from armillary.names.identifiers import is_uuid
from armillary.names.storable_text import is_storable

RULE_KEYWORD = "x-rule"
"""Schema keyword: the error message, instead of that of the failed keyword."""
ONCE_KEYWORD = "x-once"
"""Schema keyword of a query parameter that may not be repeated."""
REPEATED_MAX = 16
"""Maximum number of values of a query parameter that is repeated."""

PATH_PARAMETER_CHARACTERS_MAX = 255

FORMAT_RULES = {
    "name": "A name must be printable, without surrounding spaces",
    "ipv4": "It must be an IPv4 address such as 192.0.2.1",
    "ipv6": "It must be an IPv6 address such as 2001:db8::1",
    "address": "It must be an IP address such as 192.0.2.1 or 2001:db8::1",
    "uuid": "It must be a UUID such as 4b1f3f6c-8d1a-4c43-9a59-0e2d9b0f5c11",
}

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_INTEGER = re.compile(r"[+-]?\d{1,19}")
_NUMBER = re.compile(r"\d{1,19}(\.\d{1,19})?")
_BOOLEANS = {
    **dict.fromkeys(("true", "1", "on", "yes", "t", "y"), True),
    **dict.fromkeys(("false", "0", "off", "no", "f", "n"), False),
}
"""Words for booleans, in small letters."""

_PATH_UUIDS: Mapping[str, Callable[[str], exception.NotFound]] = {
    "server_group_id": lambda value: exception.ServerGroupNotFound(group=value),
    "server_id": lambda value: exception.InstanceNotFound(instance_uuid=value),
}
"""Parts of a path that are UUIDs, and the error for anything else: no service is asked for it."""
_formats = jsonschema.FormatChecker(formats=())


@_formats.checks("name")
def _is_name(value: object) -> bool:
    return not isinstance(value, str) or (value.isprintable() and value == value.strip())


def is_uuid_in_any_case(text: str) -> bool:
    """Return whether a text is a UUID, with letters in any case."""
    return _UUID.fullmatch(text) is not None


@_formats.checks("uuid")
def _is_uuid(value: object) -> bool:
    return not isinstance(value, str) or is_uuid_in_any_case(value)


@_formats.checks("address")
def _is_address(value: object) -> bool:
    if not isinstance(value, str):
        return True
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True


@_formats.checks("ipv4")
def _is_ipv4(value: object) -> bool:
    return _is_address(value) and ":" not in str(value)


@_formats.checks("ipv6")
def _is_ipv6(value: object) -> bool:
    return _is_address(value) and (":" in str(value) or not isinstance(value, str))


class Check(CompiledSchema):
    """One compiled schema."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema, _formats)

    def body(self, value: Any) -> None:
        """Raise ``Invalid`` unless ``value`` is valid.

        Numbers and booleans that were sent as text are replaced in it, UUIDs by their usual form.
        """
        _converted(value, self.schema)
        error = self.find_error(value)
        if error is not None:
            raise exception.Invalid(_sentence(_with_rule(error)))

    def query(self, parameters: Mapping[str, str | list[str]]) -> dict[str, Any]:
        """Return the parameters with the types of the schema; raise ``Invalid`` if invalid.

        If a parameter that takes one value is repeated, its last value counts, as in Nova; all of
        them must be valid.
        """
        repeated = {
            name: sent
            for name, sent in parameters.items()
            if isinstance(sent, list) and self._takes_the_last(name, sent)
        }
        counting = {**parameters, **{name: sent[-1] for name, sent in repeated.items()}}
        for name, sent in repeated.items():
            for value in sent[:-1]:
                self._check_query({**counting, name: value})
        return self._check_query(counting)

    def _takes_the_last(self, name: str, values: Sequence[str]) -> bool:
        """Return whether only the last of several values of a parameter counts."""
        schema = self.properties.get(name, {})
        takes_lists = any(one.get("type") == "array" for one in schema.get("anyOf", ()))
        return not takes_lists and ONCE_KEYWORD not in schema and len(values) <= REPEATED_MAX

    def _check_query(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        values = {
            name: _converted(value, self.properties.get(name, {})) for name, value in sent.items()
        }
        for name, value in values.items():
            texts = [name, *(value if isinstance(value, list) else [value])]
            if not all(is_storable(text) for text in texts if isinstance(text, str)):
                raise invalid(name[:VALUE_CHARACTERS_MAX], value, "It contains a NUL")
        self.body(values)
        return values


def check_uuid(field: str, value: str) -> None:
    """Raise ``Invalid`` unless a part of a path is a UUID, with letters in any case."""
    if not is_uuid_in_any_case(value):
        raise invalid(field, value, FORMAT_RULES["uuid"])


def required_field(field: str) -> str:
    """Return the sentence about a field that is missing."""
    return f"Invalid input for field/attribute {field}. It is required"


def check_path(parameters: Mapping[str, str]) -> None:
    """Raise ``Invalid`` for a part of the path that cannot be a name, ``NotFound`` for no UUID."""
    for name, value in parameters.items():
        if len(value) > PATH_PARAMETER_CHARACTERS_MAX:
            limit = f"It is longer than {PATH_PARAMETER_CHARACTERS_MAX} characters"
            raise invalid(name, value, limit)
        if not value.isprintable():
            raise invalid(name, value, FORMAT_RULES["name"])
        if name in _PATH_UUIDS and not is_uuid(value):
            raise _PATH_UUIDS[name](value)


def _converted(value: Any, schema: Schema) -> Any:
    """Return a text, also in lists and objects, in the type of its schema, if it can be."""
    if isinstance(value, dict):
        _convert_fields(value, schema)
        return value
    if isinstance(value, list):
        return [_converted(each, schema.get("items", {})) for each in value]
    if not isinstance(value, str):
        return value
    if schema.get("format") == "uuid":
        return value.lower() if is_uuid_in_any_case(value) else value
    kinds = schema.get("type", ())
    if "boolean" in kinds:
        return _BOOLEANS.get(value.lower(), value)
    if "integer" in kinds and "string" not in kinds and _INTEGER.fullmatch(value):
        return int(value)
    if "number" in kinds and _NUMBER.fullmatch(value):
        return float(value)
    return value


def _convert_fields(value: dict[str, Any], schema: Schema) -> None:
    for name, part in schema.get("properties", {}).items():
        if name in value:
            value[name] = _converted(value[name], part)


def _with_rule(error: Any) -> Any:
    """Return the error, or the nearest one above it whose schema has its own message."""
    parent = error.parent
    while parent is not None:
        if RULE_KEYWORD in parent.schema:
            return parent
        parent = parent.parent
    return error


def _sentence(error: ValidationError) -> str:
    field, value = _field_and_value(error)
    if error.validator == "required":
        return required_field(field)
    return invalid(field, value, _shortened(_rule(error))).message


def _shortened(rule: str) -> str:
    """Return a rule of bounded length; a long list of choices ends after one of them."""
    if len(rule) <= MESSAGE_CHARACTERS_MAX:
        return rule
    cut = rule[:MESSAGE_CHARACTERS_MAX]
    listed, comma, _rest = cut.rpartition(", ")
    return f"{listed}, …" if comma else cut


def _field_and_value(error: Any) -> tuple[str, Any]:
    """Return the field at fault; for an unknown or missing one, that field and not its parent."""
    parts = [str(part) for part in error.absolute_path]
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = error.schema.get("properties", {})
        name = next(name for name in error.instance if name not in known)
        return ".".join([*parts, name[:VALUE_CHARACTERS_MAX]]), error.instance[name]
    if error.validator == "required":
        name = next(name for name in error.validator_value if name not in error.instance)
        return ".".join([*parts, name]), None
    return ".".join(parts) or "body", error.instance


def _rule(error: Any) -> str:
    if RULE_KEYWORD in error.schema:
        return str(error.schema[RULE_KEYWORD])
    if error.validator == "format":
        return FORMAT_RULES[error.validator_value]
    if error.validator == "maxLength":
        return (
            f"It has {len(error.instance)} characters; at most {error.validator_value} are allowed"
        )
    if error.validator == "maxProperties":
        return f"It has {len(error.instance)} fields; at most {error.validator_value} are allowed"
    if error.validator == "maxItems":
        return f"It has {len(error.instance)} items; at most {error.validator_value} are allowed"
    if error.validator == "additionalProperties":
        return "Additional properties are not allowed: unknown field"
    return _without_long_value(str(error.message), repr(error.instance))


def _without_long_value(message: str, value: str) -> str:
    """Return jsonschema's message, which begins with the value, without a long value."""
    if len(value) > VALUE_CHARACTERS_MAX and message.startswith(value):
        return f"It{message.removeprefix(value)}"
    return message
