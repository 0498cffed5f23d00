"""Hypervisors: what hosts have, use and run."""

import json
from typing import Any

import pytest

from api.handlers.hosts import hypervisor
from objects.hosts.compute_node import ComputeNode
from tests import builders
from tests.fixtures.http_api import Api
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient

PATH = "/v2.1/os-hypervisors"


@pytest.fixture
def node(conductor: SuperConductor) -> ComputeNode:
    node = builders.a_compute_node("host1")
    conductor.nodes = [node]
    conductor.services = [builders.a_service("host1")]
    return node


def usage(total: int, used: int, reserved: int = 0) -> dict[str, float]:
    return {
        "total": total, "reserved": reserved, "allocation_ratio": 1.5, "used": used,
        "capacity": (total - reserved) * 1.5,
    }  # fmt: skip


def test_the_short_list_says_which_are_in_use(
    node: ComputeNode, api: Api, conductor: SuperConductor
) -> None:
    """Their state is that of their service."""
    shown = {"id": node.uuid, "hypervisor_hostname": node.node}
    assert api.get(PATH).json == {"hypervisors": [{**shown, "state": "up", "status": "enabled"}]}
    conductor.services = [builders.a_service("host1", up=False, disabled=True)]
    assert api.get(PATH).json == {"hypervisors": [{**shown, "state": "down", "status": "disabled"}]}


def test_sizes_are_those_of_placement(
    node: ComputeNode, api: Api, conductor: SuperConductor
) -> None:
    """It knows the claims in flight."""
    conductor.usages = {
        node.uuid: {
            "VCPU": usage(8, 12),
            "MEMORY_MB": usage(16384, 4096, reserved=512),
            "DISK_GB": usage(100, 30),
        }
    }
    (shown,) = api.get(f"{PATH}/detail").json["hypervisors"]
    assert (shown["vcpus"], shown["vcpus_used"]) == (8, 12)
    assert (shown["memory_mb"], shown["memory_mb_used"], shown["free_ram_mb"]) == (
        16384, 4096, 11776,
    )  # fmt: skip
    assert (shown["local_gb"], shown["local_gb_used"], shown["free_disk_gb"]) == (100, 30, 70)
    assert shown["armillary:usages"]["VCPU"]["allocation_ratio"] == 1.5


def test_without_placement_they_are_the_hosts_own(node: ComputeNode, api: Api) -> None:
    """As it reported them."""
    (shown,) = api.get(f"{PATH}/detail").json["hypervisors"]
    assert (shown["vcpus"], shown["vcpus_used"]) == (8, 4)
    assert (shown["memory_mb_used"], shown["free_ram_mb"]) == (8192, 8192)
    assert (shown["local_gb_used"], shown["free_disk_gb"]) == (50, 50)
    assert shown["cpu_info"] == {"arch": "x86_64"}
    assert shown["service"]["host"] == "host1"


def test_a_host_that_reported_nothing_is_shown(api: Api, conductor: SuperConductor) -> None:
    """With defaults, and without a service."""
    conductor.nodes = [builders.a_compute_node("host1", attributes={})]
    (shown,) = api.get(f"{PATH}/detail").json["hypervisors"]
    assert (shown["vcpus"], shown["host_ip"], shown["cpu_info"]) == (0, "0.0.0.0", {})
    assert shown["service"] == {"id": None, "host": "host1", "disabled_reason": None}
    assert shown["armillary:isolation"] == {}


