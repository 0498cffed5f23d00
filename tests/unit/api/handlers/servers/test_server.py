"""Servers: asked for, listed, shown, deleted."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from api.handlers.servers import once_scheduled
from objects.instances.instance_fault import UNASKED
from tests import builders
from tests.fixtures.http_api import MEMBER, Api, message
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient
from tests.unit.api.handlers.servers.server_requests import NETWORK, PATH, ask, stock

__all__ = ["stock"]


# Changing


def test_a_server_that_is_being_scheduled_is_changed_a_moment_later(
    api: Api, conductor: SuperConductor
) -> None:
    """As soon as a cell has it."""
    ask(api)
    (server,) = conductor.servers
    conductor.unscheduled[server.uuid] = 3
    changed = api.put(f"{PATH}/{server.uuid}", {"server": {"name": "new"}}, token=MEMBER)
    assert (changed.status_code, changed.json["server"]["name"]) == (200, "new")


def test_a_change_is_refused_when_scheduling_takes_too_long(
    api: Api, conductor: SuperConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the reason."""
    ask(api)
    (server,) = conductor.servers
    conductor.unscheduled[server.uuid] = 3
    monkeypatch.setattr(once_scheduled, "WAIT_SECONDS_MAX", 0.0)
    refused = api.put(f"{PATH}/{server.uuid}", {"server": {"name": "new"}}, token=MEMBER)
    assert refused.status_code == 409
    assert "it is being scheduled" in message(refused)


# Showing


def test_a_server_is_shown_with_all_that_is_known(api: Api, conductor: SuperConductor) -> None:
    """To an administrator."""
    image = conductor.images[0]
    server = builders.an_instance(
        image=image, metadata={"role": "front"}, exit_code=None, attempt=2,
        group_uuid=conductor.groups[0].uuid,
    )  # fmt: skip
    conductor.servers = [server]
    shown = api.get(f"{PATH}/{server.uuid}").json["server"]
    base = shown["links"][0]["href"].removesuffix(f"/v2.1/servers/{server.uuid}")
    host_id = shown.pop("hostId")
    assert len(host_id) == 64
    given: dict[str, Any] = {
        "accessIPv4": "",
        "accessIPv6": "",
        "config_drive": "",
        "description": None,
        "key_name": None,
        "pinned_availability_zone": None,
        "armillary:scheduler_hints": {},
        "progress": 0,
        "tags": [],
        "trusted_image_certificates": None,
        "OS-EXT-SRV-ATTR:hostname": "web",
        "OS-EXT-SRV-ATTR:kernel_id": "",
        "OS-EXT-SRV-ATTR:ramdisk_id": "",
        "OS-EXT-SRV-ATTR:root_device_name": None,
        "OS-EXT-SRV-ATTR:user_data": None,
        "os-extended-volumes:volumes_attached": [],
        "security_groups": [{"name": "default"}],
    }
    assert shown == given | {
        "id": server.uuid,
        "name": "web",
        "status": "ACTIVE",
        "tenant_id": "p1",
        "user_id": "u1",
        "created": "2030-01-31T12:00:00Z",
        "updated": "2030-01-31T12:00:00Z",
        "flavor": {
            "original_name": "small",
            "vcpus": 1,
            "ram": 512,
            "disk": 1,
            "ephemeral": 0,
            "swap": 0,
            "extra_specs": {},
        },
        "image": {
            "id": image.id,
            "links": [{"rel": "bookmark", "href": f"{base}/images/{image.id}"}],
        },
        "metadata": {"role": "front"},
        "addresses": {},
        "server_groups": [conductor.groups[0].uuid],
        "links": [
            {"rel": "self", "href": f"{base}/v2.1/servers/{server.uuid}"},
            {"rel": "bookmark", "href": f"{base}/servers/{server.uuid}"},
        ],
        "OS-DCF:diskConfig": "MANUAL",
        "OS-EXT-AZ:availability_zone": "nova",
        "OS-EXT-STS:vm_state": "active",
        "OS-EXT-STS:task_state": None,
        "OS-EXT-STS:power_state": 1,
        "OS-SRV-USG:launched_at": "2030-01-31T12:00:00.000000",
        "OS-SRV-USG:terminated_at": None,
        "OS-EXT-SRV-ATTR:host": "host1",
        "OS-EXT-SRV-ATTR:hypervisor_hostname": "node1",
        "OS-EXT-SRV-ATTR:instance_name": "web",
        "armillary:zone": "",
        "OS-EXT-SRV-ATTR:reservation_id": "r-1",
        "OS-EXT-SRV-ATTR:launch_index": 0,
        "locked": False,
        "locked_reason": None,
        "armillary:attempt": 2,
        "armillary:exit_code": None,
    }


