"""Server groups: made, listed, shown, deleted by their project."""

from typing import Any

import pytest

from tests import builders
from tests.fixtures.http_api import MEMBER, Api, message
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient

PATH = "/v2.1/os-server-groups"


def test_a_group_has_one_policy(api: Api) -> None:
    """In a list before 2.64."""
    answer = api.post(PATH, {"server_group": {"name": "near", "policy": "affinity"}}, token=MEMBER)
    made = answer.json["server_group"]
    assert made["policy"] == "affinity"
    early = api.send("GET", f"{PATH}/{made['id']}", headers={}, token=MEMBER)
    assert early.json["server_group"]["policies"] == ["affinity"]
    assert (made["project_id"], made["user_id"], made["members"]) == ("p1", "u1", [])
    assert api.get(f"{PATH}/{made['id']}", token=MEMBER).json["server_group"] == made


@pytest.mark.parametrize(
    ("version", "wanted", "status"),
    [
        ("2.1", {"policies": ["affinity"]}, 200),
        ("2.14", {"policies": ["soft-affinity"]}, 400),
        ("2.15", {"policies": ["soft-affinity"]}, 200),
        ("2.63", {"policies": []}, 400),
        ("2.63", {"policies": ["affinity", "anti-affinity"]}, 400),
        ("2.63", {"policy": "affinity"}, 400),
        ("2.63", {"policies": ["affinity"], "rules": {}}, 400),
        ("2.64", {"policies": ["affinity"]}, 400),
        ("2.64", {"policy": "anti-affinity", "rules": {"max_server_per_host": 2}}, 200),
    ],
    ids=str,
)
def test_a_version_has_its_form_of_policies(
    version: str, wanted: dict[str, Any], status: int, api: Api
) -> None:
    """Soft ones since 2.15, one policy with rules since 2.64."""
    headers = {"OpenStack-API-Version": f"compute {version}"}
    body = {"server_group": {"name": "g", **wanted}}
    assert api.send("POST", PATH, json=body, headers=headers).status_code == status


def test_a_group_has_rules(api: Api, conductor: SuperConductor) -> None:
    """Numbers outside, texts inside."""
    wanted = {"name": "apart", "policy": "anti-affinity", "rules": {"max_server_per_host": 3}}
    made = api.post(PATH, {"server_group": wanted}).json["server_group"]
    assert made["rules"] == {"max_server_per_host": 3}
    assert conductor.groups[0].rules == {"max_server_per_host": "3"}


BAD = [
    ({}, "server_group.name"),
    ({"name": "x"}, "server_group.policy"),
    ({"name": "x", "policy": "affinity", "policies": ["affinity"]}, "server_group.policies"),
    ({"name": "x", "policy": "hate"}, "server_group.policy"),
    ({"name": "x" * 256, "policy": "affinity"}, "server_group.name"),
    (
        {"name": "x", "policy": "anti-affinity", "rules": {"max_server_per_host": 0}},
        "server_group.rules.max_server_per_host",
    ),
    ({"name": "x", "policy": "anti-affinity", "rules": {"max": 1}}, "server_group.rules.max"),
    ({"name": "x", "policy": "affinity", "metadata": {}}, "server_group.metadata"),
]


@pytest.mark.parametrize(("wanted", "field"), BAD, ids=[str(w)[:60] for w, _ in BAD])
def test_a_bad_group_names_its_field(
    wanted: dict[str, Any], field: str, api: Api, client: SuperConductorClient
) -> None:
    """And nothing is stored."""
    answer = api.post(PATH, {"server_group": wanted})
    assert answer.status_code == 400
    assert f"field/attribute {field}." in message(answer)
    assert client.calls == []


def test_rules_must_fit_the_policy(api: Api) -> None:
    """The super conductor says so."""
    wanted = {"name": "near", "policy": "affinity", "rules": {"max_server_per_host": 3}}
    assert api.post(PATH, {"server_group": wanted}).status_code == 400


def test_a_project_sees_its_own(api: Api, conductor: SuperConductor) -> None:
    """An administrator all, when asked to."""
    conductor.groups = [
        builders.an_instance_group("a", project_id="p1"),
        builders.an_instance_group("b", project_id="p2"),
        builders.an_instance_group("c", project_id="p2"),
    ]

    def names(token: str | None, **query: str) -> list[str]:
        listed = api.get(PATH, token=token, **query).json["server_groups"]
        return [group["name"] for group in listed]

    assert names(MEMBER) == ["a"]
    assert names(None) == []
    assert names(None, all_projects="true") == ["a", "b", "c"]
    assert names(None, all_projects="true", limit="1", offset="1") == ["b"]
    assert api.get(PATH, token=MEMBER, all_projects="true").status_code == 403


def test_groups_are_listed_in_pages(api: Api, conductor: SuperConductor) -> None:
    """Counted from the offset."""
    conductor.groups = [builders.an_instance_group(name) for name in "abcd"]
    first = api.get(PATH, token=MEMBER, limit="2", offset="1").json
    assert [group["name"] for group in first["server_groups"]] == ["b", "c"]
    query = first["server_groups_links"][0]["href"].partition("?")[2]
    last = api.send("GET", PATH, token=MEMBER, query_string=query).json
    assert [group["name"] for group in last["server_groups"]] == ["d"]
    assert "server_groups_links" not in last


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_another_projects_group_is_not_there(
    method: str, api: Api, conductor: SuperConductor
) -> None:
    """404."""
    conductor.groups = [builders.an_instance_group(project_id="p2")]
    answer = api.send(method, f"{PATH}/{conductor.groups[0].uuid}", token=MEMBER)
    assert answer.status_code == 404


def test_a_group_is_deleted(api: Api, conductor: SuperConductor) -> None:
    """By its project."""
    conductor.groups = [builders.an_instance_group()]
    assert api.delete(f"{PATH}/{conductor.groups[0].uuid}", token=MEMBER).status_code == 204
    assert conductor.groups == []


def test_a_group_to_spread_shows_its_rules(api: Api) -> None:
    """The key as text, the skew as a number."""
    rules = {"topology_key": "rack", "max_skew": 2}
    body = {"server_group": {"name": "web", "policy": "spread", "rules": rules}}
    made = api.post(PATH, body)
    assert made.status_code == 200
    assert made.json["server_group"]["rules"] == rules
