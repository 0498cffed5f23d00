"""Services: which are alive, and taking hosts out of use."""

from typing import Any

import pytest

from api.formats.integer_ids import integer_id
from api.versions import OWN_FIELDS_HEADER
from armillary.http.microversion import HEADER
from objects.hosts.service import Service
from tests import builders
from tests.fixtures.http_api import Api, message
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient

PATH = "/v2.1/os-services"
BY_HOST = {HEADER: "compute 2.52", OWN_FIELDS_HEADER: "1"}
"""Headers of a request that names a service by its host and binary."""


@pytest.fixture
def service(conductor: SuperConductor) -> Service:
    conductor.services = [
        builders.a_service("host1"),
        builders.a_service("host2", up=False, binary="other"),
    ]
    return conductor.services[0]


def test_services_are_listed(service: Service, api: Api, conductor: SuperConductor) -> None:
    """With the cells that do not answer."""
    conductor.down_cells = ["cell7"]
    conductor.cell_names = {str(service.cell_uuid): "cell1"}
    answer = api.get(PATH, binary="armillary-compute").json
    assert answer["armillary:down_cells"] == ["cell7"]
    assert answer["services"] == [
        {
            "id": service.uuid,
            "binary": "armillary-compute",
            "host": "host1",
            "zone": "nova",
            "status": "enabled",
            "state": "up",
            "updated_at": "2030-01-31T12:00:00.000000",
            "disabled_reason": None,
            "forced_down": False,
            "armillary:cell_uuid": service.cell_uuid,
            "armillary:cell": "cell1",
            "armillary:version": service.version,
        }
    ]


def test_services_of_one_host_are_listed(service: Service, api: Api) -> None:
    """The others are left out."""
    (found,) = api.get(PATH, host="host2").json["services"]
    assert (found["host"], found["state"]) == ("host2", "down")


CHANGES: list[tuple[dict[str, Any], tuple[bool, str | None, bool]]] = [
    ({"status": "disabled"}, (True, None, False)),
    ({"status": "disabled", "disabled_reason": "fire"}, (True, "fire", False)),
    ({"status": "enabled"}, (False, None, False)),
    ({"forced_down": True}, (False, None, True)),
    ({"status": "disabled", "forced_down": True}, (True, None, True)),
]


@pytest.mark.parametrize(("body", "after"), CHANGES, ids=[str(b) for b, _ in CHANGES])
def test_a_service_is_changed_by_uuid(
    body: dict[str, Any],
    after: tuple[bool, str | None, bool],
    service: Service,
    api: Api,
    conductor: SuperConductor,
) -> None:
    """One or several facts at a time."""
    shown = api.put(f"{PATH}/{service.uuid}", body).json["service"]
    changed = conductor.services[0]
    assert (changed.disabled, changed.disabled_reason, changed.forced_down) == after
    assert shown["status"] == ("disabled" if after[0] else "enabled")


@pytest.mark.parametrize(
    ("action", "more", "after"),
    [
        ("disable", {}, (True, None, False)),
        ("disable-log-reason", {"disabled_reason": "fire"}, (True, "fire", False)),
        ("enable", {}, (False, None, False)),
        ("force-down", {"forced_down": True}, (False, None, True)),
    ],
)
def test_a_service_is_changed_by_host_and_binary(
    action: str,
    more: dict[str, Any],
    after: tuple[bool, str | None, bool],
    service: Service,
    api: Api,
    conductor: SuperConductor,
) -> None:
    """The way until version 2.52."""
    body = {"host": "host1", "binary": "armillary-compute", **more}
    answer = api.send("PUT", f"{PATH}/{action}", json=body, headers=BY_HOST)
    assert answer.status_code == 200
    changed = conductor.services[0]
    assert (changed.disabled, changed.disabled_reason, changed.forced_down) == after


def test_enabling_forgets_the_reason(api: Api, conductor: SuperConductor) -> None:
    """It was one for being disabled."""
    conductor.services = [builders.a_service("host1", disabled=True, disabled_reason="fire")]
    api.put(f"{PATH}/{conductor.services[0].uuid}", {"status": "enabled"})
    assert conductor.services[0].disabled_reason is None


@pytest.mark.parametrize("body", [{"host": "host9", "binary": "armillary-compute"},
                                  {"host": "host1", "binary": "other"}], ids=str)  # fmt: skip
def test_host_and_binary_must_go_together(body: Any, service: Service, api: Api) -> None:
    """404 names both."""
    answer = api.send("PUT", f"{PATH}/disable", json=body, headers=BY_HOST)
    assert answer.status_code == 404
    assert message(answer) == (
        f"Service {body['binary']} on host {body['host']} could not be found."
    )


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body"),
        ({"status": "off"}, "status"),
        ({"disabled_reason": "fire"}, "disabled_reason"),
        ({"status": "enabled", "disabled_reason": "fire"}, "disabled_reason"),
        ({"status": "disabled", "disabled_reason": "x" * 256}, "disabled_reason"),
        ({"forced_down": "maybe"}, "forced_down"),
        ({"host": "host1"}, "host"),
    ],
    ids=str,
)
def test_a_bad_change_names_its_field(
    body: dict[str, Any], field: str, service: Service, api: Api, client: SuperConductorClient
) -> None:
    """And nothing is changed."""
    answer = api.put(f"{PATH}/{service.uuid}", body)
    assert answer.status_code == 400
    assert f"field/attribute {field}." in message(answer)
    assert client.calls == []


def test_a_service_is_deleted_unless_it_is_in_use(
    service: Service, api: Api, conductor: SuperConductor
) -> None:
    """A host with servers stays."""
    conductor.servers = [builders.an_instance(host="host1")]
    assert api.delete(f"{PATH}/{service.uuid}").status_code == 409
    conductor.servers = []
    assert api.delete(f"{PATH}/{service.uuid}").status_code == 204
    assert api.delete(f"{PATH}/{service.uuid}").status_code == 404


@pytest.mark.parametrize(
    ("minor", "is_number", "status"), [(52, True, 204), (52, False, 204), (53, False, 204)]
)
def test_a_service_is_deleted_by_the_id_that_is_shown(
    minor: int, is_number: bool, status: int, service: Service, api: Api, conductor: SuperConductor
) -> None:
    """A number until 2.52."""
    shown = integer_id(service.uuid) if is_number else service.uuid
    headers = {HEADER: f"compute 2.{minor}"}
    assert api.send("DELETE", f"{PATH}/{shown}", headers=headers).status_code == status
    assert service not in conductor.services


@pytest.mark.parametrize(
    ("method", "minor", "name", "status"),
    [
        ("DELETE", 52, "first", 400), ("DELETE", 52, "1", 404), ("DELETE", 53, "{number}", 400),
        ("DELETE", 96, "..", 400), ("DELETE", 96, "4B1F3F6C-8D1A-4C43-9A59-0E2D9B0F5C11", 404),
        ("PUT", 53, "{number}", 400), ("PUT", 96, "host1", 400),
    ],
)  # fmt: skip
def test_a_path_without_a_known_id_names_no_service(
    method: str, minor: int, name: str, status: int,
    service: Service, api: Api, client: SuperConductorClient,
) -> None:  # fmt: skip
    """What cannot be an identifier is a mistake; no other service is asked to change it."""
    path = f"{PATH}/{name.format(number=integer_id(service.uuid))}"
    headers = {HEADER: f"compute 2.{minor}"}
    body = {"status": "enabled"} if method == "PUT" else None
    assert api.send(method, path, headers=headers, json=body).status_code == status
    assert {name for name, _context in client.calls} <= {"list_services"}
