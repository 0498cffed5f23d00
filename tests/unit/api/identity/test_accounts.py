"""Users, projects, roles, services: what clients look up, and who may."""

import pytest
from oslo_config import cfg

from tests.unit.api.identity.conftest import Client, get, log_in

V3 = "/identity/v3"


def test_versions_are_found_without_a_token(web: Client) -> None:
    """At the root of the API as a choice, at /v3 as one; both lead to the same address."""
    choice = get(web, "/identity", None)
    assert choice.status_code == 300
    version = get(web, V3, None)
    assert version.status_code == 200
    (listed,) = choice.json["versions"]["values"]
    assert listed["id"] == version.json["version"]["id"] == "v3.14"
    assert listed["links"][0]["href"].endswith("/identity/v3/")
    assert get(web, "/v3", None).status_code == 200


@pytest.mark.parametrize(
    ("path", "name", "ids"),
    [
        ("users", "users", {"alice", "root"}),
        ("users?name=alice", "users", {"alice"}),
        ("users?name=bob", "users", set()),
        ("projects", "projects", {"stars", "moons", "ops"}),
        ("projects?name=ops&domain_id=default", "projects", {"ops"}),
        ("projects?tags-any=a", "projects", set()),
        ("projects?not-tags=a", "projects", {"stars", "moons", "ops"}),
        ("users/alice/projects", "projects", {"stars", "moons"}),
        ("users/alice/groups", "groups", set()),
        ("groups", "groups", set()),
        ("roles", "roles", {"admin", "member", "reader"}),
        ("domains", "domains", {"default"}),
        ("regions", "regions", {"RegionOne"}),
        ("auth/projects", "projects", {"ops"}),
    ],
)
def test_an_administrator_finds_all(path: str, name: str, ids: set[str], web: Client) -> None:
    """By query, as clients look up names."""
    token = log_in(web, "root")
    url, _, query = path.partition("?")
    result = web.simulate_get(f"{V3}/{url}", query_string=query, headers={"X-Auth-Token": token})
    assert result.status_code == 200
    assert {item["id"] for item in result.json[name]} == ids


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("users", 403),
        ("projects", 403),
        ("role_assignments", 403),
        ("users/alice", 200),
        ("users/root", 403),
        ("users/alice/projects", 200),
        ("projects/moons", 200),
        ("projects/ops", 403),
        ("auth/projects", 200),
        ("auth/catalog", 200),
        ("nothing", 404),
    ],
)
def test_a_user_finds_own_things(path: str, status: int, web: Client) -> None:
    """And nothing about others."""
    assert get(web, f"{V3}/{path}", log_in(web)).status_code == status


def test_without_a_token_there_is_nothing_to_see(web: Client) -> None:
    assert get(web, f"{V3}/users", None).status_code == 401
    assert get(web, f"{V3}/auth/tokens", None).status_code == 401


def test_who_has_which_role(web: Client) -> None:
    result = web.simulate_get(
        f"{V3}/role_assignments",
        params={"user.id": "alice", "include_names": "true"},
        headers={"X-Auth-Token": log_in(web, "root")},
    )
    found = {
        (item["scope"]["project"]["name"], item["role"]["name"])
        for item in result.json["role_assignments"]
    }
    assert found == {("stars", "member"), ("moons", "reader")}


@pytest.mark.parametrize(
    "query", ["scope.domain.id=default", "scope.system=all", "group.id=g", "user.id=bob"]
)
def test_no_role_is_for_a_domain_or_the_system_or_a_group(web: Client, query: str) -> None:
    """A role in a project is not shown as one of them."""
    found = get(web, f"{V3}/role_assignments?{query}", log_in(web, "root"))
    assert found.json["role_assignments"] == []


def test_the_catalogue_shows_configured_addresses(web: Client, conf: cfg.ConfigOpts) -> None:
    """With the project's id in them where it is asked for."""
    conf.set_override(
        "endpoints", {"volumev3": "http://c/v3/{project_id}", "placement": "http://p"}, "identity"
    )
    result = get(web, f"{V3}/auth/catalog", log_in(web))
    urls = {item["type"]: item["endpoints"][0]["url"] for item in result.json["catalog"]}
    assert urls["volumev3"] == "http://c/v3/stars"
    assert urls["placement"] == "http://p"
    assert urls["compute"].endswith("/v2.1")


def test_without_tokens_there_is_no_identity(conf: cfg.ConfigOpts, client) -> None:
    """An API that believes everybody, or Keystone, has no users of its own."""
    from api.front import make_front

    web = Client(make_front(conf, conductor=client))
    assert get(web, V3, None).status_code == 404
