"""Compute nodes: stored when they changed, refused when they are another agent's."""

from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.common.cell_db import compute_nodes
from objects.hosts.compute_node import ComputeNode
from objects.hosts.host_answers import NodeReportResult
from tests.fixtures.cell import CELL_UUID, Cell, a_node, counted_statements, node_uuid

AWAY = exception.DatabaseUnavailable(name="placement", reason="it restarts")


def report(cell: Cell, agent: str, *nodes: ComputeNode) -> list[NodeReportResult]:
    return cell.nodes.report_compute_nodes(admin_context(), agent, nodes)


def stored(cell: Cell) -> list[ComputeNode]:
    return cell.database.read(compute_nodes.list_all, cell_uuid=CELL_UUID)


def test_a_reported_node_is_stored_and_told_to_placement(cell: Cell) -> None:
    """The provider has the node's UUID and name; the answer has the ratios as they stand there."""
    cell.services.report("agent", ["a"], {}, version=1)
    [result] = report(cell, "agent", a_node("a", node="a.example.org"))
    assert result == NodeReportResult(node_uuid("a"), allocation_ratios={"VCPU": 4.0})
    [node] = stored(cell)
    assert (node.host, node.node, node.cell_uuid) == ("a", "a.example.org", CELL_UUID)
    assert cell.placement.providers[node_uuid("a")]["name"] == "a.example.org"


def test_the_same_report_again_writes_nothing(cell: Cell) -> None:
    """No transaction, no number, no call to placement; the ratios are remembered."""
    cell.add_agent("a")
    cell.breaker.kill_at(-1)
    before = cell.updates.get(0).last_seq
    [result] = report(cell, "a", a_node("a"))
    assert cell.breaker.names == []
    assert cell.updates.get(0).last_seq == before
    assert result.allocation_ratios == {"VCPU": 4.0}


def test_a_changed_attribute_is_a_change_for_schedulers_not_for_placement(cell: Cell) -> None:
    """Only that host's row has a new number."""
    cell.add_agent("a")
    cell.add_agent("b")
    before = cell.updates.get(0).last_seq
    report(cell, "a", a_node("a", attributes={"free_ram_mb": 5}))
    batch = cell.updates.get(before)
    assert (batch.hosts, batch.attributes["free_ram_mb"]) == (["a"], [5])
    assert cell.placement.set_calls == [[node_uuid("a")], [node_uuid("b")]]


def test_changed_traits_are_told_to_placement(cell: Cell) -> None:
    """They are named as the agent's own, with the service's, so that they can go again."""
    cell.add_agent("a")
    report(cell, "a", a_node("a", traits=["COMPUTE_NODE", "CUSTOM_GOLD"]))
    provider = cell.placement.providers[node_uuid("a")]
    assert provider["traits"] == ["COMPUTE_NODE", "CUSTOM_GOLD"]
    assert provider["managed_traits"] == ["COMPUTE_NODE", "COMPUTE_STATUS_DISABLED", "CUSTOM_GOLD"]


def test_placement_is_told_again_after_a_while(cell: Cell) -> None:
    """So ratios that an operator changed there come back to the agent."""
    cell.add_agent("a")
    cell.placement.ratios["VCPU"] = 2.0
    cell.pass_time(301)
    [result] = report(cell, "a", a_node("a"))
    assert result.allocation_ratios == {"VCPU": 2.0}


def test_an_agent_s_first_report_is_told_to_placement_even_if_nothing_changed(cell: Cell) -> None:
    """An operator may have changed or deleted the provider while the agent was down."""
    cell.add_agent("a")
    cell.add_agent("b")
    cell.placement.providers[node_uuid("a")]["traits"] = []
    nodes = [a_node("a"), a_node("b")]
    told = [node_uuid("a")]
    cell.nodes.report_compute_nodes(admin_context(), "a", nodes[:1], reshape=told)
    assert cell.placement.providers[node_uuid("a")]["traits"] == nodes[0].traits
    assert cell.placement.set_calls[-1] == told


def test_while_placement_is_away_the_node_is_stored_and_the_error_told(cell: Cell) -> None:
    """The periodic task brings placement after it."""
    cell.services.report("a", ["a"], {}, version=1)
    cell.top_bus.fail("set_providers", AWAY)
    [result] = report(cell, "a", a_node("a"))
    assert "placement does not answer" in str(result.error)
    assert [node.host for node in stored(cell)] == ["a"]
    assert cell.providers.confirm_pending() == 1
    assert node_uuid("a") in cell.placement.providers


