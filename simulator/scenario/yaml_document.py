"""Parsing of hand-written YAML documents: plain values only, within bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from simulator.scenario.scenario_errors import BadScenario, Place, ScenarioError, found, path_text
from simulator.scenario.schema_check import check_schema

BYTES_MAX = 16 * 2**20
VALUES_MAX = 1_000_000
DEPTH_MAX = 20
_MERGE = "tag:yaml.org,2002:merge"


class _Loader(yaml.SafeLoader):
    """Reject duplicate keys, where YAML's own loader takes the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
                continue
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"duplicate key '{key.value}'", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


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


def read_document(path: Path, schema: dict[str, Any]) -> dict[str, Any]:
    """Return a file's document, validated against a schema. Raises ``BadScenario``."""
    try:
        document = yaml.load(read_text(path), Loader=_Loader)  # noqa: S506 - it is a SafeLoader
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
    checked: dict[str, Any] = document
    return checked


def at(path: Path, mistake: ScenarioError) -> BadScenario:
    """Return a mistake as the error that names its file."""
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
