"""The language of questions to hosts."""

import json
from typing import Any

import pytest

from armillary import exception
from objects.extra_specs import host_query

HOST = {"free_ram_mb": 2048, "host": "a", "up": True, "stats": {"rack": "7", "deep": {"er": 1}}}


def holds(question: Any) -> bool:
    parsed = host_query.parse(json.dumps(question))
    assert parsed is not None
    return parsed.holds(HOST.get)


YES: list[Any] = ["=", 1, 1]
NO: list[Any] = ["=", 1, 2]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (["=", "$host", "a"], True),
        (["=", "$host", "b"], False),
        ([">=", "$free_ram_mb", 2048], True),
        ([">", "$free_ram_mb", 2048], False),
        (["<=", "$free_ram_mb", 2048, 4096], True),
        (["<", "$free_ram_mb", 4096, 2048], False),
        (["=", "$host"], False),
        (["="], False),
        (["in", "$host", "b", "a"], True),
        (["in", "$host", "b"], False),
        (["in"], False),
        (["and", YES, YES], True),
        (["and", YES, NO], False),
        (["and"], True),
        (["or", NO, YES], True),
        (["or", NO, NO], False),
        (["or"], False),
        (["not", NO], True),
        (["not", YES], False),
        (["not", YES, NO], True),
        (["and", ["not", YES], YES], False),
        (["and", ["not", NO], YES], True),
        (["not", ["not", YES]], True),
        (["=", "$stats.rack", "7"], True),
        (["=", "$stats.deep.er", 1], True),
        (["=", "$stats.colour", "red"], False),
        (["=", "$host.rack", "7"], False),
        (["=", "$nothing", 1, 1], True),
        (["=", None, 1, 1], True),
        (["=", "", 1, 1], True),
        (["<", "$host", 5], False),
        (["and", "$up"], True),
    ],
    ids=json.dumps,
)
def test_a_question_holds(question: Any, expected: bool) -> None:
    """What is not known is left out, what cannot be compared does not hold, not is a negation."""
    assert holds(question) is expected


@pytest.mark.parametrize("text", ["", "  ", "[]", "null", "{}"])
def test_an_empty_question_is_none(text: str) -> None:
    assert host_query.parse(text) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no json", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ('"text"', "a query must be a list"),
        ('["near", 1]', 'unknown operator "near"'),
        ('[["="], 1]', "unknown operator"),
        ('["and", []]', "a query must be a list"),
        ('["=", {"a": 1}]', "neither a value nor a query"),
        (json.dumps(["=", *range(1001)]), "more than 1000 arguments"),
        ('["not", ' * 21 + '["="]' + "]" * 21, "more than 20 levels deep"),
    ],
    ids=["text", "broken", "string", "operator", "list", "empty", "object", "long", "deep"],
)
def test_what_is_not_a_question_is_refused(text: str, reason: str) -> None:
    """With what is wrong; a thousand levels do no harm."""
    with pytest.raises(exception.Invalid, match=reason):
        host_query.parse(text)


def test_a_question_knows_what_it_asks_about() -> None:
    parsed = host_query.parse('["or", ["=", "$stats.rack", "$host"], ["not", "$up"]]')
    assert parsed is not None
    assert parsed.attributes == {"stats", "host", "up"}
