"""Parsing of hand-written YAML documents: plain values, within bounds, valid by a schema."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from armillary.files import strict_yaml
from simulator.scenario.scenario_errors import BadScenario, Place, ScenarioError, found, path_text
from simulator.scenario.scenario_schema import Schema

BYTES_MAX = 16 * 2**20
VALUES_MAX = 1_000_000
DEPTH_MAX = 20


def read_text(path: Path) -> str:
    """Return a file's text. Raises ``BadScenario``."""
    try:
        if path.stat().st_size > BYTES_MAX:
            raise _whole(path, f"is larger than {BYTES_MAX} bytes")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise _whole(path, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _whole(path, f"is not UTF-8 text: byte {error.start}") from error


def read_document(path: Path, schema: Schema) -> dict[str, object]:
    """Return a file's document, validated against a schema. Raises ``BadScenario``."""
    try:
        document: Any = strict_yaml.load(read_text(path))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "the document"
        raise BadScenario(file=path, where=where, reason=error.problem or "not YAML") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _whole(path, f"is not YAML: {' '.join(str(error).split())}") from error
    try:
        _check_plain(document)
        check_schema(document, schema)
    except ScenarioError as mistake:
        raise at(path, mistake) from None
    return document


def at(path: Path, mistake: ScenarioError) -> BadScenario:
    return BadScenario(file=path, where=path_text(mistake.place), reason=mistake.reason)


def _whole(path: Path, reason: str) -> BadScenario:
    return BadScenario(file=path, where="the file", reason=reason)


def _check_plain(document: Any) -> None:
    """Reject non-finite numbers, keys that are not strings, and the expansion of aliases."""
    for number, (place, value) in enumerate(_walk((), document)):
        if number > VALUES_MAX:
            raise ScenarioError(place[:1], f"the document has more than {VALUES_MAX:,} values")
        if len(place) > DEPTH_MAX:
            raise ScenarioError(place[:1], f"values may be nested at most {DEPTH_MAX} levels deep")
        if isinstance(value, float) and not math.isfinite(value):
            raise ScenarioError(place, f"found {value}; allowed are finite numbers")
        if isinstance(value, dict):
            for key in value:
                if not isinstance(key, str):
                    raise ScenarioError(
                        place, f"found the key {found(key)}; keys must be strings: quote it"
                    )


def _walk(place: Place, value: Any) -> Iterator[tuple[Place, Any]]:
    yield place, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _walk((*place, key), item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk((*place, index), item)


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


def check_schema(document: Any, schema: Schema) -> None:
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
