"""Application credentials at the border: make one, log in with it, what it may, when it ends."""

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from falcon import testing
from oslo_config import cfg

from api.front import make_front
from api.identity.login_guard import FREE_FAILURES_OF_USER
from armillary.identity import passwords
from armillary.identity.application_credentials import PER_USER_MAX
from tests.fixtures.checks import go_types
from tests.fixtures.super_conductor import SuperConductorClient
from tests.unit.api.identity.conftest import Client, WriteAccounts, asked, get, log_in, of_project

V3 = "/identity/v3"
OF_ALICE = f"{V3}/users/alice/application_credentials"


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    made = passwords.hash_password
    monkeypatch.setattr(passwords, "hash_password", lambda secret: made(secret, n=16))


def send(web: Client, method: str, path: str, token: str, body: Any = None) -> testing.Result:
    return web.simulate_request(method, path, json=body, headers={"X-Auth-Token": token})


def make(web: Client, token: str, status: int = 201, **fields: Any) -> dict[str, Any]:
    """Make a credential of alice; return it, or the refusal."""
    wanted = {"application_credential": {"name": "ci", **fields}}
    result = send(web, "POST", OF_ALICE, token, wanted)
    assert result.status_code == status, result.text
    (answer,) = result.json.values()
    return dict(answer)


def with_credential(wanted: dict[str, Any], **auth: Any) -> dict[str, Any]:
    """Return the body of a login with an application credential."""
    method = "application_credential"
    return {"auth": {"identity": {"methods": [method], method: wanted}, **auth}}


def with_token(token: str, **auth: Any) -> dict[str, Any]:
    return {"auth": {"identity": {"methods": ["token"], "token": {"id": token}}, **auth}}


def by_id(made: dict[str, Any]) -> dict[str, Any]:
    return {"id": made["id"], "secret": made["secret"]}


def answered(web: Client, body: dict[str, Any]) -> testing.Result:
    return web.simulate_post(f"{V3}/auth/tokens", json=body)


def token_of(web: Client, made: dict[str, Any]) -> str:
    result = answered(web, with_credential(by_id(made)))
    assert result.status_code == 201, result.text
    return str(result.headers["X-Subject-Token"])


def test_a_program_logs_in_with_a_credential(
    web: Client, conf: cfg.ConfigOpts, client: SuperConductorClient
) -> None:
    """In this process and in others; it acts for the user, in the project of its maker's token."""
    made = make(web, log_in(web, scope=of_project("moons")), description="of the build")
    assert (made["project_id"], made["unrestricted"]) == ("moons", False)
    assert [each["name"] for each in made["roles"]] == ["reader"]
    for each in (web, Client(make_front(conf, conductor=client))):
        result = answered(each, with_credential(by_id(made)))
        said = result.json["token"]
        known = {"id": made["id"], "name": "ci", "restricted": True}
        assert said["application_credential"] == known
        assert (said["methods"], said["project"]["id"]) == (["application_credential"], "moons")
        assert said["catalog"]
        assert get(each, "/v2.1/flavors", result.headers["X-Subject-Token"]).status_code == 200
        caller = client.calls[-1][1]
        assert (caller.user_id, caller.project_id, caller.roles) == ("alice", "moons", ["reader"])


@pytest.mark.parametrize(
    "user", [{"id": "alice"}, {"name": "alice", "domain": {"name": "Default"}}], ids=["id", "name"]
)
def test_a_credential_is_named_together_with_its_user(user: dict[str, Any], web: Client) -> None:
    made = make(web, log_in(web), secret="my own secret")
    assert made["secret"] == "my own secret"
    wanted = {"name": "ci", "user": user, "secret": "my own secret"}
    assert answered(web, with_credential(wanted)).status_code == 201
    changes: list[dict[str, Any]] = [
        {"name": "cd"}, {"user": {"id": "root"}}, {"secret": "guess"}, {"user": {}},
    ]  # fmt: skip
    for change in changes:
        assert answered(web, with_credential({**wanted, **change})).status_code == 401


def test_credentials_are_shown_without_their_secrets(web: Client) -> None:
    """To their user and to administrators, not to others."""
    alice, root = log_in(web), log_in(web, "root")
    made = make(web, alice, expires_at="2100-01-31T12:00:00.000000")
    for each in (made, make(web, alice, name="cd")):
        assert go_types.misfits(each, go_types.APPLICATION_CREDENTIAL) == []
    del made["secret"]
    assert made["expires_at"] == "2100-01-31T12:00:00.000000"
    for token in (alice, root):
        listed = get(web, OF_ALICE, token).json["application_credentials"]
        assert [each["name"] for each in listed] == ["ci", "cd"]
        assert listed[0] == made
        assert get(web, f"{OF_ALICE}/{made['id']}", token).json["application_credential"] == made
    (found,) = get(web, f"{OF_ALICE}?name=cd", alice).json["application_credentials"]
    assert found["name"] == "cd"
    of_root = f"{V3}/users/root/application_credentials"
    assert get(web, of_root, root).json["application_credentials"] == []
    assert get(web, of_root, alice).status_code == 403
    assert get(web, f"{of_root}/{made['id']}", root).status_code == 404
    wanted = {"application_credential": {"name": "x"}}
    assert send(web, "POST", OF_ALICE, root, wanted).status_code == 403