@pytest.mark.parametrize(
    ("vm_state", "status"),
    [("building", "BUILD"), ("active", "ACTIVE"), ("stopped", "SHUTOFF"), ("error", "ERROR")],
)
def test_a_state_has_one_word(
    vm_state: str, status: str, api: Api, conductor: SuperConductor
) -> None:
    """Being deleted is a task, not a state."""
    server = builders.an_instance(vm_state=vm_state, task_state="deleting")
    conductor.servers = [server]
    shown = api.get(f"{PATH}/{server.uuid}").json["server"]
    assert shown["status"] == status
    assert shown["OS-EXT-STS:task_state"] == "deleting"


def test_an_ended_process_shows_how_it_ended(api: Api, conductor: SuperConductor) -> None:
    """Its exit code and that it is off."""
    server = builders.an_instance(vm_state="stopped", power_state="shutdown", exit_code=3)
    conductor.servers = [server]
    shown = api.get(f"{PATH}/{server.uuid}").json["server"]
    assert (shown["armillary:exit_code"], shown["OS-EXT-STS:power_state"]) == (3, 4)


def test_the_state_of_its_host_is_asked_for_alone(
    api: Api, conductor: SuperConductor, client: SuperConductorClient
) -> None:
    """Not with those of all hosts; of a host of another zone it is not known."""
    conductor.services = [
        builders.a_service("host1"), builders.a_service("host2", disabled=True),
        builders.a_service("host3", up=False), builders.a_service("host4", forced_down=True),
    ]  # fmt: skip
    hosts = ("host1", "host2", "host3", "host4", "host5", None)
    conductor.servers = [builders.an_instance(host=host) for host in hosts]
    conductor.servers.append(builders.an_instance(host="host1", zone="eu"))
    headers = {"OpenStack-API-Version": "compute 2.16"}
    query = "all_tenants=1"
    listed = api.send("GET", f"{PATH}/detail", headers=headers, query_string=query).json["servers"]
    assert [server["host_status"] for server in listed] == [
        "UP", "MAINTENANCE", "UNKNOWN", "DOWN", "UNKNOWN", "", "UNKNOWN",
    ]  # fmt: skip
    assert [method for method, _ in client.calls] == ["list_servers", "find_compute_services"]


def test_its_owner_does_not_see_the_host(api: Api, conductor: SuperConductor) -> None:
    """Only a name that tells servers on one host from others."""
    servers = [
        builders.an_instance(host=host, project_id=project)
        for host, project in (("host1", "p1"), ("host1", "p1"), ("host2", "p1"), ("host1", "p2"))
    ]
    conductor.servers = servers
    shown = api.get(f"{PATH}/detail", token=MEMBER).json["servers"]
    assert not any("host1" in str(server) or "node1" in str(server) for server in shown)
    assert shown[0]["hostId"] == shown[1]["hostId"] != shown[2]["hostId"]
    other = api.get(f"{PATH}/{servers[3].uuid}").json["server"]
    assert other["hostId"] != shown[0]["hostId"]


