"""Answers have the fields of the version that was asked for: facts of the API's history."""

from typing import Any

import pytest

from objects.hosts.host_answers import AvailabilityZone, HostAvailability
from tests import builders
from tests.fixtures.http_api import Api
from tests.fixtures.super_conductor import SuperConductor

SERVER_ID = builders.a_uuid_of("server")
GROUP_ID = builders.a_uuid_of("group")
SERVER = f"/servers/{SERVER_ID}"
GROUP = f"/os-server-groups/{GROUP_ID}"
ACTION = f"{SERVER}/os-instance-actions/req-1"
PATHS = (
    "/servers",
    "/servers/detail",
    SERVER,
    f"{SERVER}/os-instance-actions",
    ACTION,
    f"{SERVER}/migrations",
    "/flavors",
    "/flavors/detail",
    "/flavors/id-small",
    "/images/detail",
    "/limits",
    "/os-aggregates",
    "/os-availability-zone",
    "/os-availability-zone/detail",
    "/os-hypervisors",
    "/os-hypervisors/detail",
    "/os-hypervisors/host1.example.org",
    "/os-migrations",
    "/os-quota-sets/p1",
    "/os-quota-sets/p1/detail",
    "/os-server-groups",
    GROUP,
    "/os-services",
)
VERSIONS = (1, 3, 9, 11, 16, 19, 26, 28, 33, 36, 41, 47, 53, 55, 58, 59, 62, 64, 71, 75, 80, 88, 96)
NEVER = (97, 97)
FIRST = {f"{SERVER}/migrations": (2, 23)}
"""Paths that the first versions do not have."""

# What is shown, its field, and the first and last minor version that have it.
FACTS = [
    ("/servers/detail", "OS-EXT-SRV-ATTR:launch_index", (3, 96)),
    ("/servers/detail", "locked", (9, 96)),
    ("/servers/detail", "host_status", (16, 96)),
    ("/servers/detail", "description", (19, 96)),
    ("/servers/detail", "tags", (26, 96)),
    ("/servers/detail", "flavor.links", (1, 46)),
    ("/servers/detail", "flavor.original_name", (47, 96)),
    ("/servers/detail", "trusted_image_certificates", (63, 96)),
    (SERVER, "server_groups", (71, 96)),
    ("/servers/detail", "server_groups", NEVER),
    ("/servers/detail", "locked_reason", (73, 96)),
    ("/servers/detail", "pinned_availability_zone", (96, 96)),
    ("/servers/detail", "armillary:attempt", NEVER),
    ("/flavors", "description", (55, 96)),
    ("/flavors/detail", "extra_specs", (61, 96)),
    ("/images/detail", "disk_format", NEVER),
    ("/limits", "absolute.maxSecurityGroups", (1, 35)),
    ("/limits", "absolute.maxImageMeta", (1, 38)),
    ("/limits", "absolute.maxPersonality", (1, 56)),
    ("/os-aggregates", "uuid", (41, 96)),
    ("/os-hypervisors/detail", "vcpus", (1, 87)),
    ("/os-hypervisors/detail", "uptime", (88, 96)),
    ("/os-migrations", "migration_type", (23, 96)),
    ("/os-migrations", "uuid", (59, 96)),
    ("/os-migrations", "user_id", (80, 96)),
    ("/os-quota-sets/p1", "fixed_ips", (1, 35)),
    ("/os-quota-sets/p1", "injected_files", (1, 56)),
    (GROUP, "project_id", (13, 96)),
    (GROUP, "policies", (1, 63)),
    (GROUP, "policy", (64, 96)),
    ("/os-services", "forced_down", (11, 96)),
    (f"{SERVER}/os-instance-actions", "updated_at", (58, 96)),
    (ACTION, "events.hostId", (62, 96)),
    (ACTION, "events.details", (84, 96)),
]


@pytest.fixture(autouse=True)
def stock(conductor: SuperConductor) -> None:
    flavor = builders.a_flavor("small")
    conductor.flavors = [flavor]
    conductor.images = [builders.an_image("loop")]
    hosts = {"host1": HostAvailability(up=True, disabled=False)}
    conductor.zones = [AvailabilityZone("north", hosts)]
    conductor.services = [builders.a_service("host1")]
    conductor.nodes = [builders.a_compute_node("host1")]
    conductor.groups = [builders.an_instance_group(uuid=GROUP_ID)]
    conductor.aggregates = [builders.an_aggregate()]
    conductor.servers = [
        builders.an_instance(uuid=SERVER_ID, image=conductor.images[0], group_uuid=GROUP_ID)
    ]
    conductor.actions = [builders.an_action(SERVER_ID, request_id="req-1")]
    conductor.migrations = [builders.a_migration(SERVER_ID, old_flavor=flavor, new_flavor=flavor)]
    conductor.down_cells = ["cell7"]


