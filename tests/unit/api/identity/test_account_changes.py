"""Users, projects and roles made over HTTP, beside those of the token file."""

from pathlib import Path
from typing import Any

import pytest
from falcon import testing
from oslo_config import cfg

from api.front import make_front
from armillary.identity import passwords
from tests.fixtures.super_conductor import SuperConductorClient
from tests.unit.api.identity.conftest import Client, asked, get, log_in, of_project

V3 = "/identity/v3"


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    made = passwords.hash_password
    monkeypatch.setattr(passwords, "hash_password", lambda password: made(password, n=16))


class Administrator:
    """Sends requests with the token of an administrator."""

    def __init__(self, web: Client) -> None:
        self._web = web
        self.token = log_in(web, "root")

    def send(self, method: str, path: str, body: Any = None) -> testing.Result:
        headers = {"X-Auth-Token": self.token}
        return self._web.simulate_request(method, f"{V3}/{path}", json=body, headers=headers)

    def make(self, kind: str, **fields: Any) -> dict[str, Any]:
        result = self.send("POST", f"{kind}s", {kind: fields})
        assert result.status_code == 201, result.text
        return dict(result.json[kind])


@pytest.fixture
def root(web: Client) -> Administrator:
    return Administrator(web)


def test_a_user_made_by_request_works_like_one_of_the_file(
    root: Administrator, web: Client, conf: cfg.ConfigOpts, client: SuperConductorClient
) -> None:
    """In this process and in others, until the role, the project or the user goes."""
    project = root.make("project", name="comets", description="far away", enabled=True)
    more = {"email": "bob@example.org", "default_project_id": project["id"]}
    user = root.make("user", name="bob", password="first", **more)
    assert more.items() <= user.items()
    assert "password" not in user
    assert (
        web.simulate_post(
            f"{V3}/auth/tokens", json=asked("bob", "first", scope=of_project("comets"))
        ).status_code
        == 401
    )
    grants = f"projects/{project['id']}/users/{user['id']}/roles"
    assert root.send("HEAD", f"{grants}/member").status_code == 404
    for _ in range(2):
        assert root.send("PUT", f"{grants}/member").status_code == 204
    assert root.send("HEAD", f"{grants}/member").status_code == 204
    assert [each["id"] for each in root.send("GET", grants).json["roles"]] == ["member"]

    other = Client(make_front(conf, conductor=client))
    login = other.simulate_post(f"{V3}/auth/tokens", json=asked("bob", "first"))
    assert login.json["token"]["project"]["id"] == project["id"]
    token = login.headers["X-Subject-Token"]
    assert get(other, "/v2.1/servers", token).status_code == 200
    wrong = {"user": {"password": "second", "original_password": "guess"}}
    right = {"user": {"password": "second", "original_password": "first"}}
    place, headers = f"{V3}/users/{user['id']}/password", {"X-Auth-Token": token}
    assert other.simulate_post(place, json=wrong, headers=headers).status_code == 401
    assert root.send("POST", f"users/{user['id']}/password", right).status_code == 403
    assert other.simulate_post(place, json=right, headers=headers).status_code == 204
    assert get(web, "/v2.1/servers", token).status_code == 401

    changed = {"user": {"name": "robert", "password": "third"}}
    assert root.send("PATCH", f"users/{user['id']}", changed).json["user"]["name"] == "robert"
    again = web.simulate_post(f"{V3}/auth/tokens", json=asked("robert", "third"))
    token = again.headers["X-Subject-Token"]
    assert get(web, "/v2.1/servers", token).status_code == 200
    closed = {"project": {"enabled": False, "description": None}}
    assert (
        root.send("PATCH", f"projects/{project['id']}", closed).json["project"]["enabled"] is False
    )
    assert get(web, "/v2.1/servers", token).status_code == 401
    assert root.send("DELETE", f"{grants}/member").status_code == 204
    for path in (grants + "/member", f"projects/{project['id']}", f"users/{user['id']}"):
        statuses = [root.send("DELETE", path).status_code for _ in range(2)]
        assert statuses == ([404, 404] if path.startswith(grants) else [204, 404])


def test_a_token_does_not_come_back_when_its_user_is_enabled_again(
    root: Administrator, web: Client, conf: cfg.ConfigOpts, client: SuperConductorClient
) -> None:
    """The user was perhaps disabled because it was stolen; this holds in other processes, too."""
    project, user = root.make("project", name="comets"), root.make("user", name="bob", password="x")
    root.send("PUT", f"projects/{project['id']}/users/{user['id']}/roles/member")
    wanted = asked("bob", "x", scope=of_project("comets"))
    token = web.simulate_post(f"{V3}/auth/tokens", json=wanted).headers["X-Subject-Token"]
    assert get(web, "/v2.1/servers", token).status_code == 200
    for is_enabled in (False, True):
        assert root.send("PATCH", f"users/{user['id']}", {"user": {"enabled": is_enabled}})
    for each in (web, Client(make_front(conf, conductor=client))):
        assert get(each, "/v2.1/servers", token).status_code == 401