def test_a_failed_server_shows_its_fault(api: Api, conductor: SuperConductor) -> None:
    """The details are for administrators."""
    server = builders.an_instance(vm_state="error")
    server.fault = builders.a_fault(server.uuid)
    conductor.servers = [server]
    fault = {"code": 500, "message": "The build failed.", "created": "2030-01-31T12:00:00Z"}
    details = {"details": "host1: no space left on device"}
    path = f"{PATH}/{server.uuid}"
    assert api.get(path, token=MEMBER).json["server"]["fault"] == fault
    assert api.get(path).json["server"]["fault"] == {**fault, **details}


def test_a_fault_names_host_and_paths_to_administrators_only(
    api: Api, conductor: SuperConductor
) -> None:
    """It may contain what a program of the host said."""
    server = builders.an_instance(vm_state="error", project_id="p1", host="rack1-4")
    said = "The build failed: rack2-1 cannot reach rack1-4:16509 for '/srv/images/u-1'."
    server.fault = builders.a_fault(server.uuid, host="rack2-1", message=said)
    conductor.servers = [server]
    path = f"{PATH}/{server.uuid}"
    shown = api.get(path, token=MEMBER).json["server"]["fault"]["message"]
    assert shown == "The build failed: the host cannot reach the host:16509 for 'u-1'."
    assert api.get(path).json["server"]["fault"]["message"] == said


def test_a_server_that_stands_still_unasked_shows_why(api: Api, conductor: SuperConductor) -> None:
    """Until something else has changed it."""
    server = builders.an_instance(vm_state="paused", power_state="paused")
    server.fault = builders.a_fault(server.uuid, code=UNASKED, created_at=builders.A_TIME)
    server.updated_at = builders.A_TIME
    conductor.servers = [server]
    assert api.get(f"{PATH}/{server.uuid}").json["server"]["fault"]["code"] == UNASKED
    server.updated_at = builders.A_TIME + timedelta(seconds=1)
    assert "fault" not in api.get(f"{PATH}/{server.uuid}").json["server"]


def test_a_failed_attempt_of_a_running_server_is_not_a_fault(
    api: Api, conductor: SuperConductor
) -> None:
    """It runs now."""
    server = builders.an_instance(vm_state="active")
    server.fault = builders.a_fault(server.uuid)
    conductor.servers = [server]
    assert "fault" not in api.get(f"{PATH}/{server.uuid}").json["server"]


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_another_projects_server_is_not_there(
    method: str, api: Api, conductor: SuperConductor
) -> None:
    """404, not 403: no user learns what others have."""
    conductor.servers = [builders.an_instance(project_id="p2")]
    answer = api.send(method, f"{PATH}/{conductor.servers[0].uuid}", token=MEMBER)
    assert answer.status_code == 404


def test_an_unknown_server_is_not_there(api: Api) -> None:
    """The message says which."""
    answer = api.get(f"{PATH}/nothing")
    assert answer.status_code == 404
    assert message(answer) == "Instance nothing could not be found."


# Listing


def test_a_list_is_short_or_long(api: Api, conductor: SuperConductor) -> None:
    """By the path."""
    conductor.servers = [builders.an_instance()]
    assert sorted(api.get(PATH, token=MEMBER).json["servers"][0]) == ["id", "links", "name"]
    assert "flavor" in api.get(f"{PATH}/detail", token=MEMBER).json["servers"][0]


def test_a_long_list_comes_in_pages(api: Api, conductor: SuperConductor) -> None:
    """Each full page links to the next, until one is not full."""
    conductor.servers = [builders.an_instance(f"web{n}") for n in range(5)]
    names: list[str] = []
    query: dict[str, str] = {"limit": "2", "name": "web"}
    for _ in range(3):
        page = api.get(PATH, token=MEMBER, **query).json
        names += [server["name"] for server in page["servers"]]
        if "servers_links" in page:
            (link,) = page["servers_links"]
            query = dict(part.split("=") for part in link["href"].partition("?")[2].split("&"))
    assert "servers_links" not in page
    assert names == [f"web{n}" for n in range(5)]