def test_what_placement_refuses_is_told_for_its_node_alone(cell: Cell) -> None:
    """The other nodes of the report are confirmed."""
    cell.services.report("agent", ["a", "b"], {}, version=1)
    cell.placement.refused_providers[node_uuid("a")] = "VCPU: max_unit is 0"
    results = report(cell, "agent", a_node("a"), a_node("b"))
    assert [result.error for result in results] == ["VCPU: max_unit is 0", None]


def test_a_host_that_never_reported_cannot_have_nodes(cell: Cell) -> None:
    """Its service record comes first: it says who may speak for the host."""
    [result] = report(cell, "agent", a_node("a"))
    assert "no service record" in str(result.error)
    assert stored(cell) == []


def test_a_node_of_another_agent_s_host_is_refused(cell: Cell) -> None:
    """The error names both; the agent's own nodes of the same report are stored."""
    cell.add_agent("a")
    cell.services.report("b", ["b"], {}, version=1)
    bad, good = report(cell, "b", a_node("a", attributes={"free_ram_mb": 1}), a_node("b"))
    assert "host a belongs to agent a, b cannot report it" in str(bad.error)
    assert good.error is None
    assert cell.updates.get(0).attributes["free_ram_mb"] == [0, 0]


def test_a_uuid_of_another_host_is_refused(cell: Cell) -> None:
    """Two machines with one identity, a copied disk image: the first keeps it."""
    cell.add_agent("a")
    cell.services.report("b", ["b"], {}, version=1)
    [result] = report(cell, "b", a_node("b", uuid=node_uuid("a")))
    assert f"{node_uuid('a')} belongs to host a, not to b" in str(result.error)
    assert [node.host for node in stored(cell)] == ["a"]


def test_a_node_that_lost_its_identity_is_refused(cell: Cell) -> None:
    """The same host and name under another UUID: its allocations are the old one's."""
    cell.add_agent("a")
    [result] = report(cell, "a", a_node("a", uuid=node_uuid("other")))
    assert "restore its identity" in str(result.error)


def test_the_same_node_twice_in_a_report_is_refused_the_second_time(cell: Cell) -> None:
    """Of two nodes of one name only the first can be meant."""
    cell.services.report("a", ["a"], {}, version=1)
    first, second = report(cell, "a", a_node("a"), a_node("a", uuid=node_uuid("other")))
    assert first.error is None
    assert "is known as" in str(second.error)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("free_ram_mb", "lots"),
        ("free_ram_mb", True),
        ("free_ram_mb", 2**63),
        ("cpu_allocation_ratio", float("inf")),
        ("hypervisor_type", 5),
    ],
    ids=["text-for-int", "bool-for-int", "int-too-large", "infinite", "int-for-text"],
)
def test_an_attribute_of_the_wrong_kind_is_refused(cell: Cell, name: str, value: Any) -> None:
    """It would break the schedulers' columns for all hosts."""
    cell.services.report("a", ["a"], {}, version=1)
    [result] = report(cell, "a", a_node("a", attributes={name: value}))
    assert name in str(result.error)
    assert stored(cell) == []


def test_attributes_that_the_cell_works_out_cannot_be_reported(cell: Cell) -> None:
    """Nor can undeclared ones."""
    cell.add_agent("a")
    cell.silence("a")
    cell.services.watch()
    report(cell, "a", a_node("a", attributes={"service_up": True, "nonsense": 1}))
    batch = cell.updates.get(0)
    assert batch.attributes["service_up"] == [False]
    assert "nonsense" not in batch.attributes


def test_a_report_of_five_hundred_nodes_takes_as_many_statements_as_one_of_ten(cell: Cell) -> None:
    """Bulk inserts and updates: one agent may carry hundreds of hosts."""
    counts = []
    for agent, number in (("few", 10), ("many", 500)):
        hosts = [f"{agent}-{index}" for index in range(number)]
        cell.services.report(agent, hosts, {}, version=1)
        cell.conf.set_override("provider_refresh_seconds", 1000.0, group="cell")
        for free in (1, 2):
            nodes = [a_node(host, attributes={"free_ram_mb": free}) for host in hosts]
            with counted_statements(cell.database) as statements:
                report(cell, agent, *nodes)
        counts.append(len(statements))
    assert counts[0] == counts[1] < 16
