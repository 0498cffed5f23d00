"""Validation against schemas; the error names the field and the rule."""

import re
from typing import Any

import pytest

from api.schemas.base import (
    BOOLEAN,
    HOST,
    PAGE,
    UUID,
    ZONE,
    every,
    fields,
    integer,
    listed,
    name,
    nullable,
    once,
    ruled,
    text,
    text_map,
)
from api.validation import Check, check_path
from armillary import exception

THING = every(
    {
        "thing": fields(
            {
                "size": integer(1, 10),
                "label": name(),
                "note": nullable(text(5)),
                "kind": {"enum": ["a", "b"]},
                "uuid": UUID,
                "host": HOST,
                "zone": ZONE,
                "tags": {"type": "array", "items": text(3), "maxItems": 2},
                "map": text_map(3),
                "odd": ruled({"const": 1}, "Only 1 will do"),
                "flag": BOOLEAN,
            }
        )
    }
)

SHOUTED = "4B1F3F6C-8D1A-4C43-9A59-0E2D9B0F5C11"

GOOD: list[dict[str, Any]] = [
    {},
    {"size": 1},
    {"label": "Grüße 你好"},
    {"note": None},
    {"uuid": "4B1F3F6C-8d1a-4c43-9a59-0e2d9b0f5c11"},
    {"map": {"a b:c.d-e_f": "xyz"}},
    {"host": "host-1.example_org"},
]

BAD = [
    ({"size": 0}, "thing.size. Value: 0. 0 is less than the minimum of 1"),
    ({"size": -1}, "thing.size. Value: -1. -1 is less than the minimum of 1"),
    ({"size": 11}, "thing.size. Value: 11. 11 is greater than the maximum of 10"),
    ({"size": 10**30}, f"thing.size. Value: {10**30}. {10**30} is greater than the maximum of 10"),
    ({"size": 1.0}, "thing.size. Value: 1.0. 1.0 is not of type 'integer'"),
    ({"size": "1.0"}, "thing.size. Value: 1.0. '1.0' is not of type 'integer'"),
    ({"size": "11"}, "thing.size. Value: 11. 11 is greater than the maximum of 10"),
    ({"size": True}, "thing.size. Value: true. True is not of type 'integer'"),
    ({"size": None}, "thing.size. Value: null. None is not of type 'integer'"),
    ({"label": ""}, "thing.label. Value: . '' should be non-empty"),
    ({"label": "x" * 256}, "It has 256 characters; at most 255 are allowed"),
    ({"label": " x"}, "thing.label. Value:  x. A name must be printable, without surrounding"),
    ({"label": "x\n"}, r"thing.label. Value: x\n. A name must be printable"),
    ({"note": "123456"}, "thing.note. Value: 123456. It has 6 characters; at most 5 are allowed"),
    ({"kind": "c"}, "thing.kind. Value: c. 'c' is not one of ['a', 'b']"),
    ({"uuid": "4b1f3f6c"}, "thing.uuid. Value: 4b1f3f6c. It must be a UUID"),
    ({"host": "a b"}, "thing.host. Value: a b. A host name may contain letters, digits and"),
    ({"host": "a\n"}, r"thing.host. Value: a\n. A host name may contain letters"),
    ({"zone": "a:b"}, "thing.zone. Value: a:b. A zone's name must be printable, without a colon"),
    ({"tags": ["a", "abcd"]}, "thing.tags.1. Value: abcd. It has 4 characters"),
    ({"tags": ["a"] * 3}, "thing.tags. Value: [\"a\", \"a\", \"a\"]. It has 3 items; at most 2"),
    ({"map": {"a/b": "x"}}, "thing.map. Value: a/b. A key may contain letters, digits"),
    ({"map": {"a": 1}}, "thing.map.a. Value: 1. 1 is not of type 'string'"),
    ({"map": {str(n): "" for n in range(129)}}, "It has 129 fields; at most 128 are allowed"),
    ({"odd": 2}, "thing.odd. Value: 2. Only 1 will do"),
    ({"more": 2}, "thing.more. Value: 2. Additional properties are not allowed"),
    ({"more" * 100: 2}, "thing." + ("more" * 100)[:80] + ". Value: 2. Additional"),
]  # fmt: skip


@pytest.mark.parametrize("values", GOOD, ids=str)
def test_what_fits_passes(values: dict[str, Any]) -> None:
    """Bounds belong to what is taken."""
    Check(THING).body({"thing": values})


@pytest.mark.parametrize(("values", "sentence"), BAD, ids=[repr(v)[:40] for v, _ in BAD])
def test_what_does_not_fit_is_named(values: dict[str, Any], sentence: str) -> None:
    """Field, value and rule in one sentence, whatever the field holds."""
    with pytest.raises(exception.Invalid) as caught:
        Check(THING).body({"thing": values})
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("Invalid input for field/attribute thing.")
    assert len(str(caught.value)) < 700


