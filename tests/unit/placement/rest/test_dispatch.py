"""Dispatch of a request between its route and its handler, and of the answer after it."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from armillary.http.call import Answer
from armillary.http.dispatch import Action
from placement.engine import PlacementEngine
from placement.rest import routes
from placement.rest.call import Call
from placement.rest.policies import resource_class, usage
from tests.fixtures.placement.placement_rest import PlacementApi, rest_conf

NAMED = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
BY_NAME = {"type": "object", "properties": {"name": {"type": "string"}}}
NOON = dt.datetime(2030, 1, 31, 12, 0)
ALICE = {"token": "alice"}


class Recorder:
    """A handler that keeps the last call and answers what it is told to."""

    def __init__(self) -> None:
        self.call: Call | None = None
        self.answer = Answer({"is": "here"})

    def __call__(self, call: Call) -> Answer:
        self.call = call
        return self.answer


@pytest.fixture
def handler() -> Recorder:
    return Recorder()


@pytest.fixture
def offered(
    handler: Recorder, tmp_path: Path, engine: PlacementEngine, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Return what makes an API with the handler on /things/{name}, offered with some options."""

    def offer(**options: Any) -> PlacementApi:
        rule = options.pop("rule", resource_class.LIST)
        action = Action(handler, rule, **options)
        monkeypatch.setitem(routes.ROUTES, "/things/{name}", {"PUT": action})
        return PlacementApi(rest_conf(tmp_path), engine)

    return offer


def test_a_handler_is_given_a_checked_request(offered: Any, handler: Recorder) -> None:
    """With its caller, its version, and all values of every parameter."""
    api = offered(query={(1, 0): BY_NAME}, body={(1, 0): NAMED})
    api.put("/things/x%20y?name=a&name=b", {"name": "z"}, version="1.28", token="admin:p1")
    assert handler.call is not None
    assert handler.call.path == {"name": "x y"}
    assert handler.call.query == {"name": ["a", "b"]}
    assert handler.call.parameter("name") == "b"
    assert handler.call.parameter("other") is None
    assert handler.call.body == {"name": "z"}
    assert handler.call.version == (1, 28)
    assert (handler.call.context.user_id, handler.call.context.project_id) == ("admin", "p1")


def test_links_begin_where_the_api_is(offered: Any, handler: Recorder) -> None:
    """Under a path of its own, perhaps; a location has the server, too."""
    offered().put("/things/x", root_path="/placement")
    assert handler.call is not None
    assert handler.call.link("/traits/A") == "/placement/traits/A"
    assert handler.call.location("/traits/A") == "http://falconframework.org/placement/traits/A"


@pytest.mark.parametrize(("version", "status"), [("1.6", 404), ("1.7", 200)])
def test_an_action_begins_with_a_version(offered: Any, version: str, status: int) -> None:
    """Before, there is nothing."""
    assert offered(since=(1, 7)).put("/things/x", version=version).status_code == status


def test_policy_comes_before_query_and_body(offered: Any) -> None:
    """Who may not do it learns nothing about how."""
    api = offered(body={(1, 0): NAMED})
    assert api.put("/things/x?bad=1", {}, **ALICE).status_code == 403


def test_what_does_not_exist_comes_before_query_and_body(offered: Any, handler: Recorder) -> None:
    """But after the policy."""

    def exists(call: Call) -> None:
        call.engine.resource_providers.get(call.path["name"])

    api = offered(body={(1, 0): NAMED}, exists=exists)
    path = "/things/8f2c0c1e-0f0a-4b41-a0fd-2a3d4f2b9f10?bad=1"
    assert api.put(path, {}).status_code == 404
    assert api.put(path, {}, **ALICE).status_code == 403
    assert handler.call is None


def test_the_policy_may_ask_about_a_parameter(offered: Any) -> None:
    """Before the query is checked."""
    api = offered(
        rule=usage.SHOW_TOTAL,
        subject=lambda call: {"project_id": call.parameter("p")},
        query={(1, 0): {"type": "object", "additionalProperties": False}},
    )
    headers = {"X-Roles": "reader"}
    assert api.put("/things/x?p=alice", headers=headers, **ALICE).status_code == 400
    assert api.put("/things/x?p=bob", headers=headers, **ALICE).status_code == 403


@pytest.mark.parametrize(
    ("version", "body", "status"),
    [
        ("1.1", {"name": "z"}, 200),
        ("1.1", {}, 400),
        ("1.2", {}, 200),
        ("1.2", None, 200),
        ("1.0", None, 200),
    ],
)
def test_a_body_may_come_and_go_with_versions(
    offered: Any, version: str, body: Any, status: int
) -> None:
    """Where none is taken, none is looked at."""
    api = offered(body={(1, 1): NAMED, (1, 2): None})
    assert api.put("/things/x", body, version=version).status_code == status


def test_an_unknown_parameter_is_refused(offered: Any) -> None:
    """As a misspelt one would be."""
    known = {"type": "object", "properties": {"limit": {}}, "additionalProperties": False}
    assert offered(query={(1, 0): known}).put("/things/x?limt=1").status_code == 400


@pytest.mark.parametrize("status", [200, 204])
def test_who_writes_may_accept_anything(offered: Any, handler: Recorder, status: int) -> None:
    """Only readers have to accept JSON."""
    handler.answer = Answer(None)
    api = offered(status=status)
    plain = {"Accept": "text/plain"}
    assert api.put("/things/x", headers=plain).status_code == status


def test_an_answer_may_have_another_status_and_headers(offered: Any, handler: Recorder) -> None:
    """Than its action."""
    handler.answer = Answer(None, status=201, headers={"Location": "/here"})
    result = offered(status=204).put("/things/x")
    assert (result.status_code, result.headers["location"]) == (201, "/here")
    assert result.content == b""


def test_bytes_are_sent_as_they_are(offered: Any, handler: Recorder) -> None:
    """They are JSON already."""
    handler.answer = Answer(b'{"a":1}')
    result = offered().put("/things/x")
    assert (result.content, result.headers["content-type"]) == (b'{"a":1}', "application/json")


@pytest.mark.parametrize(
    ("version", "date"), [("1.14", None), ("1.15", "Thu, 31 Jan 2030 12:00:00 GMT")]
)
def test_the_time_of_change_is_told_since_1_15(
    offered: Any, handler: Recorder, version: str, date: str | None
) -> None:
    """Together with the wish not to be kept."""
    handler.answer = Answer({}, last_modified=NOON)
    headers = offered().put("/things/x", version=version).headers
    assert headers.get("last-modified") == date
    assert headers.get("cache-control") == (None if date is None else "no-cache")
