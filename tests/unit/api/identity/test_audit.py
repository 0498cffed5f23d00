"""The audit trail of the APIs: which requests are recorded, and what of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from api.front import make_front
from tests import builders
from tests.fixtures.checks.audit_log import events_of, switch_on
from tests.fixtures.checks.documented_output import assert_keys, example
from tests.fixtures.http_api import MEMBER, Api
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient
from tests.unit.api.identity.conftest import PASSWORD, Client, asked, get, log_in, of_project

TOKENS = "/identity/v3/auth/tokens"
AGGREGATES = "/v2.1/os-aggregates"
NOWHERE = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def log(conf: cfg.ConfigOpts, tmp_path: Path) -> Path:
    return switch_on(conf, tmp_path)


@pytest.fixture
def audited(log: Path, make_api: Callable[[], Api]) -> Api:
    return make_api()


def test_a_change_names_who_what_and_when(audited: Api, log: Path) -> None:
    """Of the body there are names of fields only."""
    result = audited.post(AGGREGATES, {"aggregate": {"name": "a-secret-name"}})
    assert result.status_code == 200
    (event,) = events_of(log)
    assert event["action"] == "create"
    assert event["outcome"] == "success"
    assert event["reason"] == {"reasonCode": "200"}
    who = event["initiator"]
    assert (who["id"], who["project_id"]) == ("admin", "admin")
    assert who["host"] == {"address": "127.0.0.1"}
    assert who["request_id"] == result.headers["x-openstack-request-id"]
    assert event["target"] == {
        "typeURI": "compute/os-aggregates", "id": str(result.json["aggregate"]["id"]),
    }  # fmt: skip
    assert event["fields"] == ["aggregate.name"]
    assert "a-secret-name" not in str(event)


def test_an_action_of_a_server_has_its_name(audited: Api, log: Path) -> None:
    """And one that fails has the class of the error, not its text."""
    path = f"/v2.1/servers/{NOWHERE}/action"
    assert audited.post(path, {"reboot": {"type": "SOFT"}}).status_code == 404
    (event,) = events_of(log)
    assert event["action"] == "update/reboot"
    assert event["outcome"] == "failure"
    assert event["reason"]["reasonCode"] == "404"
    assert event["target"] == {"typeURI": "compute/servers", "id": NOWHERE}


@pytest.mark.parametrize(
    ("path", "status"), [("/v2.1/servers", 200), ("/v2.1/nowhere", 404), ("/", 300)]
)
def test_a_read_is_not_recorded(path: str, status: int, audited: Api, log: Path) -> None:
    assert audited.get(path).status_code in (status, 200)
    assert not log.exists()


def test_a_read_that_the_policy_refuses_is_recorded(audited: Api, log: Path) -> None:
    """With the rule that refused it."""
    assert audited.get("/v2.1/os-hypervisors", token=MEMBER).status_code == 403
    (event,) = events_of(log)
    assert (event["action"], event["outcome"]) == ("read", "failure/refused")
    assert event["reason"]["reasonType"] == "PolicyNotAuthorized"
    assert "os-hypervisors" in event["reason"]["policyId"]
    assert event["initiator"]["id"] == "u1"


@pytest.mark.parametrize("body", [b"{", b'{"aggregate": {"name": 1}}', b"[" * 100_000, b"\xff"])
def test_a_body_that_is_refused_is_recorded_without_it(
    body: bytes, audited: Api, log: Path
) -> None:
    headers = {"Content-Type": "application/json"}
    result = audited.send("POST", AGGREGATES, body=body, headers=headers)
    assert result.status_code == 400
    (event,) = events_of(log)
    assert (event["outcome"], "fields" in event) == ("failure", False)


def test_a_path_that_does_not_exist_gives_no_type_its_name(audited: Api, log: Path) -> None:
    """Types of objects are our words, not the client's."""
    assert audited.post("/v2.1/made-up", {}).status_code == 404
    (event,) = events_of(log)
    assert event["target"] == {"typeURI": "compute/unknown"}
    assert event["requestPath"] == "/v2.1/made-up"


def test_an_unwritable_log_fails_no_request(audited: Api, log: Path) -> None:
    log.mkdir()
    body = {"aggregate": {"name": "a"}}
    assert audited.post(AGGREGATES, body).status_code == 200