def test_a_credential_has_at_most_the_roles_of_its_maker(web: Client) -> None:
    """Roles that are implied too, by id or by name."""
    alice = log_in(web)
    made = make(web, alice, roles=[{"id": "reader"}])
    said = answered(web, with_credential(by_id(made))).json["token"]
    assert [each["name"] for each in said["roles"]] == ["reader"]
    refused = make(web, alice, 400, name="x", roles=[{"name": "reader"}, {"name": "admin"}])
    assert refused["message"].endswith("The token has only the roles member, reader")


def test_a_credential_stays_in_its_project(web: Client) -> None:
    """Also by a token that was got with it."""
    made = make(web, log_in(web))
    token = token_of(web, made)
    for scope, status in ((of_project("stars"), 201), (of_project("moons"), 401)):
        assert answered(web, with_credential(by_id(made), scope=scope)).status_code == status
        assert answered(web, with_token(token, scope=scope)).status_code == status
    unscoped = answered(web, with_token(token, scope="unscoped")).headers["X-Subject-Token"]
    assert answered(web, with_token(unscoped, scope=of_project("moons"))).status_code == 401


def test_a_restricted_credential_makes_and_deletes_none(web: Client) -> None:
    """Nor does a token that was got with it; an unrestricted one may."""
    alice = log_in(web)
    restricted, free = make(web, alice), make(web, alice, name="free", unrestricted=True)
    token = token_of(web, restricted)
    again = answered(web, with_token(token)).headers["X-Subject-Token"]
    for each in (token, again):
        assert "restricted" in make(web, each, 403, name="more")["message"]
        assert send(web, "DELETE", f"{OF_ALICE}/{free['id']}", each).status_code == 403
    free_token = token_of(web, free)
    make(web, free_token, name="more")
    assert send(web, "DELETE", f"{OF_ALICE}/{restricted['id']}", free_token).status_code == 204


def test_a_fixed_token_makes_none(web: Client, write_accounts: WriteAccounts) -> None:
    """What it makes would outlive it."""
    digest = hashlib.sha256(b"fixed").hexdigest()
    listed = {"sha256": digest, "user": "alice", "project": "stars", "roles": ["member"]}
    write_accounts(tokens=[listed])
    exchanged = answered(web, with_token("fixed")).headers["X-Subject-Token"]
    for token in ("fixed", exchanged):
        assert "token file" in make(web, token, 403)["message"]


def test_a_token_without_project_makes_none(web: Client) -> None:
    assert "for no project" in make(web, log_in(web, scope="unscoped"), 403)["message"]


def test_a_deleted_credential_ends_its_tokens(web: Client) -> None:
    alice = log_in(web)
    made = make(web, alice)
    token = token_of(web, made)
    place = f"{OF_ALICE}/{made['id']}"
    assert [send(web, "DELETE", place, alice).status_code for _ in range(2)] == [204, 404]
    assert get(web, "/v2.1/flavors", token).status_code == 401
    assert get(web, "/v2.1/flavors", alice).status_code == 200
    assert answered(web, with_credential(by_id(made))).status_code == 401


def test_a_new_password_does_not_end_a_credential(
    web: Client, write_accounts: WriteAccounts
) -> None:
    """That is what it is for; a disabled user or a lost role does."""
    made = make(web, log_in(web))
    token = token_of(web, made)
    write_accounts(password=passwords.hash_password("new"))
    assert get(web, "/v2.1/flavors", token).status_code == 200
    write_accounts(projects={"moons": ["member"]}, default_project="moons")
    assert get(web, "/v2.1/flavors", token).status_code == 401
    refused = answered(web, with_credential(by_id(made)))
    assert refused.status_code == 401
    assert "none of the roles" in refused.json["error"]["message"]
    write_accounts(enabled=False)
    assert get(web, "/v2.1/flavors", token).status_code == 401
    assert answered(web, with_credential(by_id(made))).status_code == 401


