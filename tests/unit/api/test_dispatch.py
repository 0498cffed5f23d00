"""Between Falcon and a handler: policy, then query, then body, then the handler."""

from typing import Any

import pytest

from armillary import exception
from armillary.http.dispatch import Action, ActionByBody, actions_of
from tests import builders
from tests.fixtures.http_api import MEMBER, Api
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient


def handler(call: Any) -> Any:
    """Do nothing."""


ADD, REMOVE = Action(handler, "a"), Action(handler, "b")
CHOICE = ActionByBody({"add": ADD, "remove": REMOVE})


def test_a_choice_is_made_by_the_only_field() -> None:
    """Its value is for the action's own schema."""
    assert CHOICE.choose({"remove": None}) == "remove"
    assert actions_of(CHOICE) == [ADD, REMOVE]


@pytest.mark.parametrize("body", [None, {}, {"add": 1, "remove": 1}, {"x": 1}], ids=str)
def test_none_several_or_unknown_is_refused(body: Any) -> None:
    """The message names those that are known."""
    with pytest.raises(exception.Invalid, match="add, remove"):
        CHOICE.choose(body)


def test_who_may_not_is_not_told_what_was_wrong(api: Api) -> None:
    """Policy goes before schema."""
    assert api.post("/v2.1/flavors", {}, token=MEMBER).status_code == 403


def test_what_is_another_projects_is_not_there_even_for_a_bad_request(
    api: Api, conductor: SuperConductor
) -> None:
    """And what is there goes before policy."""
    conductor.servers = [builders.an_instance(project_id="p2")]
    path = f"/v2.1/servers/{conductor.servers[0].uuid}"
    assert api.get(path, token=MEMBER, unknown="1").status_code == 404


def test_a_bad_path_asks_no_conductor(api: Api, client: SuperConductorClient) -> None:
    """No database sees a NUL."""
    assert api.get("/v2.1/servers/a%00b").status_code == 400
    assert api.get(f"/v2.1/servers/{'x' * 256}").status_code == 400
    assert client.calls == []


def test_an_unknown_parameter_is_refused_where_there_are_none(api: Api) -> None:
    """It would be ignored without a word."""
    answer = api.get("/v2.1/os-aggregates", limit="1")
    assert answer.status_code == 400
    assert "field/attribute limit. Value: 1. Additional properties" in answer.text


def test_of_a_parameter_given_twice_the_last_value_counts(
    api: Api, conductor: SuperConductor
) -> None:
    """As in Nova; the others must be valid all the same."""
    conductor.servers = [builders.an_instance(f"web-{number}") for number in range(3)]
    found = api.send("GET", "/v2.1/servers", query_string="all_tenants=1&limit=1&limit=2")
    assert len(found.json["servers"]) == 2
    wrong = api.send("GET", "/v2.1/servers", query_string="limit=many&limit=2")
    assert (wrong.status_code, "limit. Value: many." in wrong.text) == (400, True)


@pytest.mark.parametrize(
    "path",
    [
        "/servers?changes-before=2026-01-01&changes-before=2026-01-02",
        "/os-migrations?limit=1&limit=2",
        "/os-hypervisors?with_servers=true&with_servers=false",
    ],
)
def test_a_newer_parameter_is_not_repeated(path: str, api: Api) -> None:
    """Nova refuses that for all that it has got since version 2.43."""
    path, _, query = path.partition("?")
    headers = {"OpenStack-API-Version": "compute 2.96"}
    answer = api.send("GET", f"/v2.1{path}", headers=headers, query_string=query)
    assert (answer.status_code, "is not of type" in answer.text) == (400, True)


def test_the_handler_acts_in_the_callers_name(api: Api, client: SuperConductorClient) -> None:
    """Not in the API's."""
    api.get("/v2.1/flavors", token="alice:p7")
    _method, context = client.calls[-1]
    assert (context.user_id, context.project_id, context.roles) == (
        "alice",
        "p7",
        ["member", "reader"],
    )
