"""JSON Schema validation with errors in terms of the document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from simulator.scenario.scenario_errors import ScenarioError, found

_KINDS = {"object": "mapping", "array": "list"}
_RULES = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "minItems": "at least {} of them",
    "maxItems": "at most {} of them",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minProperties": "at least {} of them",
    "maxProperties": "at most {} of them",
    "pattern": "a match of {}",
}


def check_schema(document: Any, schema: dict[str, Any]) -> None:
    """Raise ``ScenarioError`` for a document that violates the schema."""
    error = best_match(Draft202012Validator(schema).iter_errors(document))
    if error is not None:
        raise ScenarioError(tuple(error.absolute_path), _reason(error))


def _reason(error: ValidationError) -> str:
    schema: Any = error.schema
    value: Any = error.instance
    if error.validator == "required":
        missing = [key for key in schema["required"] if key not in value]
        return f"{', '.join(missing)} is missing; allowed are {_keys(schema)}"
    if error.validator == "additionalProperties":
        unknown = sorted(value.keys() - schema["properties"].keys())
        return f"found {', '.join(map(found, unknown))}; allowed are {_keys(schema)}"
    return f"found {found(value)}; allowed is {_rule(error, schema)}"


def _rule(error: ValidationError, schema: Mapping[str, Any]) -> str:
    allowed: Any = error.validator_value
    if error.validator == "type":
        kinds = allowed if isinstance(allowed, list) else [allowed]
        return " or ".join(str(_KINDS.get(kind, kind)) for kind in kinds)
    if error.validator == "enum":
        return ", ".join(map(str, allowed))
    rule = _RULES[str(error.validator)].format(allowed)
    return f"{rule}: {_keys(schema)}" if "properties" in schema else rule


def _keys(schema: Mapping[str, Any]) -> str:
    return ", ".join(schema.get("properties", ()))
