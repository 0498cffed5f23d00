"""Hosts on the command line."""

import pytest

from objects.hosts.compute_node import ComputeNode
from tests import builders
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor


@pytest.fixture
def node(conductor: BuildingSuperConductor) -> ComputeNode:
    """Have two hosts; return the node of the first."""
    for host in ("host1", "host2"):
        conductor.services.append(builders.a_service(host))
        conductor.nodes.append(builders.a_compute_node(host, traits=["CUSTOM_A", "CUSTOM_B"]))
    node = conductor.nodes[0]
    amounts = {"total": 8, "reserved": 1, "allocation_ratio": 4.0, "used": 6, "capacity": 28}
    conductor.usages[node.uuid] = {"VCPU": amounts}
    return node


def test_hosts_are_listed_with_what_is_used(armillary: Armillary, node: ComputeNode) -> None:
    """Of the capacity, with overcommit: both numbers in one cell for people, apart for programs."""
    rows = armillary("host", "list", "-f", "json").json
    assert [row["Host"] for row in rows] == ["host1", "host2"]
    assert rows[0]["VCPUs"] == {"used": 6, "total": 28}
    assert rows[0]["State"] == "up"
    assert "6 of 28" in armillary("host", "list").out


def test_hosts_can_be_sorted_by_what_is_used(armillary: Armillary, node: ComputeNode) -> None:
    """Four vCPUs of the second host are used, six of the first."""
    words = ("host", "list", "--sort-column", "VCPUs", "-f", "value", "-c", "Host")
    assert armillary(*words).out.split() == ["host2", "host1"]


@pytest.mark.parametrize("name", ["host", "node", "uuid"])
def test_a_host_is_shown_by_any_of_its_names(
    name: str, armillary: Armillary, conductor: BuildingSuperConductor, node: ComputeNode
) -> None:
    """Host, hypervisor and id name the same."""
    server = builders.an_instance("web", host="host1")
    conductor.servers.append(server)
    shown = armillary("host", "show", getattr(node, name), "-f", "json").json
    assert shown["host"] == "host1"
    assert shown["id"] == node.uuid
    assert shown["resources"] == {"VCPU": "6 of 28 ((total 8 - reserved 1) x 4)"}
    assert shown["traits"] == ["CUSTOM_A", "CUSTOM_B"]
    assert shown["servers"] == {server.uuid: "web"}


def test_an_unknown_host_is_exit_code_3(armillary: Armillary, node: ComputeNode) -> None:
    """As for everything that is named."""
    assert armillary("host", "show", "host3").code == 3


def test_members_may_not_look(armillary: Armillary, node: ComputeNode) -> None:
    """The API's refusal is passed on."""
    ended = armillary("host", "list", token="u1:p1")
    assert ended.code == 1
    assert "HTTP 403" in ended.err
