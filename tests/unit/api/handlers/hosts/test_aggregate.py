"""Aggregates: made, changed, filled, emptied, deleted."""

from typing import Any

import pytest

from armillary import exception
from tests import builders
from tests.fixtures.http_api import Api, message
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient

PATH = "/v2.1/os-aggregates"


@pytest.fixture
def one(conductor: SuperConductor) -> str:
    conductor.aggregates = [builders.an_aggregate("ssd", metadata={"ssd": "true"})]
    conductor.services = [builders.a_service("host1")]
    return f"{PATH}/1"


def test_a_life_of_an_aggregate(api: Api, conductor: SuperConductor) -> None:
    """Step by step, as an operator would."""
    conductor.services = [builders.a_service("host1")]
    made = api.post(PATH, {"aggregate": {"name": "ssd", "availability_zone": "north"}}).json
    shown = made["aggregate"]
    assert (shown["availability_zone"], shown["hosts"]) == ("north", [])
    one = f"{PATH}/{shown['id']}"
    assert api.get(f"{PATH}/{shown['uuid']}").json == made
    body = {"aggregate": {"name": "fast", "availability_zone": "south"}}
    changed = api.put(one, body).json["aggregate"]
    assert (changed["name"], changed["availability_zone"]) == ("fast", "south")
    without = api.put(one, {"aggregate": {"availability_zone": None}}).json["aggregate"]
    assert (without["availability_zone"], without["metadata"]) == (None, {})
    filled = api.post(f"{one}/action", {"add_host": {"host": "host1"}}).json["aggregate"]
    assert filled["hosts"] == ["host1"]
    assert api.delete(one).status_code == 400
    emptied = api.post(f"{one}/action", {"remove_host": {"host": "host1"}}).json["aggregate"]
    assert emptied["hosts"] == []
    assert api.get(PATH).json["aggregates"] == [emptied]
    assert api.delete(one).status_code == 200
    assert api.get(one).status_code == 404


def test_metadata_is_set_and_removed(one: str, api: Api) -> None:
    """Null removes."""
    body = {"set_metadata": {"metadata": {"ssd": None, "gpu": "true"}}}
    assert api.post(f"{one}/action", body).json["aggregate"]["metadata"] == {"gpu": "true"}


def test_metadata_may_stay_as_they_are(one: str, api: Api) -> None:
    """Terraform's provider sets none where its configuration has none."""
    answer = api.post(f"{one}/action", {"set_metadata": {"metadata": {}}})
    assert answer.status_code == 200
    assert answer.json["aggregate"]["metadata"] == {"ssd": "true"}


@pytest.mark.parametrize("key", ["max_io_ops_per_host", "ram_weight_multiplier"])
def test_what_is_not_a_number_is_stored(key: str, one: str, api: Api) -> None:
    """As in Nova: its hosts keep the configured value."""
    body = {"set_metadata": {"metadata": {key: "8,16"}}}
    assert api.post(f"{one}/action", body).json["aggregate"]["metadata"][key] == "8,16"


@pytest.mark.parametrize(
    ("action", "status"),
    [({"add_host": {"host": "host9"}}, 404), ({"remove_host": {"host": "host1"}}, 404)],
    ids=str,
)
def test_a_host_must_be_there(action: Any, status: int, one: str, api: Api) -> None:
    """To come or to go."""
    assert api.post(f"{one}/action", action).status_code == status


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        ("ssd", 400),
        ("1.5", 400),
        ("2", 404),
        ("-1", 404),
        ("4b1f3f6c-8d1a-4c43-9a59-0e2d9b0f5c11", 404),
    ],
)
def test_an_identifier_is_a_number_or_a_uuid(
    wanted: str, status: int, one: str, api: Api, client: SuperConductorClient
) -> None:
    """Anything else is a mistake, whatever is to be done to it."""
    path = f"{PATH}/{wanted}"
    assert api.get(path).status_code == status
    assert api.delete(path).status_code == status
    assert api.put(path, {"aggregate": {"name": "fast"}}).status_code == status
    assert api.post(f"{path}/action", {"add_host": {"host": "host1"}}).status_code == status
    assert api.post(f"{path}/images", {"cache": [{"id": builders.a_uuid()}]}).status_code == status
    assert status == 404 or client.calls == []


