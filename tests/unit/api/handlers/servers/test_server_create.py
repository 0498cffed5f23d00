"""Requests for servers: what is accepted and what is refused."""

from typing import Any

import pytest
from falcon import testing
from oslo_config import cfg

from api.front import make_front
from armillary import exception
from tests import builders
from tests.fixtures.http_api import MEMBER, Api, message
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient
from tests.unit.api.handlers.servers.server_requests import NETWORK, PATH, ask, stock

__all__ = ["stock"]


def test_a_server_is_accepted_immediately(api: Api, conductor: SuperConductor) -> None:
    """Its id, where to find it, and the reservation."""
    answer = ask(api)
    (made,) = conductor.servers
    assert answer.status_code == 202
    assert answer.json["server"]["id"] == made.uuid
    assert answer.json["reservation_id"] == "r-made"
    assert answer.json["armillary:servers"] == [made.uuid]
    assert answer.headers["Location"].endswith(f"/v2.1/servers/{made.uuid}")


@pytest.mark.parametrize("path", ["/v2.1/os-volumes_boot", "/v2.1/p1/os-volumes_boot"])
def test_servers_with_devices_may_have_a_path_of_their_own(
    path: str, conf: cfg.ConfigOpts, conductor: SuperConductor, client: SuperConductorClient
) -> None:
    """Clients send them there, also where the endpoint has the project."""
    image = conductor.images[0].id
    device = {"source_type": "image", "uuid": image, "destination_type": "local", "boot_index": 0}
    server = {"name": "web", "flavorRef": "small", "imageRef": image}
    result = testing.TestClient(make_front(conf, conductor=client)).simulate_post(
        path,
        json={"server": {**server, "block_device_mapping_v2": [device]}},
        headers={"X-Auth-Token": MEMBER},
    )
    assert result.status_code == 202, result.text
    (made,) = conductor.servers
    assert result.headers["Location"].endswith(f"/v2.1/servers/{made.uuid}")


def test_a_server_is_accepted_as_terraform_sends_it(api: Api, conductor: SuperConductor) -> None:
    """With what its configuration leaves out: empty user data, no config drive."""
    flavor, image = conductor.flavors[0].flavorid, conductor.images[0].id
    server = {
        "name": "web", "imageRef": image, "flavorRef": flavor, "availability_zone": "north",
        "config_drive": False, "user_data": "", "security_groups": [{"name": "default"}],
        "metadata": {"role": "front"},
    }  # fmt: skip
    answer = api.send("POST", PATH, headers={}, json={"server": server})
    assert answer.status_code == 202, answer.text
    assert answer.json["server"]["id"] == conductor.servers[0].uuid


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
            "needs_root_disk": True,
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
            "needs_root_disk": False,
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
def test_a_node_that_is_not_there_is_refused_immediately(
    wanted: dict[str, str], field: str, api: Api, conductor: SuperConductor
) -> None:
    """Not by a server in ERROR."""
    conductor.nodes[0].uuid = builders.a_uuid_of("node1")
    refused = ask(api, token=None, **wanted)
    assert refused.status_code == 400
    assert field in message(refused)
    assert conductor.servers == []