@pytest.mark.parametrize(
    "odd",
    [
        {"cpu_info": "[" * 100_000}, {"cpu_info": '{"mhz": NaN}'}, {"cpu_info": 5},
        {"booted_at": "yesterday"}, {"vcpus_total": "8"},
        {"free_ram_mb": None}, {"disk_mb_used": []}, {"isolation": 5}, {"num_instances": 0.5},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("path", ["/detail", "/statistics"])
def test_a_host_that_reports_nonsense_hides_no_other(
    odd: dict[str, Any], path: str, api: Api, conductor: SuperConductor
) -> None:
    """As a stolen key of a cell's conductor could, of one of its hosts."""
    conductor.nodes = [
        builders.a_compute_node("host1", attributes=odd), builders.a_compute_node("host2"),
    ]  # fmt: skip
    version = {"OpenStack-API-Version": "compute 2.87"} if path == "/statistics" else None
    answer = api.send("GET", f"{PATH}{path}", headers=version)
    assert answer.status_code == 200
    json.loads(answer.text, parse_constant=pytest.fail)


def test_it_is_shown_what_keeps_workloads_apart(api: Api, conductor: SuperConductor) -> None:
    """With what the kernel refused, so that an operator sees it for all hosts."""
    isolation = {"user": "root, as configured", "network": "host, as the kernel refuses others"}
    node = builders.a_compute_node("host1", attributes={"isolation": isolation})
    conductor.nodes = [node]
    assert api.get(f"{PATH}/{node.uuid}").json["hypervisor"]["armillary:isolation"] == isolation


@pytest.mark.parametrize("by", ["uuid", "node"])
def test_one_is_shown_with_its_servers(
    by: str, node: ComputeNode, api: Api, conductor: SuperConductor
) -> None:
    """By UUID or name."""
    conductor.servers = [builders.an_instance("web", host="host1")]
    conductor.usages = {node.uuid: {"VCPU": usage(8, 1)}}
    path = f"{PATH}/{getattr(node, by)}"
    assert "servers" not in api.get(path).json["hypervisor"]
    shown = api.get(path, with_servers="true").json["hypervisor"]
    assert shown["servers"] == [{"uuid": conductor.servers[0].uuid, "name": "web"}]
    assert (shown["running_vms"], shown["vcpus_used"]) == (1, 1)


@pytest.mark.parametrize("path", ["", "/detail"])
def test_servers_of_all_nodes_take_few_calls(
    path: str, api: Api, conductor: SuperConductor, client: SuperConductorClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Each node has its own, also of a host with several, until its claim there both."""
    monkeypatch.setattr(hypervisor, "HOSTS_OF_CALL_MAX", 2)
    hosts = ("host1", "host2", "host2", "host3")
    conductor.nodes = [
        builders.a_compute_node(host, node=f"node{number}") for number, host in enumerate(hosts)
    ]
    conductor.servers = [
        builders.an_instance("web", host="host1", node="node0"),
        builders.an_instance("db", host="host2", node="node1"),
        builders.an_instance("new", host="host2", node=None),
        builders.an_instance("far", host="host9", node="node9"),
    ]
    listed = api.get(f"{PATH}{path}", with_servers="true").json["hypervisors"]
    names = [[server["name"] for server in one["servers"]] for one in listed]
    assert names == [["web"], ["db", "new"], ["new"], []]
    asked = [method for method, _context in client.calls]
    assert asked == ["list_compute_nodes", "list_servers_on_hosts", "list_servers_on_hosts"]


@pytest.mark.parametrize(("minor", "has_empty"), [(53, False), (74, False), (75, True)])
def test_one_without_servers_has_an_empty_list_since_2_75(
    minor: int, has_empty: bool, node: ComputeNode, api: Api, conductor: SuperConductor
) -> None:
    """If they are asked for; earlier versions leave it out."""
    conductor.servers = []
    headers = {"OpenStack-API-Version": f"compute 2.{minor}"}
    path = f"{PATH}/{node.uuid}?with_servers=true"
    shown = api.send("GET", path, headers=headers).json["hypervisor"]
    (listed,) = api.send("GET", f"{PATH}?with_servers=true", headers=headers).json["hypervisors"]
    assert [one.get("servers") for one in (shown, listed)] == [[] if has_empty else None] * 2


def test_early_versions_know_it_by_number(
    node: ComputeNode, api: Api, conductor: SuperConductor
) -> None:
    """Which leads to it again, also among several; its service has one, too."""
    conductor.nodes.append(builders.a_compute_node("host2"))
    listed, _other = api.send("GET", f"{PATH}/detail", headers={}).json["hypervisors"]
    assert isinstance(listed["service"]["id"], int)
    shown = api.send("GET", f"{PATH}/{listed['id']}", headers={}).json["hypervisor"]
    assert (shown["id"], shown["hypervisor_hostname"]) == (listed["id"], node.node)
    assert shown["cpu_info"] == '{"arch": "x86_64"}'


def test_an_unknown_one_is_not_there(api: Api) -> None:
    """404."""
    assert api.get(f"{PATH}/nothing").status_code == 404
    assert api.get(f"{PATH}/12345").status_code == 404


@pytest.mark.parametrize(
    ("minor", "wanted", "status"),
    [
        (52, "nothing", 404), (52, "12345", 404), (53, "nothing", 400), (87, "12345", 400),
        (87, "4b1f3f6c-8d1a-4c43-9a59-0e2d9b0f5c11", 404),
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["", "/uptime"])
def test_since_2_53_anything_but_a_uuid_is_a_mistake(
    minor: int, wanted: str, status: int, path: str, api: Api
) -> None:
    """As in the Compute API, unless it is the name of one."""
    headers = {"OpenStack-API-Version": f"compute 2.{minor}"}
    assert api.send("GET", f"{PATH}/{wanted}{path}", headers=headers).status_code == status


def test_hypervisors_are_listed_in_pages(api: Api, conductor: SuperConductor) -> None:
    """All or those with a name; cells that do not answer are named."""
    conductor.nodes = [builders.a_compute_node(f"host{n}") for n in range(3)]
    conductor.down_cells = ["cell7"]
    first = api.get(PATH, limit="2").json
    assert len(first["hypervisors"]) == 2
    assert f"marker={conductor.nodes[1].uuid}" in first["hypervisors_links"][0]["href"]
    assert first["armillary:down_cells"] == ["cell7"]
    (found,) = api.get(PATH, hypervisor_hostname_pattern="host2").json["hypervisors"]
    assert found["id"] == conductor.nodes[2].uuid