def test_a_host_cannot_get_a_second_zone(
    one: str, api: Api, conductor: SuperConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether its aggregate gets a zone, or it comes to one that has a zone."""

    def refuse(*_arguments: object, **_named: object) -> None:
        raise exception.HostInOtherZone(host="host1", zone="south")

    monkeypatch.setattr(conductor, "update_aggregate", refuse)
    monkeypatch.setattr(conductor, "add_aggregate_host", refuse)
    changed = api.put(one, {"aggregate": {"availability_zone": "north"}})
    assert (changed.status_code, "in availability zone south" in message(changed)) == (409, True)
    zone = {"set_metadata": {"metadata": {"availability_zone": "north"}}}
    assert api.post(f"{one}/action", zone).status_code == 409
    assert api.post(f"{one}/action", {"add_host": {"host": "host1"}}).status_code == 409


def test_a_host_comes_once(one: str, api: Api) -> None:
    """The second time is a conflict."""
    action = {"add_host": {"host": "host1"}}
    assert api.post(f"{one}/action", action).status_code == 200
    assert api.post(f"{one}/action", action).status_code == 409


def test_names_are_taken_once(one: str, api: Api) -> None:
    """409."""
    assert api.post(PATH, {"aggregate": {"name": "ssd"}}).status_code == 409


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "aggregate"),
        ({"aggregate": {}}, "aggregate.name"),
        ({"aggregate": {"name": "x" * 256}}, "aggregate.name"),
        ({"aggregate": {"name": "a", "availability_zone": "a:b"}}, "aggregate.availability_zone"),
        ({"aggregate": {"name": "a", "hosts": []}}, "aggregate.hosts"),
    ],
    ids=str,
)
def test_a_bad_aggregate_names_its_field(
    body: Any, field: str, api: Api, client: SuperConductorClient
) -> None:
    """And nothing is stored."""
    answer = api.post(PATH, body)
    assert answer.status_code == 400
    assert f"field/attribute {field}." in message(answer)
    assert client.calls == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body"),
        ({"add_host": {"host": "a"}, "remove_host": {"host": "a"}}, "body"),
        ({"explode": {}}, "explode"),
        ({"add_host": {}}, "add_host.host"),
        ({"add_host": "host1"}, "add_host"),
        ({"remove_host": {"host": "a b"}}, "remove_host.host"),
        ({"set_metadata": {"metadata": {"a": 1}}}, "set_metadata.metadata.a"),
        (
            {"set_metadata": {"metadata": {"trait:CUSTOM_GPU": "perhaps", "ssd": None}}},
            "set_metadata.metadata.trait:CUSTOM_GPU",
        ),
        (
            {"set_metadata": {"metadata": {"availability_zone": "a:b"}}},
            "set_metadata.metadata.availability_zone",
        ),
    ],
    ids=str,
)
def test_a_bad_action_is_named(body: Any, field: str, one: str, api: Api) -> None:
    """Exactly one that is known."""
    answer = api.post(f"{one}/action", body)
    assert answer.status_code == 400
    assert f"field/attribute {field}." in message(answer)


def test_a_change_must_change_something(one: str, api: Api) -> None:
    """An empty one is a mistake."""
    assert api.put(one, {"aggregate": {}}).status_code == 400


def test_hosts_of_an_aggregate_fetch_images(one: str, api: Api, conductor: SuperConductor) -> None:
    """One that is not there is refused with its place, and none is fetched then."""
    conductor.images = [builders.an_image("loop")]
    known = {"id": conductor.images[0].id}
    assert api.post(f"{one}/images", {"cache": [known]}).status_code == 202
    assert conductor.images_to_cache == [("ssd", [known["id"]])]
    answer = api.post(f"{one}/images", {"cache": [known, {"id": builders.a_uuid()}]})
    assert (answer.status_code, "cache.1.id" in message(answer)) == (400, True)
    older = {"OpenStack-API-Version": "compute 2.80"}
    refused = api.send("POST", f"{one}/images", headers=older, json={"cache": [known]})
    assert refused.status_code == 404
    assert len(conductor.images_to_cache) == 1
    elsewhere = api.post("/v2.1/os-aggregates/99/images", {"cache": [known]})
    assert elsewhere.status_code == 404
