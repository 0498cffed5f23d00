"""Every rule of the scenario's schema has its words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from simulator.scenario.scenario_errors import ScenarioError
from simulator.scenario.scenario_schema import SCENARIO
from simulator.scenario.schema_check import _RULES, check_schema

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