def test_a_role_that_its_user_lost_is_lost(web: Client, write_accounts: WriteAccounts) -> None:
    made = make(web, log_in(web))
    token = token_of(web, made)
    write_accounts(projects={"stars": ["reader"]})
    subject = {"X-Subject-Token": token}
    assert get(web, f"{V3}/auth/tokens", token, **subject).status_code == 401
    made = make(web, log_in(web), name="other")
    write_accounts(projects={"stars": ["member"]})
    said = answered(web, with_credential(by_id(made))).json["token"]
    assert [each["name"] for each in said["roles"]] == ["reader"]


def test_a_token_ends_with_its_credential(web: Client) -> None:
    """And says when that will be."""
    soon = datetime.now(UTC) + timedelta(minutes=10)
    made = make(web, log_in(web), expires_at=f"{soon:%Y-%m-%dT%H:%M:%S}")
    result = answered(web, with_credential(by_id(made)))
    token = result.headers["X-Subject-Token"]
    assert result.json["token"]["expires_at"].startswith(f"{soon:%Y-%m-%dT%H:%M:%S}")
    assert get(web, "/v2.1/flavors", token).status_code == 200
    past = (soon - timedelta(hours=1)).isoformat()
    for expires_at in (past, "tomorrow", "9999-12-31T23:59:59-01:00"):
        refused = make(web, log_in(web), 400, name="x", expires_at=expires_at)
        assert "expires_at" in refused["message"]


def test_an_expired_credential_says_so(web: Client, conf: cfg.ConfigOpts) -> None:
    made = make(web, log_in(web), expires_at="2100-01-01T00:00:00")
    path = Path(conf.identity.state_dir) / "accounts.json"
    path.write_text(path.read_text().replace(str(4102444800), "1000"))
    refused = answered(web, with_credential(by_id(made)))
    assert refused.status_code == 401
    assert "ci has expired" in refused.json["error"]["message"]
    wrong = answered(web, with_credential({**by_id(made), "secret": "guess"}))
    assert "expired" not in wrong.text


def test_names_are_unique_for_each_user(web: Client) -> None:
    alice, root = log_in(web), log_in(web, "root")
    make(web, alice)
    said = "Another application credential with the name ci already exists."
    assert make(web, alice, 409)["message"] == said
    wanted = {"application_credential": {"name": "ci"}}
    of_root = f"{V3}/users/root/application_credentials"
    assert send(web, "POST", of_root, root, wanted).status_code == 201


def test_a_user_has_a_limited_number(web: Client) -> None:
    alice = log_in(web)
    for number in range(PER_USER_MAX):
        make(web, alice, name=f"ci-{number}")
    assert "Quota exceeded for application credentials" in make(web, alice, 403)["message"]


def test_what_it_has_not_is_refused(web: Client) -> None:
    """A rule that restricts nothing would give more than was meant."""
    rules = [{"path": "/v2.1/servers", "method": "GET", "service": "compute"}]
    refused = make(web, log_in(web), 400, access_rules=rules)
    assert refused["message"].endswith("Application credentials have no access rules here")
    make(web, log_in(web), access_rules=None, roles=[], unrestricted=None, secret=None)


def test_wrong_secrets_have_to_wait(web: Client) -> None:
    """The user's password does not, nor do other credentials."""
    alice = log_in(web)
    made, other = make(web, alice), make(web, alice, name="other")
    wrong = with_credential({**by_id(made), "secret": "guess"})
    statuses = [answered(web, wrong).status_code for _ in range(FREE_FAILURES_OF_USER + 2)]
    assert statuses[-1] == 429
    assert answered(web, with_credential(by_id(made))).status_code == 429
    assert answered(web, with_credential(by_id(other))).status_code == 201
    assert answered(web, asked()).status_code == 201


def test_credentials_go_with_their_user_and_project(web: Client) -> None:
    """A user with the same name later does not have them."""
    root = log_in(web, "root")
    project = send(web, "POST", f"{V3}/projects", root, {"project": {"name": "comets"}}).json
    body = {"user": {"name": "bob", "password": "x"}}
    bob = send(web, "POST", f"{V3}/users", root, body).json["user"]["id"]
    comets = project["project"]["id"]
    role = f"{V3}/projects/{comets}/users/{bob}/roles/member"
    assert send(web, "PUT", role, root).status_code == 204
    token = answered(web, asked("bob", "x", scope=of_project("comets"))).headers["X-Subject-Token"]
    place = f"{V3}/users/{bob}/application_credentials"
    wanted = {"application_credential": {"name": "ci"}}
    made = send(web, "POST", place, token, wanted).json["application_credential"]
    assert answered(web, with_credential(by_id(made))).status_code == 201
    assert send(web, "DELETE", f"{V3}/projects/{comets}", root).status_code == 204
    assert answered(web, with_credential(by_id(made))).status_code == 401
    assert get(web, place, root).json["application_credentials"] == []
