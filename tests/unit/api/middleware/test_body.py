"""Bodies: small enough, of the right type, JSON objects of clean text."""

import json
from collections.abc import Callable

import falcon
import pytest
from oslo_config import cfg

from api.middleware import body
from tests.fixtures.http_api import Api, message

PATH = "/v2.1/flavors"
JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"{", "it is not JSON: Expecting property name enclosed in double quotes at line 1"),
        (b"{}{}", "it is not JSON: Extra data"),
        (b'{"a": {"b": 1, "c": 2, "b": 3}}', "it has a duplicate field 'b'"),
        (b"\xff{}", "it is not UTF-8 at byte 0"),
        (b"[]", "it must be a JSON object, not an array"),
        (b'"a"', "it must be a JSON object, not a string"),
        (b"1", "it must be a JSON object, not a number"),
        (b"1.5", "it must be a JSON object, not a number"),
        (b"true", "it must be a JSON object, not a boolean"),
        (b"null", "it must be a JSON object, not null"),
        (b'{"a": NaN}', "it contains a number that is not valid JSON"),
        (b'{"a": -Infinity}', "it contains a number that is not valid JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "or too long"),
        (b'{"a": {"b": ["x\\u0000"]}}', "the text at 'a.b.0' contains a NUL"),
        (b'{"a": "\\ud800"}', "a lone surrogate"),
        (b'{"a\\u0000": 1}', "the name of a field contains a NUL"),
        (b'{"a": ' * 33 + b"1" + b"}" * 33, "it is nested deeper than 32 levels"),
        (b'{"a": ' * 100000 + b"1" + b"}" * 100000, "it is nested deeper than 32 levels"),
    ],
    ids=[
        "cut-off", "two-objects", "duplicate", "not-utf-8", "array", "string", "integer", "float",
        "boolean", "null", "nan", "infinity", "endless-number", "nul", "surrogate", "nul-in-name",
        "deep", "very-deep",
    ],
)  # fmt: skip
def test_what_is_not_an_object_of_clean_text_is_refused(raw: bytes, why: str, api: Api) -> None:
    """400, with the reason."""
    answer = api.send("POST", PATH, body=raw, headers=JSON)
    assert answer.status_code == 400
    assert why in message(answer)


def test_the_deepest_object_is_taken() -> None:
    """The bound itself is allowed."""
    raw = b'{"a": ' * 32 + b"1" + b"}" * 32
    assert body.parse(raw) == json.loads(raw)


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""]
)
def test_another_type_is_refused(media_type: str, api: Api) -> None:
    """415, with what is expected."""
    answer = api.send("POST", PATH, body=b"{}", headers={"Content-Type": media_type})
    assert answer.status_code == 415
    assert "must be application/json" in message(answer)


@pytest.mark.parametrize("media_type", ["application/json; charset=utf-8", "Application/JSON"])
def test_the_type_may_have_parameters_and_capitals(media_type: str, api: Api) -> None:
    """It is the schema that refuses this one."""
    answer = api.send("POST", PATH, body=b"{}", headers={"Content-Type": media_type})
    assert message(answer) == "Invalid input for field/attribute flavor. It is required"


def test_a_body_at_the_limit_is_taken_and_one_byte_more_is_not(
    conf: cfg.ConfigOpts, make_api: Callable[[], Api]
) -> None:
    """413 in the shape of all errors."""
    conf.set_override("max_body_bytes", 1024, group="api")
    api = make_api()
    exact = b"{}" + b" " * 1022
    assert api.send("POST", PATH, body=exact, headers=JSON).status_code == 400
    answer = api.send("POST", PATH, body=exact + b" ", headers=JSON)
    assert answer.status_code == 413
    assert message(answer) == "The body has 1025 bytes; at most 1024 are allowed."
    assert "overLimit" in answer.json


def test_a_chunked_body_is_refused(api: Api) -> None:
    """Its size is not known before it is read."""
    answer = api.send("POST", PATH, headers={**JSON, "Transfer-Encoding": "chunked"})
    assert answer.status_code == 411


@pytest.mark.parametrize(("method", "path"), [("GET", PATH), ("DELETE", f"{PATH}/x")])
def test_a_request_that_takes_no_body_gets_none(method: str, path: str, api: Api) -> None:
    """A client that sends one expects something else to happen."""
    answer = api.send(method, path, body=b'{"a": 1}', headers=JSON)
    assert answer.status_code == 400
    assert message(answer) == "This request does not accept a body."


def test_no_body_where_one_is_needed_is_an_empty_object(api: Api) -> None:
    """The schema says what is missing."""
    answer = api.send("POST", PATH)
    assert message(answer) == "Invalid input for field/attribute flavor. It is required"


def test_parse_raises_what_the_error_table_knows() -> None:
    """Falcon's own errors have a status already."""
    with pytest.raises(falcon.HTTPBadRequest):
        body.parse(b"")