def test_a_missing_field_is_named() -> None:
    """It has no value to show."""
    with pytest.raises(exception.Invalid) as caught:
        Check(every({"thing": every({"size": integer()})})).body({"thing": {}})
    assert str(caught.value) == "Invalid input for field/attribute thing.size. It is required"


def test_a_long_value_is_cut_short() -> None:
    """A megabyte comes back as a line."""
    with pytest.raises(exception.Invalid, match=r"x{80}\.{4} It has") as caught:
        Check(THING).body({"thing": {"label": "x" * 10**6}})
    assert len(str(caught.value)) < 300


QUERY = fields({**PAGE, "all": BOOLEAN, "name": text(5), "once": once(text())})


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ({"limit": "5"}, {"limit": 5}),
        ({"all": "True"}, {"all": True}),
        ({"all": "0"}, {"all": False}),
        ({"name": "5"}, {"name": "5"}),
        ({}, {}),
        ({"limit": ["1", "2"], "all": "1"}, {"limit": 2, "all": True}),
    ],
    ids=["integer", "boolean", "zero", "text-of-digits", "nothing", "repeated"],
)
def test_a_query_gets_the_types_of_its_schema(sent: dict[str, str], read: dict[str, Any]) -> None:
    """On the wire all are texts."""
    assert Check(QUERY).query(sent) == read


def test_what_is_nested_gets_the_types_of_its_schema() -> None:
    """UUIDs are compared as texts later: all have their usual form, in lists and objects, too."""
    schema = every(
        {"owner": UUID, "others": listed(UUID), "parts": listed(fields({"on": BOOLEAN}))}
    )
    body: dict[str, Any] = {
        "owner": SHOUTED, "others": [SHOUTED, SHOUTED.lower()], "parts": [{"on": "yes"}, {}],
    }  # fmt: skip
    Check(schema).body(body)
    assert body == {
        "owner": SHOUTED.lower(), "others": [SHOUTED.lower()] * 2, "parts": [{"on": True}, {}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"limit": "-1"}, "limit. Value: -1. -1 is less than the minimum of 0"),
        ({"limit": "many"}, "limit. Value: many. 'many' is not of type 'integer'"),
        ({"limit": "9" * 19}, "is greater than the maximum of 2147483647"),
        ({"limit": "9" * 5000}, "is not of type 'integer'"),
        ({"limit": ["-1", "2"]}, "limit. Value: -1. -1 is less than the minimum of 0"),
        ({"limit": ["1"] * 17}, "limit. Value: [\"1\", \"1\", "),
        ({"once": ["a", "b"]}, "once. Value: [\"a\", \"b\"]. ['a', 'b'] is not of type"),
        ({"all": "perhaps"}, "all. Value: perhaps. 'perhaps' is not of type 'boolean'"),
        ({"name": "a\0b"}, r"name. Value: a\x00b. It contains a NUL"),
        ({"page": "2"}, "page. Value: 2. Additional properties are not allowed"),
        ({"p\0": "2"}, "It contains a NUL"),
    ],
    ids=[
        "zero", "word", "huge", "endless", "repeated", "endlessly", "once", "perhaps", "nul",
        "unknown", "nul-in-name",
    ],
)  # fmt: skip
def test_a_bad_query_is_named(sent: dict[str, Any], sentence: str) -> None:
    """Unknown parameters, too: a filter with a typing mistake would list everything."""
    with pytest.raises(exception.Invalid) as caught:
        Check(QUERY).query(sent)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("value", ["a\0b", "a\nb", "x" * 256, "\x7f"], ids=repr)
def test_a_path_that_can_name_nothing_is_refused(value: str) -> None:
    """No database is asked for it."""
    with pytest.raises(exception.Invalid, match="field/attribute server_id"):
        check_path({"server_id": value})


@pytest.mark.parametrize("part", ["server_group_id", "server_id"])
@pytest.mark.parametrize("value", ["first", "..", "%2e%2e", "4B1F3F6C-8D1A-4C43-9A59-0E2D9B0F5C11"])
def test_what_is_not_a_uuid_names_nothing(part: str, value: str) -> None:
    """It is answered here; no other service gets it."""
    with pytest.raises(exception.NotFound, match=f"{value} could not be found"):
        check_path({part: value})


def test_a_path_may_hold_any_printable_name() -> None:
    """Flavors are called what people call them."""
    check_path({"flavor_id": "m1.größe 2"})


def test_a_long_list_of_choices_ends_after_one_of_them() -> None:
    """Not within a word."""
    names = [f"choice-{number:03}" for number in range(100)]
    with pytest.raises(exception.Invalid) as caught:
        Check(fields({"key": {"enum": names}})).query({"key": "x"})
    assert re.search(r"'choice-\d{3}', …$", str(caught.value))
