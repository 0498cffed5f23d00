"""Requests at the first and the last version that has them, and just outside: taken, or refused."""

from typing import Any

import pytest

from tests import builders
from tests.fixtures.http_api import MEMBER, Api
from tests.fixtures.super_conductor import SuperConductor
from tests.unit.api.versions.test_versions_of_answers import SERVER, SERVER_ID, stock

__all__ = ["stock"]

SERVICE = {"host": "host1", "binary": "nova-compute"}
ACTION = f"{SERVER}/action"
FLAVOR_SPECS = "/flavors/id-small/os-extra_specs"
SPANS: list[tuple[str, str, dict[str, Any] | None, tuple[int, int], int]] = [
    ("GET", f"{SERVER}/migrations", None, (23, 96), 404),
    ("GET", f"{SERVER}/migrations/{{migration}}", None, (23, 96), 404),
    ("DELETE", f"{SERVER}/migrations/{{migration}}", None, (24, 96), 404),
    ("PUT", "/os-services/enable", SERVICE, (1, 52), 404),
    ("PUT", "/os-services/disable", SERVICE, (1, 52), 404),
    ("PUT", "/os-services/disable-log-reason", {**SERVICE, "disabled_reason": "r"}, (1, 52), 404),
    ("PUT", "/os-services/force-down", {**SERVICE, "forced_down": True}, (11, 52), 404),
    ("PUT", "/os-services/{service}", {"status": "enabled"}, (53, 96), 404),
    ("POST", ACTION, {"evacuate": {"onSharedStorage": True}}, (1, 13), 400),
    ("POST", ACTION, {"evacuate": {}}, (14, 96), 400),
    ("POST", ACTION, {"os-migrateLive": {"host": None, "block_migration": "auto"}}, (25, 96), 400),
]
"""Method, path, body, first and last minor version that has them, and the refusal of the others."""
UNKNOWN = [
    ("/servers", 75),
    (f"{SERVER}/os-instance-actions", 58),
    (f"{SERVER}/os-volume_attachments", 75),
    ("/os-migrations", 59),
    ("/os-quota-sets/p1", 75),
]
"""Paths, and the first minor version in which they refuse unknown query parameters."""
EVENTS = [
    ("network-changed", 1),
    ("volume-extended", 51),
    ("power-update", 76),
    ("accelerator-request-bound", 82),
    ("volume-reimaged", 93),
]
"""External events, and the first minor version that has them."""
QUERIES = [
    f"{SERVER}/os-volume_attachments?limit=1&offset=0",
    "/os-quota-sets/p1?user_id=u1",
    "/os-quota-sets/p1/detail?user_id=u1",
    "/os-server-groups?all_projects=",
    "/flavors?sort_key=vcpus&sort_key=name&sort_dir=desc",
]
"""What all versions take."""


def status(api: Api, method: str, path: str, minor: int, body: Any = None, **more: Any) -> int:
    """Return the status of the answer, which was checked against the schema of its version."""
    headers = {"OpenStack-API-Version": f"compute 2.{minor}"}
    return api.send(method, f"/v2.1{path}", headers=headers, json=body, **more).status_code


@pytest.mark.parametrize(
    ("method", "path", "body", "span", "refusal"),
    SPANS,
    ids=[f"{each[0]} {each[1]} {each[3]}" for each in SPANS],
)
def test_a_request_is_taken_by_the_versions_that_have_it(
    method: str,
    path: str,
    body: dict[str, Any] | None,
    span: tuple[int, int],
    refusal: int,
    api: Api,
    conductor: SuperConductor,
) -> None:
    """And by no other."""
    (move,), (service,) = conductor.migrations, conductor.services
    place = path.format(migration=move.uuid, service=service.uuid)
    first, last = span
    minors = [minor for minor in (first - 1, first, last, last + 1) if 1 <= minor <= 96]
    for minor in minors:
        found = status(api, method, place, minor, body)
        assert found < 300 if first <= minor <= last else found == refusal, (minor, found)


@pytest.mark.parametrize(("path", "first"), UNKNOWN, ids=[path for path, _first in UNKNOWN])
def test_unknown_parameters_are_ignored_at_first(path: str, first: int, api: Api) -> None:
    """The path decides since when they are an error."""
    assert status(api, "GET", f"{path}?more=1", first - 1) == 200
    assert status(api, "GET", f"{path}?more=1", first) == 400