def ask(api: Api, path: str, minor: int) -> dict[str, Any]:
    """Return an answer, which was checked against the schema of its version."""
    headers = {"OpenStack-API-Version": f"compute 2.{minor}"}
    query = {"all_tenants": "1"} if path in ("/servers", "/servers/detail") else {}
    answer = api.send("GET", f"/v2.1{path}", headers=headers, params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json)


def has_extensions(value: Any) -> bool:
    """Return whether a field at any depth is Armillary's own."""
    if isinstance(value, list):
        return any(has_extensions(item) for item in value)
    if not isinstance(value, dict):
        return False
    return any(name.startswith("armillary") or has_extensions(part) for name, part in value.items())


def has_field(answer: dict[str, Any], path: str) -> bool:
    """Return whether the object of an answer, or the first of its list, has a field."""
    (found,) = answer.values()
    for name in path.split("."):
        found = found[0] if isinstance(found, list) else found
        if name not in found:
            return False
        found = found[name]
    return True


@pytest.mark.parametrize("minor", VERSIONS)
def test_answers_fit_their_version_and_have_no_extensions(minor: int, api: Api) -> None:
    """Whatever is shown."""
    paths = [path for path in PATHS if (2, minor) >= FIRST.get(path, (2, 1))]
    assert not [path for path in paths if has_extensions(ask(api, path, minor))]


@pytest.mark.parametrize(("path", "field", "versions"), FACTS)
def test_a_field_is_in_its_versions(
    path: str, field: str, versions: tuple[int, int], api: Api
) -> None:
    """Neither in the one before nor in the one after."""
    first, last = versions
    minors = [minor for minor in (first - 1, first, last, last + 1) if 1 <= minor <= 96]
    found = {minor: has_field(ask(api, path, minor), field) for minor in minors}
    assert found == {minor: first <= minor <= last for minor in minors}


@pytest.mark.parametrize(
    ("path", "name"), [("/os-hypervisors", "hypervisors"), ("/os-services", "services")]
)
def test_numbers_became_uuids(path: str, name: str, api: Api) -> None:
    """In one version."""
    assert [type(ask(api, path, minor)[name][0]["id"]) for minor in (52, 53)] == [int, str]


def test_programs_have_the_names_that_stock_clients_know(api: Api) -> None:
    """And Armillary's for those that ask for its fields; both are understood."""
    assert ask(api, "/os-services", 1)["services"][0]["binary"] == "nova-compute"
    (zone,) = ask(api, "/os-availability-zone/detail", 1)["availabilityZoneInfo"]
    assert list(zone["hosts"]["host1"]) == ["nova-compute"]
    for binary in ("nova-compute", "armillary-compute"):
        (found,) = api.get("/v2.1/os-services", binary=binary).json["services"]
        assert found["binary"] == "armillary-compute"
    body = {"host": "host1", "binary": "nova-compute"}
    headers = {"OpenStack-API-Version": "compute 2.52"}
    answer = api.send("PUT", "/v2.1/os-services/disable", json=body, headers=headers)
    assert answer.json["service"]["status"] == "disabled"


def test_a_rebuilt_server_shows_little_in_early_versions(api: Api) -> None:
    """Since 2.75 as much as any answer."""
    body = {"rebuild": {"imageRef": api.get("/v2.1/images").json["images"][0]["id"]}}
    shown = []
    for minor in (74, 75):
        headers = {"OpenStack-API-Version": f"compute 2.{minor}"}
        answer = api.send("POST", f"/v2.1{SERVER}/action", headers=headers, json=body)
        shown.append(answer.json["server"])
    assert "OS-EXT-STS:vm_state" not in shown[0]
    assert "OS-EXT-STS:vm_state" in shown[1]
    assert all(len(server["adminPass"]) == 12 for server in shown)


def test_a_reservation_is_shown_alone(api: Api) -> None:
    """When it was asked for, and otherwise not."""
    server = {"name": "web", "flavorRef": "small"}
    plain = api.send("POST", "/v2.1/servers", headers={}, json={"server": server})
    assert set(plain.json) == {"server"}
    assert plain.json["server"]["adminPass"]
    server["return_reservation_id"] = "True"
    reserved = api.send("POST", "/v2.1/servers", headers={}, json={"server": server})
    assert reserved.json == {"reservation_id": "r-made"}
