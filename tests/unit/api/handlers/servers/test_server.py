"""Servers: asked for, listed, shown, deleted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from api.handlers.servers import once_scheduled
from armillary import exception
from armillary.http.microversion import HEADER
from objects.hosts.host_answers import AvailabilityZone
from objects.instance import UNKNOWN as UNKNOWN_STATE
from objects.instance import Instance
from objects.instances.instance_fault import UNASKED
from tests import builders
from tests.fixtures.http_api import MEMBER, Api, message
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient

NETWORK = "4b1f3f6c-8d1a-4c43-9a59-0e2d9b0f5c12"
PATH = "/v2.1/servers"


@pytest.fixture(autouse=True)
def stock(conductor: SuperConductor) -> None:
    conductor.flavors = [builders.a_flavor("small")]
    conductor.images = [builders.an_image("loop")]
    conductor.zones = [AvailabilityZone("north", {})]
    conductor.services = [builders.a_service("host1")]
    conductor.nodes = [builders.a_compute_node("host1", node="node1")]
    conductor.groups = [builders.an_instance_group()]


def ask(api: Api, *, token: str | None = MEMBER, hints: Any = None, **server: Any) -> Any:
    """Ask for a server with what the test is about."""
    body: dict[str, Any] = {"server": {"name": "web", "flavorRef": "small", **server}}
    if hints is not None:
        body["os:scheduler_hints"] = hints
    return api.post(PATH, body, token=token)


# Creating


def test_a_server_is_accepted_at_once(api: Api, conductor: SuperConductor) -> None:
    """Its id, where to find it, and the reservation."""
    answer = ask(api)
    (made,) = conductor.servers
    assert answer.status_code == 202
    assert answer.json["server"]["id"] == made.uuid
    assert answer.json["reservation_id"] == "r-made"
    assert answer.json["armillary:servers"] == [made.uuid]
    assert answer.headers["Location"].endswith(f"/v2.1/servers/{made.uuid}")


def test_the_request_arrives_in_the_conductors_words(api: Api, conductor: SuperConductor) -> None:
    """What was left out is filled in, once, here."""
    assert ask(api).status_code == 202
    assert conductor.requests == [
        {
            "name": "web",
            "flavor": "small",
            "image": None,
            "min_count": 1,
            "max_count": 1,
            "availability_zone": None,
            "metadata": {},
            "networks": [],
            "hints": {},
            "host": None,
            "node": None,
            "settings": None,
        }
    ]


def test_everything_that_can_be_said_arrives(api: Api, conductor: SuperConductor) -> None:
    """An administrator may say all of it."""
    group = conductor.groups[0].uuid
    answer = ask(
        api,
        token=None,
        imageRef="loop",
        min_count=2,
        max_count=3,
        availability_zone="north",
        metadata={"role": "front"},
        networks=[{"uuid": NETWORK.upper()}, {"uuid": group, "remote_managed": True}],
        host="host1",
        hypervisor_hostname="node1",
        hints={"group": group, "different_host": [NETWORK, group]},
    )
    assert answer.status_code == 202
    assert conductor.requests == [
        {
            "name": "web",
            "flavor": "small",
            "image": "loop",
            "min_count": 2,
            "max_count": 3,
            "availability_zone": "north",
            "metadata": {"role": "front"},
            "networks": [
                {"network": NETWORK, "remote_managed": False},
                {"network": group, "remote_managed": True},
            ],
            "hints": {"group": [group], "different_host": [NETWORK, group]},
            "host": "host1",
            "node": "node1",
            "settings": None,
        }
    ]


@pytest.mark.parametrize(
    ("reference", "flavor"),
    [("small", "small"), ("http://here/v2.1/flavors/small", "small"), (7, "7")],
)
def test_a_flavor_may_be_named_by_its_link_or_a_number(
    reference: str | int, flavor: str, api: Api, conductor: SuperConductor
) -> None:
    """As the Compute API says."""
    ask(api, flavorRef=reference)
    assert conductor.requests[0]["flavor"] == flavor


@pytest.mark.parametrize("image", [None, ""], ids=["null", "empty"])
def test_a_server_may_do_without_image(
    image: str | None, api: Api, conductor: SuperConductor
) -> None:
    """There are workloads that need none."""
    ask(api, imageRef=image)
    assert conductor.requests[0]["image"] is None


@pytest.mark.parametrize(
    "query", ['["=", "$host", "a"]', ["=", "$host", "a"]], ids=["text", "list"]
)
def test_a_question_to_hosts_arrives_as_json(
    api: Api, conductor: SuperConductor, query: Any
) -> None:
    """However it was written."""
    assert ask(api, hints={"query": query}).status_code == 202
    assert conductor.requests[0]["hints"] == {"query": ['["=", "$host", "a"]']}


@pytest.mark.parametrize(
    "query",
    ["no json", ["near", "$host"], "[" * 5000 + "]" * 5000, [["="]]],
    ids=["text", "operator", "deep", "nested"],
)
def test_a_question_that_cannot_be_read_is_refused(
    api: Api, conductor: SuperConductor, query: Any
) -> None:
    """The answer names the hint, nothing is asked of the conductor."""
    answer = ask(api, hints={"query": query})
    assert answer.status_code == 400
    assert "the hint query" in answer.json["badRequest"]["message"]
    assert conductor.requests == []


def test_hints_may_come_under_their_old_name(api: Api, conductor: SuperConductor) -> None:
    """Some clients use it still."""
    body = {
        "server": {"name": "web", "flavorRef": "small"},
        "OS-SCH-HNT:scheduler_hints": {"near": "x"},
    }
    api.post(PATH, body)
    assert conductor.requests[0]["hints"] == {"near": ["x"]}


def test_several_servers_are_all_named(api: Api, conductor: SuperConductor) -> None:
    """The classic answer names only the first."""
    answer = ask(api, min_count=3)
    assert answer.json["armillary:servers"] == [server.uuid for server in conductor.servers]
    assert len(conductor.servers) == 3


def test_max_count_alone_means_one_at_least(api: Api, conductor: SuperConductor) -> None:
    """The quota may lower it."""
    ask(api, max_count=5)
    assert (conductor.requests[0]["min_count"], conductor.requests[0]["max_count"]) == (1, 5)


def test_the_reservation_may_be_all_that_is_wanted(api: Api) -> None:
    """For clients that list by it afterwards."""
    answer = ask(api, return_reservation_id=True)
    assert sorted(answer.json) == ["armillary:servers", "reservation_id"]


@pytest.mark.parametrize("network", ["none", "auto"])
def test_networks_that_mean_nothing_are_taken(network: str, api: Api) -> None:
    """Clients of later versions always send one."""
    assert ask(api, networks=network).status_code == 202


UNKNOWN = [
    ({"flavorRef": "huge"}, "server.flavorRef. Value: huge. Flavor huge could not be found."),
    ({"imageRef": "sun"}, "server.imageRef. Value: sun. Image sun could not be found."),
    ({"availability_zone": "south"}, "server.availability_zone. Value: south. The requested"),
    (
        {"availability_zone": "north:host9"},
        "server.availability_zone. Value: north:host9. Host host9 could not be found.",
    ),
    (
        {"hints": {"group": "4b1f3f6c-8d1a-4c43-9a59-0e2d9b0f5c11"}},
        "os:scheduler_hints.group. Value: 4b1f3f6c-8d1a-4c43-9a59-0e2d9b0f5c11. Server group",
    ),
]


@pytest.mark.parametrize(("wanted", "sentence"), UNKNOWN, ids=[str(w)[:30] for w, _ in UNKNOWN])
def test_what_a_body_names_must_exist(
    wanted: dict[str, Any], sentence: str, api: Api, conductor: SuperConductor
) -> None:
    """400 with the field; 404 is for what the path names."""
    answer = ask(api, token=None, **wanted)
    assert answer.status_code == 400
    assert sentence in message(answer)
    assert conductor.servers == []


@pytest.mark.parametrize(
    ("error", "wanted", "field"),
    [
        (exception.HostNotFound(host="h"), {"host": "h"}, "server.host"),
        (
            exception.ComputeNodeNotFound(node="n"),
            {"hypervisor_hostname": "n"},
            "server.hypervisor_hostname",
        ),
        (
            exception.ComputeNodeNotFound(node="n"),
            {"availability_zone": "north::n"},
            "server.availability_zone",
        ),
    ],
    ids=["host", "node", "node-in-zone"],
)
def test_a_destination_must_exist(
    error: Exception, wanted: dict[str, Any], field: str, api: Api, conductor: SuperConductor
) -> None:
    """The field is the one that named it."""
    conductor.errors["create_servers"] = error
    assert f"field/attribute {field}. Value:" in message(ask(api, token=None, **wanted))


BAD = [
    ({"name": ""}, "server.name"),
    ({"name": "x" * 256}, "server.name"),
    ({"name": "a\u0007"}, "server.name"),
    ({"name": 5}, "server.name"),
    ({"name": None}, "server.name"),
    ({"flavorRef": ""}, "server.flavorRef"),
    ({"flavorRef": 1.5}, "server.flavorRef"),
    ({"flavorRef": True}, "server.flavorRef"),
    ({"imageRef": 1}, "server.imageRef"),
    ({"min_count": 0}, "server.min_count"),
    ({"min_count": -1}, "server.min_count"),
    ({"min_count": "two"}, "server.min_count"),
    ({"min_count": 1.5}, "server.min_count"),
    ({"max_count": 0}, "server.max_count"),
    ({"max_count": 10001}, "server.max_count"),
    ({"max_count": 2**63}, "server.max_count"),
    ({"min_count": 3, "max_count": 2}, "server.min_count"),
    ({"metadata": []}, "server.metadata"),
    ({"metadata": {"a": 1}}, "server.metadata.a"),
    ({"metadata": {"a": "x" * 256}}, "server.metadata.a"),
    ({"metadata": {"": "x"}}, "server.metadata"),
    ({"networks": [{"uuid": "x"}]}, "server.networks.0.uuid"),
    ({"networks": [{"uuid": NETWORK, "remote_managed": 1}]}, "server.networks.0.remote_managed"),
    ({"networks": [{"uuid": NETWORK, "port": "p"}]}, "server.networks.0.port"),
    ({"networks": [{"uuid": NETWORK}] * 65}, "server.networks"),
    ({"networks": "public"}, "server.networks"),
    ({"availability_zone": ""}, "server.availability_zone"),
    ({"availability_zone": "a:b:c:d"}, "server.availability_zone"),
    ({"availability_zone": "::"}, "server.availability_zone"),
    ({"host": "a b"}, "server.host"),
    ({"return_reservation_id": "maybe"}, "server.return_reservation_id"),
    ({"key_name": ""}, "server.key_name"),
    ({"config_drive": "perhaps"}, "server.config_drive"),
    ({"personality": []}, "server.personality"),
    ({"user_data": "not Base64!"}, "server.user_data"),
    ({"accessIPv4": "2001:db8::1"}, "server.accessIPv4"),
    ({"tags": ["a,b"]}, "server.tags.0"),
    (
        {"block_device_mapping_v2": [{"source_type": "blank", "uuid": NETWORK}]},
        "server.block_device_mapping_v2.0",
    ),
    ({"hints": {"group": "apart"}}, "os:scheduler_hints.group"),
    ({"hints": {"x": 1}}, "os:scheduler_hints.x"),
    ({"hints": {"same_host": "web1"}}, "os:scheduler_hints.same_host"),
    ({"hints": {"different_host": [NETWORK, "web1"]}}, "os:scheduler_hints.different_host.1"),
    ({"hints": {"build_near_host_ip": "host1"}}, "os:scheduler_hints.build_near_host_ip"),
    ({"hints": {"cidr": "a lot"}}, "os:scheduler_hints.cidr"),
    (
        {"hints": {"build_near_host_ip": "192.0.2.1", "cidr": "255.0.255.0"}},
        "os:scheduler_hints.cidr",
    ),
    ({"hints": {"build_near_host_ip": "192.0.2.1", "cidr": "/64"}}, "os:scheduler_hints.cidr"),
    ({"hints": []}, "os:scheduler_hints"),
]


@pytest.mark.parametrize(("wanted", "field"), BAD, ids=[str(w)[:40] for w, _ in BAD])
def test_a_bad_request_names_its_field_and_changes_nothing(
    wanted: dict[str, Any], field: str, api: Api, client: SuperConductorClient
) -> None:
    """No conductor is asked for what cannot be."""
    answer = ask(api, token=None, **wanted)
    assert answer.status_code == 400
    assert f"field/attribute {field}." in message(answer)
    assert client.calls == []


@pytest.mark.parametrize("body", [{}, {"server": None}, {"server": []}, {"server": {}, "x": 1}])
def test_a_body_must_hold_a_server(body: Any, api: Api) -> None:
    """And nothing unknown beside it."""
    assert api.post(PATH, body).status_code == 400


def test_networks_say_what_is_not_part_of_this(api: Api) -> None:
    """Rather than ignoring them."""
    assert "Networking is not part of this service" in message(ask(api, networks="public"))


def test_more_than_the_quota_is_forbidden(api: Api, conductor: SuperConductor) -> None:
    """The sentence has the numbers."""
    answer = ask(api, min_count=11)
    assert answer.status_code == 403
    assert message(answer) == (
        "Quota exceeded for instances: requested 11, but already used 0 of 10"
    )
    assert conductor.servers == []


@pytest.mark.parametrize(
    "wanted",
    [
        {"availability_zone": "north:host1"},
        {"availability_zone": "north::node1"},
        {"host": "host1"},
        {"hypervisor_hostname": "node1"},
    ],
    ids=str,
)
def test_only_administrators_choose_hosts(
    wanted: dict[str, str], api: Api, conductor: SuperConductor
) -> None:
    """By either way of naming one."""
    assert ask(api, **wanted).status_code == 403
    assert conductor.servers == []
    assert ask(api, token=None, **wanted).status_code == 202


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"hypervisor_hostname": "node2"}, "server.hypervisor_hostname"),
        ({"hypervisor_hostname": "node1", "host": "host2"}, "server.hypervisor_hostname"),
        ({"hypervisor_hostname": builders.a_uuid_of("node1")}, "server.hypervisor_hostname"),
        ({"availability_zone": "north::node2"}, "server.availability_zone"),
        ({"availability_zone": "north:host2:node1"}, "server.availability_zone"),
    ],
    ids=str,
)
def test_a_node_that_is_not_there_is_refused_at_once(
    wanted: dict[str, str], field: str, api: Api, conductor: SuperConductor
) -> None:
    """Not by a server in ERROR."""
    conductor.nodes[0].uuid = builders.a_uuid_of("node1")
    refused = ask(api, token=None, **wanted)
    assert refused.status_code == 400
    assert field in message(refused)
    assert conductor.servers == []


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


def test_a_fault_names_its_host_to_administrators_only(api: Api, conductor: SuperConductor) -> None:
    """It may contain what a program of the host said."""
    server = builders.an_instance(vm_state="error", project_id="p1", host="rack1-4")
    said = "The build failed: rack2-1 cannot reach rack1-4:16509."
    server.fault = builders.a_fault(server.uuid, host="rack2-1", message=said)
    conductor.servers = [server]
    path = f"{PATH}/{server.uuid}"
    shown = api.get(path, token=MEMBER).json["server"]["fault"]["message"]
    assert shown == "The build failed: the host cannot reach the host:16509."
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


def test_a_cell_that_does_not_answer_is_named_to_administrators(
    api: Api, conductor: SuperConductor
) -> None:
    """Others learn that the list is not whole."""
    conductor.down_cells = ["cell7"]
    assert api.get(PATH).json["armillary:down_cells"] == ["cell7"]
    theirs = api.get(PATH, token=MEMBER).json
    assert theirs["armillary:partial"] is True
    assert "cell7" not in str(theirs)


def an_unknown_server(**values: Any) -> Instance:
    return Instance.from_values(
        uuid=builders.a_uuid(), project_id="p1", user_id="u1", vm_state=UNKNOWN_STATE,
        created_at=builders.A_TIME, **values,
    )  # fmt: skip


def test_a_server_of_a_silent_cell_is_listed_as_unknown(
    api: Api, conductor: SuperConductor
) -> None:
    """With the fields that Nova has, from the microversion that has them."""
    unknown = an_unknown_server()
    conductor.servers.append(unknown)
    (brief,) = api.get(PATH, all_tenants=True).json["servers"]
    assert sorted(brief) == ["id", "links", "status"]
    (found,) = api.get(f"{PATH}/detail", all_tenants=True).json["servers"]
    assert sorted(found) == ["created", "id", "links", "status", "tenant_id"]
    assert (found["status"], found["tenant_id"]) == ("UNKNOWN", "p1")


def test_changes_of_a_server_of_a_silent_cell_are_accepted(
    api: Api, conductor: SuperConductor
) -> None:
    """In every microversion; the super conductor stores them."""
    unknown = an_unknown_server(locked=False)
    conductor.servers.append(unknown)
    path = f"{PATH}/{unknown.uuid}"
    assert api.post(f"{path}/action", {"os-stop": None}).status_code == 202
    assert api.delete(path).status_code == 204
    assert [one[:2] for one in conductor.operations] == [
        (unknown.uuid, "stop"), (unknown.uuid, "delete"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "answer"),
    [
        ("PUT", "/metadata", {"metadata": {"a": "1"}}, 200, {"metadata": {"a": "1"}}),
        ("POST", "/metadata", {"metadata": {"a": "1"}}, 200, {"metadata": {"a": "1"}}),
        ("PUT", "/metadata/a", {"meta": {"a": "1"}}, 200, {"meta": {"a": "1"}}),
        ("DELETE", "/metadata/a", None, 204, None),
        ("PUT", "/tags", {"tags": ["x"]}, 200, {"tags": ["x"]}),
        ("DELETE", "/tags/x", None, 204, None),
        ("PUT", "/tags/x", None, 201, None),
        ("DELETE", "/tags", None, 204, None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_change_of_metadata_or_tags_of_a_silent_cell_is_answered_with_what_was_asked_for(
    api: Api, conductor: SuperConductor, method: str, path: str, body: dict[str, Any] | None,
    status: int, answer: dict[str, Any] | None,
) -> None:  # fmt: skip
    """The super conductor stores the change."""
    unknown = an_unknown_server(locked=False)
    conductor.servers.append(unknown)
    answered = api.send(method, f"{PATH}/{unknown.uuid}{path}", json=body)
    assert answered.status_code == status
    assert answer is None or answered.json == answer
    assert [one[:2] for one in conductor.operations] == [(unknown.uuid, "update")]


def test_a_server_of_a_silent_cell_is_renamed_rebuilt_and_rescued_later(
    api: Api, conductor: SuperConductor
) -> None:
    """Answers have what is known of it."""
    unknown = an_unknown_server(locked=False)
    conductor.servers.append(unknown)
    path = f"{PATH}/{unknown.uuid}"
    renamed = api.send("PUT", path, json={"server": {"name": "db"}})
    assert (renamed.status_code, renamed.json["server"]["status"]) == (200, "UNKNOWN")
    conductor.images.append(builders.an_image("loop"))
    rebuild = {"rebuild": {"imageRef": conductor.images[0].id}}
    rebuilt = api.post(f"{path}/action", rebuild)
    assert (rebuilt.status_code, rebuilt.json["server"]["status"]) == (202, "UNKNOWN")
    assert api.post(f"{path}/action", {"rescue": None}).status_code == 200
    assert [one[1] for one in conductor.operations] == ["update", "rebuild", "rescue"]


def test_a_server_of_a_silent_cell_is_shown_as_far_as_it_is_known(
    api: Api, conductor: SuperConductor
) -> None:
    """What was asked for is known; nothing of its present state is."""
    unknown = an_unknown_server(
        flavor=builders.a_flavor("small"), pinned_availability_zone="east",
        availability_zone="east", scheduler_hints={"group": ["g"]},
    )  # fmt: skip
    conductor.servers.append(unknown)
    found = api.get(f"{PATH}/{unknown.uuid}").json["server"]
    assert found["flavor"]["original_name"] == "small"
    assert found["OS-EXT-AZ:availability_zone"] == found["pinned_availability_zone"] == "east"
    assert found["armillary:scheduler_hints"] == {"group": ["g"]}
    assert (found["OS-EXT-STS:power_state"], found["image"]) == (0, "")
    assert not {"name", "hostId", "addresses", "updated", "OS-EXT-STS:vm_state"} & set(found)


@pytest.mark.parametrize(("version", "asked"), [("2.68", False), ("2.69", True)])
def test_unknown_servers_are_asked_for_by_versions_that_have_them(
    api: Api, conductor: SuperConductor, version: str, asked: bool
) -> None:
    """Before, a list leaves them out, and one cannot be shown."""
    conductor.servers = [builders.an_instance()]
    for path in (PATH, f"{PATH}/detail", f"{PATH}/{conductor.servers[0].uuid}"):
        conductor.asked_for_display.clear()
        headers = {HEADER: f"compute {version}"}
        assert api.send("GET", path, headers=headers).status_code == 200
        assert conductor.asked_for_display == [asked]


def test_a_server_is_deleted(api: Api, conductor: SuperConductor) -> None:
    """Accepted means that it will be gone."""
    conductor.servers = [builders.an_instance()]
    assert api.delete(f"{PATH}/{conductor.servers[0].uuid}", token=MEMBER).status_code == 204
    assert conductor.servers == []
