"""Errors of a request name the field that is wrong."""

from typing import Any

import falcon
import pytest

from placement.rest import validation
from placement.rest.validation import Check
from tests.fixtures.placement.placement_rest import PlacementApi, detail

BODY = Check(
    {
        "type": "object",
        "properties": {
            "total": {"type": "integer", "minimum": 1},
            "parts": {"type": "array", "items": {"type": "string", "format": "uuid"}},
        },
        "required": ["total"],
        "additionalProperties": False,
    }
)
QUERY = Check(
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 3},
            "member_of": {"type": "array", "items": {"type": "string", "maxLength": 3}},
        },
        "additionalProperties": False,
    }
)


def why(error: pytest.ExceptionInfo[falcon.HTTPError]) -> str:
    assert error.value.status_code == 400
    return str(error.value.description)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"total": 0}, "0 is less than the minimum of 1. Failed validating 'minimum' in schema"),
        ({"total": 0}, "field total"),
        ({"total": 1.0}, "1.0 is not of type 'integer'"),
        ({"total": True}, "True is not of type 'integer'"),
        ({}, "'total' is a required property"),
        ({"total": 1, "x": 2}, "Additional properties are not allowed ('x' was unexpected)"),
        ({"total": 1, "parts": ["x"]}, "field parts.0"),
        ([], "[] is not of type 'object'"),
    ],
)
def test_a_body_that_does_not_fit_is_refused(body: Any, reason: str) -> None:
    """The sentence names rule and field."""
    with pytest.raises(falcon.HTTPError) as error:
        BODY.body(body)
    assert why(error).startswith("JSON does not validate: ")
    assert reason in why(error)


def test_a_long_value_is_not_repeated() -> None:
    """Only how it begins."""
    with pytest.raises(falcon.HTTPError) as error:
        BODY.body(["x" * 10_000])
    assert len(why(error)) < 1000


@pytest.mark.parametrize(
    "uuid",
    ["8f2c0c1e-0f0a-4b41-a0fd-2a3d4f2b9f10", "8F2C0C1E0F0A4B41A0FD2A3D4F2B9F10"],
    ids=["hyphens", "none"],
)
def test_a_uuid_may_have_no_hyphens(uuid: str) -> None:
    """As clients send both."""
    BODY.body({"total": 1, "parts": [uuid]})


def test_of_a_text_the_last_value_counts() -> None:
    """The others are not looked at."""
    QUERY.query({"name": ["too long", "abc"]})


def test_of_a_list_every_value_counts() -> None:
    """Each may be the wrong one."""
    with pytest.raises(falcon.HTTPError) as error:
        QUERY.query({"member_of": ["too long", "abc"]})
    assert why(error).startswith("Invalid query string parameters: 'too long' is too long")


def test_a_query_string_is_taken_in_order() -> None:
    """With empty values, decoded."""
    parsed = validation.parse_query("a=1&b=&a=%e2%98%83&a=2+3")
    assert parsed == {"a": ["1", "☃", "2 3"], "b": [""]}


@pytest.mark.parametrize("query", ["a=%00", "%00=a", "&".join(["a=1"] * 1001)], ids=str.__len__)
def test_an_odd_query_string_is_refused(query: str) -> None:
    """A NUL, or parameters without end."""
    with pytest.raises(falcon.HTTPError) as error:
        validation.parse_query(query)
    assert why(error).startswith("Invalid query string parameters: ")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"\xff",
        b'{"a": NaN}',
        b'{"a": "\\u0000"}',
        b'{"a": "\\ud800"}',
        b'{"\\u0000": 1}',
        b"[" * 33 + b"]" * 33,
        b"[" * 100_000,
        b"1" * 10_000,
    ],
    ids=lambda raw: repr(raw[:8]),
)
def test_what_is_not_clean_json_is_refused(raw: bytes) -> None:
    """Whatever of it cannot be read or stored."""
    with pytest.raises(falcon.HTTPError) as error:
        validation.parse_body(raw)
    assert why(error).startswith("Malformed JSON: ")


def test_any_json_value_is_taken() -> None:
    """The aggregates of old versions are a bare list."""
    assert validation.parse_body(b'["a", {"b": [1.5, null, true]}]') == [
        "a",
        {"b": [1.5, None, True]},
    ]


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "application/jsonp"])
def test_a_body_of_another_type_is_a_415(api: PlacementApi, kind: str) -> None:
    """Which names it."""
    result = api.send("POST", "/resource_providers", body="{}", headers={"Content-Type": kind})
    assert result.status_code == 415
    assert detail(result) == f"The media type {kind} is not supported, use application/json"


def test_a_type_may_name_its_characters(api: PlacementApi) -> None:
    """JSON is JSON."""
    kind = {"Content-Type": "application/json; charset=utf-8"}
    body = '{"name": "x", "uuid": "8f2c0c1e-0f0a-4b41-a0fd-2a3d4f2b9f10"}'
    result = api.send("POST", "/resource_providers", body=body, headers=kind)
    assert result.status_code == 200


@pytest.mark.parametrize("name", ["%00", "x" * 1025], ids=["nul", "long"])
def test_a_path_that_can_name_nothing_is_a_404(api: PlacementApi, name: str) -> None:
    """No table is asked."""
    assert api.get(f"/resource_providers/{name}").status_code == 404
