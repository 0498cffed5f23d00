"""A POST with an Idempotency-Key is carried out once, and its repeats are answered the same."""

import threading
from typing import Any

import pytest
from falcon import testing

from armillary import exception, renewals
from armillary.context import RequestContext
from objects.instances.new_servers import NewServers
from objects.instances.server_answers import CreatedServers
from objects.key_pair import KeyPair
from tests import builders
from tests.fixtures.asking import wait_for
from tests.fixtures.http_api import NEWEST, Api
from tests.fixtures.super_conductor import SuperConductor

GROUP = {"server_group": {"name": "web", "policy": "affinity"}}
OTHER_GROUP = {"server_group": {"name": "db", "policy": "affinity"}}
KEY = '"8e03978e-40d5-43dd-bc93-6894a57f9324"'


def post(
    api: Api, body: Any = GROUP, *, key: str = KEY, token: str | None = None
) -> testing.Result:
    headers = {**NEWEST, "Idempotency-Key": key}
    return api.send("POST", "/v2.1/os-server-groups", json=body, headers=headers, token=token)


def test_a_repeat_is_answered_as_the_first_time(api: Api, conductor: SuperConductor) -> None:
    """Status, body and type are those of the first answer; nothing is made again."""
    first, second = post(api), post(api)
    assert (second.status, second.content) == (first.status, first.content)
    assert second.headers["content-type"] == first.headers["content-type"]
    assert second.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert len(conductor.groups) == 1


@pytest.mark.parametrize(
    "other",
    [{"key": "another"}, {"token": "u2:p1"}, {"token": "u1:p2"}],
    ids=["key", "user", "project"],
)
def test_another_key_user_or_project_is_another_request(
    api: Api, conductor: SuperConductor, other: dict[str, str]
) -> None:
    """A key belongs to the user who sent it."""
    made = {post(api).json["server_group"]["id"], post(api, **other).json["server_group"]["id"]}
    assert len(made) == 2


def test_the_key_of_another_request_is_refused(api: Api, conductor: SuperConductor) -> None:
    """A mistake of the client: it would get the answer to what it did not ask."""
    post(api)
    refused = post(api, OTHER_GROUP)
    assert refused.status_code == 422
    assert "another request" in refused.text
    assert len(conductor.groups) == 1


def test_a_refusal_is_repeated(api: Api, conductor: SuperConductor) -> None:
    """It is refused again, and leaves no record: refusals would fill the database."""
    body = {"server_group": {"name": "web", "policy": "none of these"}}
    first = post(api, body)
    assert first.status_code == 400
    assert post(api, body).content == first.content
    assert conductor.idempotency.records == {}
    for path in ("/v2.1/flavors", "/v2.1/os-aggregates"):  # by policy
        headers = {**NEWEST, "Idempotency-Key": KEY}
        assert api.send("POST", path, json={}, headers=headers, token="u1:p1").status_code >= 400
    assert conductor.idempotency.records == {}