@pytest.mark.parametrize(("asked", "got"), [(None, 3), ("2", 2), ("5", 3)])
def test_the_conductor_is_asked_for_no_more(
    asked: str | None, got: int, conf: Any, make_api: Callable[[], Api], conductor: SuperConductor
) -> None:
    """Than one page."""
    conf.set_override("max_limit", 3, group="api")
    make_api().get(PATH, **({} if asked is None else {"limit": asked}))
    assert conductor.requests[-1]["limit"] == got


def test_filters_arrive(api: Api, conductor: SuperConductor) -> None:
    """By their names and types."""
    query = {
        "name": "web", "status": "ACTIVE", "host": "host1", "reservation_id": "r-1",
        "all_tenants": "1", "deleted": "false",
    }  # fmt: skip
    assert api.get(PATH, **query).status_code == 200
    assert conductor.requests[-1]["filters"] == {
        "name": "web",
        "status": "ACTIVE",
        "host": "host1",
        "reservation_id": "r-1",
        "all_projects": True,
    }


def test_more_filters_arrive(api: Api, conductor: SuperConductor) -> None:
    """A status in any case, times with their zone, projects by either name."""
    query = {
        "flavor": "small", "image": NETWORK, "user_id": "u1", "uuid": NETWORK, "vm_state": "active",
        "availability_zone": "north", "status": "Reboot", "changes-since": "2030-01-31T12:00:00Z",
        "changes-before": "2030-01-31 13:00", "tenant_id": "p2", "all_tenants": "1",
    }  # fmt: skip
    assert api.get(PATH, **query).status_code == 200
    assert conductor.requests[-1]["filters"] == {
        "existence": "any",
        "flavor": "small",
        "image": NETWORK,
        "user_id": "u1",
        "uuid": NETWORK,
        "vm_state": "active",
        "availability_zone": "north",
        "status": "REBOOT",
        "changed_since": builders.A_TIME,
        "changed_before": builders.A_TIME + timedelta(hours=1),
        "project_id": "p2",
        "all_projects": True,
    }
    api.send("GET", PATH, query_string="all_tenants")
    assert conductor.requests[-1]["filters"] == {"all_projects": True}


@pytest.mark.parametrize(
    "query", [{"host": "host1"}, {"all_tenants": "1"}, {"deleted": "1"}], ids=str
)
@pytest.mark.parametrize("path", [PATH, f"{PATH}/detail"])
def test_some_filters_are_for_administrators(path: str, query: Any, api: Api) -> None:
    """Our own clients are told so, and everybody who asks for the servers of others."""
    assert api.get(path, token=MEMBER, **query).status_code == 403


@pytest.mark.parametrize("query", [{"host": "host1"}, {"node": "n"}, {"deleted": "1"}], ids=str)
def test_filters_of_administrators_are_ignored_for_others(
    query: Any, api: Api, conductor: SuperConductor
) -> None:
    """As the Compute API has it; nothing is listed that would not be without them."""
    assert api.send("GET", PATH, token=MEMBER, headers={}, params=query).status_code == 200
    assert conductor.requests[-1]["filters"] == {"soft_deleted_is_deleted": True}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"changes-since": "yesterday"}, "changes-since"),
        ({"all_tenants": "some"}, "all_tenants"),
        ({"limit": "-1"}, "limit"),
        ({"marker": "x"}, "marker"),
        ({"deleted": "perhaps"}, "deleted"),
        ({"nmae": "web"}, "nmae"),
    ],
    ids=str,
)
def test_a_bad_filter_is_named(query: dict[str, str], field: str, api: Api) -> None:
    """Unknown ones, too."""
    answer = api.get(PATH, **query)
    assert answer.status_code == 400
    assert f"field/attribute {field}." in message(answer)


def test_an_unknown_marker_is_a_bad_request(api: Api) -> None:
    """The list is there, the place in it is not."""
    assert api.get(PATH, marker=builders.a_uuid()).status_code == 400


def test_a_server_is_deleted(api: Api, conductor: SuperConductor) -> None:
    """Accepted means that it will be gone."""
    conductor.servers = [builders.an_instance()]
    assert api.delete(f"{PATH}/{conductor.servers[0].uuid}", token=MEMBER).status_code == 204
    assert conductor.servers == []