@pytest.fixture
def front(
    log: Path,
    conf: cfg.ConfigOpts,
    client: SuperConductorClient,
    write_accounts: Callable[..., None],
    tmp_path: Path,
) -> Client:
    conf.set_override("auth_strategy", "token_file", group="api")
    conf.set_override("token_file", str(tmp_path / "tokens.yaml"), group="api")
    return Client(make_front(conf, conductor=client))


def test_a_login_is_recorded_with_the_id_of_its_token(front: Client, log: Path) -> None:
    """Which is that of what the token does, and of its end."""
    token = log_in(front, scope=of_project("moons"))
    assert get(front, "/v2.1/os-hypervisors", token).status_code == 403
    headers = {"X-Auth-Token": token, "X-Subject-Token": token}
    assert front.simulate_delete(TOKENS, headers=headers).status_code == 204
    text = log.read_text()
    login, refused, end = events_of(log)
    assert (login["action"], login["outcome"]) == ("authenticate", "success")
    assert (login["initiator"]["id"], login["initiator"]["project_id"]) == ("alice", "moons")
    token_id = refused["initiator"]["credential"]["identifier"]
    assert (refused["action"], refused["outcome"]) == ("read", "failure/refused")
    assert login["target"] == end["target"]
    assert end["target"] == {"typeURI": "identity/auth/tokens", "id": token_id}
    assert token not in text
    assert PASSWORD not in text


def test_the_documented_event_is_one_of_ours(
    front: Client, log: Path, conductor: SuperConductor
) -> None:
    """With all its keys, and the words that say what was refused."""
    conductor.servers.append(builders.an_instance("web", uuid=NOWHERE, project_id="moons"))
    headers = {"X-Auth-Token": log_in(front, scope=of_project("moons"))}
    body = {"reboot": {"type": "SOFT"}}
    path = f"/v2.1/servers/{NOWHERE}/action"
    assert front.simulate_post(path, json=body, headers=headers).status_code == 403
    event = events_of(log)[-1]
    documented = example("docs/operating/audit.md").json
    assert_keys(documented, event)
    for name in ("typeURI", "eventType", "action", "outcome", "reason", "observer"):
        assert event[name] == documented[name]


def test_the_image_service_is_audited_too(front: Client, log: Path) -> None:
    headers = {"X-Auth-Token": log_in(front)}
    body = {"name": ["a-secret-name"]}
    result = front.simulate_post("/image/v2/images", json=body, headers=headers)
    assert result.status_code == 400
    text = log.read_text()
    event = events_of(log)[-1]
    assert (event["action"], event["outcome"]) == ("create", "failure")
    assert event["target"] == {"typeURI": "image/images"}
    assert event["initiator"]["id"] == "alice"
    assert "a-secret-name" not in text


@pytest.mark.parametrize(
    ("body", "user"),
    [
        (asked(password="wrong-secret"), "alice"),
        (asked(user="a-password-typed-as-name", password="wrong-secret"), None),
        (asked(scope=of_project("ops")), "alice"),
    ],
)
def test_a_failed_login_is_recorded(body: Any, user: str, front: Client, log: Path) -> None:
    """With the user if there is one of this name, and the address always."""
    assert front.simulate_post(TOKENS, json=body).status_code == 401
    text = log.read_text()
    (event,) = events_of(log)
    assert (event["action"], event["outcome"]) == ("authenticate", "failure/refused")
    assert event["initiator"].get("id") == user
    assert event["initiator"]["host"]["address"]
    assert not [each for each in ("wrong-secret", "typed-as-name", PASSWORD) if each in text]


def test_a_request_without_a_valid_token_is_recorded(front: Client, log: Path) -> None:
    """A read, too; whatever was sent as a token is not."""
    assert get(front, "/v2.1/servers", "made-up-token").status_code == 401
    text = log.read_text()
    (event,) = events_of(log)
    assert event["outcome"] == "failure/refused"
    assert event["reason"] == {"reasonType": "Unauthorized", "reasonCode": "401"}
    assert "id" not in event["initiator"]
    assert "made-up-token" not in text