def test_an_unknown_outcome_is_tried_again_under_the_same_id(
    api: Api, conductor: SuperConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The services know a request by its ID, so that it is carried out once."""
    asked: list[str] = []
    create = conductor.create_server_group

    def away(context: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(context.request_id)
        if len(asked) == 1:
            raise exception.RpcTimeout(method="create", topic="conductor", timeout_seconds=1)
        return create(context, *args, **kwargs)

    monkeypatch.setattr(conductor, "create_server_group", away)
    assert post(api).status_code == 504
    again = post(api)
    assert again.status_code == 200
    assert asked[0] == asked[1] == again.headers["x-openstack-request-id"]


def test_a_made_key_whose_answer_was_lost_is_made_again(
    api: Api, conductor: SuperConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user gets the private half of the key that is stored."""
    create, calls = conductor.create_key_pair, []

    def lost(context: RequestContext, key_pair: KeyPair, *, replace: bool) -> KeyPair:
        calls.append(replace)
        made = create(context, key_pair, replace=replace)
        if len(calls) == 1:
            raise exception.RpcTimeout(method="create", topic="conductor", timeout_seconds=1)
        return made

    monkeypatch.setattr(conductor, "create_key_pair", lost)
    headers = {"OpenStack-API-Version": "compute 2.91", "Idempotency-Key": KEY}
    first, again = (
        api.send("POST", "/v2.1/os-keypairs", json={"keypair": {"name": "made"}}, headers=headers)
        for _time in range(2)
    )
    assert [first.status_code, again.status_code, calls] == [504, 201, [False, True]]
    (stored,) = conductor.key_pairs.values()
    assert again.json["keypair"]["public_key"] == stored.public_key
    assert again.json["keypair"]["private_key"]


def test_a_repeat_of_what_is_being_handled_is_refused(
    api: Api, conductor: SuperConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told to come back."""
    answers = []
    create = conductor.create_server_group

    def repeated(*args: Any, **kwargs: Any) -> Any:
        answers.append(post(api))
        return create(*args, **kwargs)

    monkeypatch.setattr(conductor, "create_server_group", repeated)
    assert post(api).status_code == 200
    (answer,) = answers
    assert answer.status_code == 409
    assert answer.headers["retry-after"] == "1"


@pytest.mark.parametrize(
    ("lost", "statuses"), [("begin", [503, 200]), ("abandon", [504, 200]), ("keep", [200, 200])]
)
def test_a_record_that_could_not_be_changed_is_changed_soon(
    api: Api, conductor: SuperConductor, monkeypatch: pytest.MonkeyPatch, lost: str,
    statuses: list[int],
) -> None:  # fmt: skip
    """A repeat is not refused until the record counts as abandoned: a minute after an outage."""
    away = exception.RpcTimeout(method="create", topic="conductor", timeout_seconds=1)
    if lost == "abandon":
        fail_once(monkeypatch, conductor, "create_server_group", away)
    fail_once(monkeypatch, conductor.idempotency, lost, exception.RpcUnavailable(reason="away"))
    first = post(api)
    wait_for(lambda: post(api).status_code != 409, "it is handled again", 10, 0.02)
    again = post(api)
    assert [first.status_code, again.status_code] == statuses
    assert len(conductor.groups) == 1


def fail_once(monkeypatch: pytest.MonkeyPatch, target: Any, name: str, error: Exception) -> None:
    """Let the first call fail, and that of ``begin`` do its work all the same."""
    method, calls = getattr(target, name), []

    def lost(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        answer = method(*args, **kwargs) if len(calls) > 1 or name == "begin" else None
        if len(calls) == 1:
            raise error
        return answer

    monkeypatch.setattr(target, name, lost)


def test_a_request_that_stalls_keeps_its_record(
    api: Api, conductor: SuperConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repeat that is handled meanwhile may be refused, for what the first time did."""
    answers: list[testing.Result | None] = []
    create = conductor.create_server_group

    def stalled(context: RequestContext, *args: Any, **kwargs: Any) -> Any:
        if answers:
            raise exception.FlavorExists(field="name", value="web")
        answers.append(None)
        made = create(context, *args, **kwargs)
        (record_key,) = conductor.idempotency.records
        conductor.idempotency.give_up(record_key)
        answers[0] = post(api)
        return made

    monkeypatch.setattr(conductor, "create_server_group", stalled)
    first = post(api)
    repeated = answers[0]
    assert repeated is not None
    assert [first.status_code, repeated.status_code] == [200, 409]
    assert post(api).content == first.content


def test_a_record_is_renewed_while_its_request_is_handled(
    api: Api, conductor: SuperConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no longer; a failed renewal is followed by the next one."""
    monkeypatch.setattr(renewals, "RENEWAL_SECONDS", 0.01)
    create, renewed = conductor.create_server_group, conductor.idempotency.renewed
    fail_once(monkeypatch, conductor.idempotency, "renew", exception.RpcUnavailable(reason="away"))

    def slow(context: RequestContext, *args: Any, **kwargs: Any) -> Any:
        wait_for(lambda: len(renewed) > 1, "the record is renewed", 10, 0.01)
        return create(context, *args, **kwargs)

    monkeypatch.setattr(conductor, "create_server_group", slow)
    first = post(api)
    (record_key,) = conductor.idempotency.records
    assert set(renewed) == {(record_key, first.headers["x-openstack-request-id"])}
    wait_for(lambda: "renewals" not in [each.name for each in threading.enumerate()],
             "nothing is renewed any more", 10, 0.01)  # fmt: skip


@pytest.mark.parametrize("key", ["", '""', "k" * 256, "caf\xe9", "a\tb"])
def test_a_malformed_key_is_refused(api: Api, conductor: SuperConductor, key: str) -> None:
    """Nothing is done, since a repeat could not be recognised."""
    assert post(api, key=key).status_code == 400
    assert not conductor.groups


def test_stored_answers_are_secret(api: Api, conductor: SuperConductor) -> None:
    """An answer may hold a password, so it can be read with the client's key only."""
    post(api)
    (stored,) = conductor.idempotency.answers.values()
    assert "web" not in str(stored)


@pytest.mark.parametrize("key", ["8e03978e-40d5-43dd-bc93-6894a57f9324", "guess-me"])
def test_a_password_is_kept_for_a_key_that_cannot_be_guessed(
    api: Api, conductor: SuperConductor, key: str
) -> None:
    """Who reads the database could try all short keys; the server is the same either way."""
    conductor.flavors = [builders.a_flavor("small")]
    body = {"server": {"name": "web", "flavorRef": "small", "networks": "none"}}
    headers = {**NEWEST, "Idempotency-Key": key}
    first, second = (
        api.send("POST", "/v2.1/servers", json=body, headers=headers, token=None).json["server"]
        for _time in range(2)
    )
    password = first.pop("adminPass")
    assert second.pop("adminPass") == ("" if key == "guess-me" else password)
    assert second == first


@pytest.mark.parametrize("key", ["8e03978e-40d5-43dd-bc93-6894a57f9324", "guess-me"])
def test_a_made_key_is_kept_for_a_key_that_cannot_be_guessed(api: Api, key: str) -> None:
    """The private half of a key pair is as secret as a password."""
    body = {"keypair": {"name": "mine"}}
    headers = {"OpenStack-API-Version": "compute 2.91", "Idempotency-Key": key}
    first, second = (
        api.send("POST", "/v2.1/os-keypairs", json=body, headers=headers, token=None).json[
            "keypair"
        ]
        for _time in range(2)
    )
    private = first.pop("private_key")
    assert "PRIVATE KEY" in private
    assert second.pop("private_key") == ("" if key == "guess-me" else private)
    assert second == first


def test_a_password_is_the_same_after_a_lost_answer(
    api: Api, conductor: SuperConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guest has that of the first time; another request has another one."""
    conductor.flavors = [builders.a_flavor("small")]
    server = {"name": "web", "flavorRef": "small", "networks": "none", "config_drive": True}
    asked: list[str] = []
    create = conductor.create_servers

    def lost(context: RequestContext, servers: NewServers) -> CreatedServers:
        assert servers.settings is not None
        asked.append(str(servers.settings.admin_password))
        answer = create(context, servers)
        if len(asked) == 1:
            raise exception.RpcTimeout(method="create", topic="conductor", timeout_seconds=1)
        return answer

    monkeypatch.setattr(conductor, "create_servers", lost)
    shown = []
    for key in (KEY, KEY, "0b7c2f58-3d53-4f0e-9f0c-2b8d9d7f0c11"):
        headers = {**NEWEST, "Idempotency-Key": key}
        answer = api.send(
            "POST", "/v2.1/servers", json={"server": server}, headers=headers, token=None
        )
        shown.append(answer.json.get("server", {}).get("adminPass"))
    assert shown == [None, *asked[1:]]
    assert asked[0] == asked[1] != asked[2]


def test_reads_and_other_methods_ignore_the_key(api: Api, conductor: SuperConductor) -> None:
    """They can be repeated as they are."""
    headers = {**NEWEST, "Idempotency-Key": KEY}
    for _time in range(2):
        api.send("GET", "/v2.1/os-server-groups", headers=headers, token=None)
    assert not conductor.idempotency.answers