@pytest.mark.parametrize("path", QUERIES)
def test_all_versions_take_these_parameters(path: str, api: Api) -> None:
    """Also those that refuse unknown ones."""
    assert [status(api, "GET", path, minor) for minor in (1, 74, 75, 96)] == [200] * 4


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_quotas_may_be_changed_for_a_user(method: str, api: Api) -> None:
    """Who has those of the project."""
    body = {"quota_set": {"cores": 50}} if method == "PUT" else None
    assert status(api, method, "/os-quota-sets/p1?user_id=u1", 96, body) < 300


@pytest.mark.parametrize(("name", "first"), EVENTS)
def test_an_event_is_known_since_its_version(name: str, first: int, api: Api) -> None:
    """Earlier ones refuse the whole request, since their clients cannot mean it."""
    body = {"events": [{"name": name, "server_uuid": SERVER_ID}]}
    path = "/os-server-external-events"
    assert status(api, "POST", path, first, body) in (200, 207)
    if first > 1:
        assert status(api, "POST", path, first - 1, body) == 400


@pytest.mark.parametrize(("minor", "has_password"), [(1, True), (13, True), (14, False)])
def test_an_evacuation_answers_with_a_password_until_2_13(
    minor: int, has_password: bool, api: Api
) -> None:
    """Afterwards with nothing."""
    headers = {"OpenStack-API-Version": f"compute 2.{minor}"}
    wanted = {"onSharedStorage": True, "adminPass": "secret"} if has_password else {}
    path = f"/v2.1{SERVER}/action"
    answer = api.send("POST", path, headers=headers, json={"evacuate": wanted})
    assert answer.text == ('{"adminPass": "secret"}' if has_password else "")


@pytest.mark.parametrize("path", ["/servers", "/servers/detail"])
def test_changes_must_begin_before_they_end(path: str, api: Api) -> None:
    """No server could be in such a list."""
    query = "changes-since=2030-01-02T00:00:00Z&changes-before=2030-01-01T00:00:00Z"
    assert status(api, "GET", f"{path}?{query}", 66) == 400
    assert status(api, "GET", f"{path}?{query}", 65) == 200


def test_numbers_in_extra_specs_are_stored_as_text(api: Api, conductor: SuperConductor) -> None:
    """Clients may send both."""
    body = {"extra_specs": {"hw:numa_nodes": 1, "rack": 1.5}}
    answer = api.post(f"/v2.1{FLAVOR_SPECS}", body)
    assert answer.json["extra_specs"] == {"hw:numa_nodes": "1", "rack": "1.5"}
    assert api.put(f"/v2.1{FLAVOR_SPECS}/rack", {"rack": 2}).json == {"rack": "2"}
    assert conductor.flavors[0].extra_specs["rack"] == "2"


def test_hypervisors_that_match_a_pattern_have_no_pages(api: Api) -> None:
    """As in Nova; our own clients may ask for some of them."""
    path = "/os-hypervisors?hypervisor_hostname_pattern=host&limit=1"
    assert status(api, "GET", path, 53) == 400
    assert api.get("/v2.1/os-hypervisors", hypervisor_hostname_pattern="host", limit=1).json


FLAVORS: dict[str, dict[str, Any]] = {
    "b": {"vcpus": 1, "description": "x"},
    "a": {"vcpus": 1, "description": None},
    "c": {"vcpus": 2, "description": None},
}
ORDERS = [
    ("", "abc"),
    ("sort_dir=desc", "cba"),
    ("sort_key=vcpus", "abc"),
    ("sort_key=vcpus&sort_key=name&sort_dir=desc&sort_dir=asc", "cab"),
    ("sort_key=vcpus&sort_key=name&sort_dir=asc&sort_dir=desc", "bac"),
    ("sort_key=description", "acb"),
    ("sort_key=vcpu_weight", "abc"),
    ("sort_key=updated_at", "abc"),
    ("sort_key=id&sort_dir=desc", "abc"),
]


@pytest.mark.parametrize(("query", "order"), ORDERS)
def test_flavors_have_the_order_that_is_asked_for(
    query: str, order: str, api: Api, conductor: SuperConductor
) -> None:
    """By several keys, the first of which decides most; without a value first."""
    conductor.flavors = [
        builders.a_flavor(name, flavorid=name, **more) for name, more in FLAVORS.items()
    ]
    answer = api.send("GET", f"/v2.1/flavors?{query}", token=MEMBER, headers={})
    assert "".join(each["id"] for each in answer.json["flavors"]) == order
