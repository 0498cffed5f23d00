"""YAML from anybody: only plain values come through, and only so many."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator.scenario.scenario_errors import BadScenario, ScenarioError
from simulator.scenario.scenario_schema import SCENARIO
from simulator.scenario.yaml_document import _RULES, check_schema, read_document

ANYTHING: dict[str, object] = {}
BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1", r"line \d+, column \d+: "),
        ("a: 1\nb: 2\na: 3\n", r"line 3, column 1: duplicate key 'a'"),
        ("a: !!python/object/apply:os.getcwd []", r"line 1, column 4: could not determine"),
        ("a: &a [*a]", r"a: values may be nested at most 20 levels"),
        ("a: " + "[" * 400 + "]" * 400, r"is not YAML|20 levels deep"),
        (BOMB, r"more than 1,000,000 values"),
        ("a: " + "9" * 5000, r"is not YAML"),
        ("? [1, 2]\n: 3\n", r"line 1, column 3|keys must be strings"),
    ],
    ids=["broken", "key-twice", "object", "in-itself", "deep", "bomb", "huge-number", "list-key"],
)
def test_what_is_not_a_plain_document_is_refused(text: str, message: str, tmp_path: Path) -> None:
    """In one sentence, and soon."""
    path = tmp_path / "scenario.yaml"
    path.write_text(text)
    with pytest.raises(BadScenario, match=message):
        read_document(path, ANYTHING)


def test_bytes_that_are_not_text_are_refused(tmp_path: Path) -> None:
    """With where they are."""
    path = tmp_path / "scenario.yaml"
    path.write_bytes(b"a: \xff")
    with pytest.raises(BadScenario, match="not UTF-8 text: byte 3"):
        read_document(path, ANYTHING)


def test_a_merge_of_mappings_is_not_a_double_key(tmp_path: Path) -> None:
    """YAML's own way to say something once for several."""
    path = tmp_path / "scenario.yaml"
    path.write_text("a: &a {x: 1}\nb: {<<: *a, y: 2}\n")
    assert read_document(path, ANYTHING)["b"] == {"x": 1, "y": 2}


NO_RULES = {"properties", "items", "propertyNames"}
SAID_OTHERWISE = {"type", "enum", "required", "additionalProperties"}


def rules_in(schema: Any) -> Iterator[str]:
    for name, value in schema.items():
        if name == "properties":
            for inner in value.values():
                yield from rules_in(inner)
        elif name in ("items", "propertyNames") or isinstance(value, dict):
            yield name
            yield from rules_in(value)
        else:
            yield name


def test_no_rule_of_the_schema_is_without_words() -> None:
    """Or its mistake could not be said."""
    assert set(rules_in(SCENARIO)) - NO_RULES <= SAID_OTHERWISE | _RULES.keys()


@pytest.mark.parametrize(
    ("schema", "value", "reason"),
    [
        ({"type": ["object", "array"]}, 1, "found 1; allowed is mapping or list"),
        ({"enum": ["a", "b"]}, "c", "found 'c'; allowed is a, b"),
        ({"minItems": 1}, [], "found []; allowed is at least 1 of them"),
        ({"maxLength": 3}, "word", "found 'word'; allowed is at most 3 characters"),
        ({"pattern": "^A$"}, "B", "found 'B'; allowed is a match of ^A$"),
        (
            {"properties": {"a": {}, "b": {}}, "maxProperties": 1},
            {"a": 1, "b": 1},
            "found {'a': 1, 'b': 1}; allowed is at most 1 of them: a, b",
        ),
        ({"required": ["a"], "properties": {"a": {}}}, {}, "a is missing; allowed are a"),
    ],
    ids=["type", "enum", "minItems", "maxLength", "pattern", "maxProperties", "required"],
)
def test_a_broken_rule_is_said(schema: dict[str, Any], value: Any, reason: str) -> None:
    """What was found, what is allowed."""
    with pytest.raises(ScenarioError) as mistake:
        check_schema(value, schema)
    assert mistake.value.reason == reason