def test_the_token_file_comes_first(root: Administrator, web: Client) -> None:
    """What it has stays as it is, but its users can get more roles."""
    refused = [
        root.send("DELETE", "users/alice"),
        root.send("PATCH", "users/alice", {"user": {"enabled": False}}),
        root.send("DELETE", "projects/stars"),
        root.send("DELETE", "projects/stars/users/alice/roles/member"),
        root.send("DELETE", "roles/member"),
        root.send("POST", "users", {"user": {"name": "alice"}}),
        root.send("POST", "projects", {"project": {"name": "stars"}}),
        root.send("POST", "roles", {"role": {"name": "admin"}}),
    ]
    assert [each.status_code for each in refused] == [403] * 5 + [409] * 3
    root.make("role", name="auditor")
    token = log_in(web)
    assert root.send("PUT", "projects/stars/users/alice/roles/auditor").status_code == 204
    roles = [
        each["id"] for each in root.send("GET", "projects/stars/users/alice/roles").json["roles"]
    ]
    assert roles == ["member", "auditor"]
    subject = {"X-Subject-Token": token}
    held = get(web, f"{V3}/auth/tokens", token, **subject).json["token"]["roles"]
    assert {each["name"] for each in held} == {"member", "reader", "auditor"}
    assert root.send("DELETE", "roles/auditor").status_code == 204
    assert len(get(web, f"{V3}/auth/tokens", token, **subject).json["token"]["roles"]) == 2


@pytest.mark.parametrize("kind", ["user", "project"])
@pytest.mark.parametrize(
    "twin", ["zoe\u0301", "\uff5ao\u00e9"], ids=["accent-apart", "wide-letter"]
)
def test_no_name_reads_as_another_one(root: Administrator, kind: str, twin: str) -> None:
    """A role would be given to the one, and the other would have it."""
    root.make(kind, name="zo\u00e9")
    other = root.make(kind, name="zoe")
    assert root.send("POST", f"{kind}s", {kind: {"name": twin}}).status_code == 409
    renamed = root.send("PATCH", f"{kind}s/{other['id']}", {kind: {"name": twin}})
    assert renamed.status_code == 409


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PUT", "projects/stars/users/eve/roles/member", None, 404),
        ("PUT", "projects/nothing/users/alice/roles/member", None, 404),
        ("PUT", "projects/stars/users/alice/roles/king", None, 404),
        ("POST", "users", {"user": {"name": " "}}, 400),
        ("POST", "users", {"user": {"name": "x", "domain_id": "other"}}, 400),
        ("POST", "users", {"user": {"name": "x", "password": "x" * 1025}}, 400),
        ("POST", "projects", {"project": {"name": "x", "is_domain": True}}, 400),
        ("POST", "roles", {"role": {"name": "a/b"}}, 400),
        ("PATCH", "users/eve", {"user": {"name": "x"}}, 404),
    ],
)
def test_a_bad_change_is_refused(
    method: str, path: str, body: Any, status: int, root: Administrator
) -> None:
    assert root.send(method, path, body).status_code == status


@pytest.mark.parametrize(
    ("kind", "field", "value", "said"),
    [
        ("project", "tags", ["a"], "Projects have no tags"),
        ("project", "parent_id", "other", "Projects have no parent but the domain 'default'"),
        ("project", "domain_id", "other", "There is no other domain than 'default'"),
        ("project", "is_domain", True, "Projects cannot be domains"),
        ("user", "domain_id", "other", "There is no other domain than 'default'"),
        ("role", "domain_id", "default", "Roles belong to no domain"),
    ],
)
def test_what_this_identity_has_not_is_refused_in_words(
    kind: str, field: str, value: Any, said: str, root: Administrator
) -> None:
    """Of what it lacks, not of its schema."""
    answer = root.send("POST", f"{kind}s", {kind: {"name": "x", field: value}})
    assert answer.status_code == 400
    assert answer.json["error"]["message"].endswith(f" {said}")


def test_users_change_nothing(web: Client) -> None:
    """But their own password; the token file's is not changed here."""
    token = {"X-Auth-Token": log_in(web)}

    def send(method: str, path: str, body: Any = None) -> int:
        return web.simulate_request(method, f"{V3}/{path}", json=body, headers=token).status_code

    passwords_ = {"user": {"password": "new", "original_password": "correct horse"}}
    assert send("POST", "users/alice/password", passwords_) == 403
    assert send("POST", "users", {"user": {"name": "eve"}}) == 403
    assert send("PUT", "projects/ops/users/alice/roles/admin") == 403
    assert send("DELETE", "users/root") == 403


def test_an_unreadable_file_leaves_the_token_file(
    root: Administrator, conf: cfg.ConfigOpts
) -> None:
    """And is not overwritten."""
    root.make("user", name="bob")
    path = Path(conf.identity.state_dir) / "accounts.json"
    path.write_text("{")
    assert {each["id"] for each in root.send("GET", "users").json["users"]} == {"alice", "root"}
    assert root.send("POST", "users", {"user": {"name": "eve"}}).status_code == 500
    assert path.read_text() == "{"
