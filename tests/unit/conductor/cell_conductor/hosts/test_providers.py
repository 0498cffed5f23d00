"""Providers: what placement should know, and the trying until it does."""

import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.cell_conductor.hosts.providers import digest
from tests.fixtures.cell import Cell, a_node, node_uuid
from tests.fixtures.messages.direct_bus import Killed

AWAY = exception.DatabaseUnavailable(name="placement", reason="it restarts")


def test_the_digest_tells_inventories_traits_and_status_apart() -> None:
    """Each of the three is something that placement should know; the order of traits is not."""
    plain = digest({"VCPU": {"total": 1}}, ["A", "B"], disabled=False)
    assert plain == digest({"VCPU": {"total": 1}}, ["B", "A"], disabled=False)
    others = {
        digest({"VCPU": {"total": 2}}, ["A", "B"], disabled=False),
        digest({"VCPU": {"total": 1}}, ["A"], disabled=False),
        digest({"VCPU": {"total": 1}}, ["A", "B"], disabled=True),
    }
    assert len(others - {plain}) == 3


def test_pending_nodes_are_tried_until_placement_took_them(cell: Cell) -> None:
    """Each look tries again; then there is nothing left to do."""
    cell.services.report("a", ["a"], {}, version=1)
    cell.top_bus.fail("set_providers", AWAY, times=3)
    cell.nodes.report_compute_nodes(admin_context(), "a", [a_node("a")])
    assert [cell.providers.confirm_pending() for _ in range(4)] == [1, 1, 1, 0]
    assert node_uuid("a") in cell.placement.providers


def test_an_answer_that_was_lost_is_asked_for_again(cell: Cell) -> None:
    """Placement did it, the answer was lost: doing it twice is fine."""
    cell.services.report("a", ["a"], {}, version=1)
    cell.top_bus.fail("set_providers", AWAY, when_done=True)
    cell.nodes.report_compute_nodes(admin_context(), "a", [a_node("a")])
    assert cell.providers.confirm_pending() == 1
    assert cell.providers.confirm_pending() == 0


def test_nodes_are_told_in_batches(cell: Cell) -> None:
    """A message has a bound."""
    hosts = [f"h{number}" for number in range(450)]
    cell.services.report("many", hosts, {}, version=1)
    cell.nodes.report_compute_nodes(admin_context(), "many", [a_node(host) for host in hosts])
    assert [len(uuids) for uuids in cell.placement.set_calls] == [200, 200, 50]


def test_pending_nodes_of_a_disabled_host_are_told_so(cell: Cell) -> None:
    """The trait is part of every report, from any conductor."""
    cell.conf.set_override("enable_new_services", False)
    cell.services.report("a", ["a"], {}, version=1)
    cell.top_bus.fail("set_providers", AWAY)
    cell.nodes.report_compute_nodes(admin_context(), "a", [a_node("a")])
    cell.providers.confirm_pending()
    assert "COMPUTE_STATUS_DISABLED" in cell.placement.providers[node_uuid("a")]["traits"]


def test_a_change_while_placement_is_asked_stays_pending(cell: Cell) -> None:
    """What is confirmed is what was told, not what has been stored meanwhile."""
    cell.services.report("a", ["a"], {}, version=1)

    def change() -> None:
        cell.top_bus.fail("set_providers", AWAY)
        cell.nodes.report_compute_nodes(
            admin_context(), "a", [a_node("a", traits=["HW_CPU_X86_AVX"])]
        )

    cell.top_bus.meanwhile("set_providers", change, when_done=True)
    cell.nodes.report_compute_nodes(admin_context(), "a", [a_node("a")])
    assert cell.providers.confirm_pending() == 1
    assert cell.placement.providers[node_uuid("a")]["traits"] == ["HW_CPU_X86_AVX"]


def test_a_host_that_returns_to_its_former_state_is_told_after_a_kill(cell: Cell) -> None:
    """Placement took the new state, and the conductor died before it stored that."""
    cell.services.report("a", ["a"], {}, version=1)
    cell.nodes.report_compute_nodes(admin_context(), "a", [a_node("a")])

    def die() -> None:
        raise Killed

    cell.top_bus.meanwhile("set_providers", die, when_done=True)
    with pytest.raises(Killed):
        cell.nodes.report_compute_nodes(
            admin_context(), "a", [a_node("a", traits=["HW_CPU_X86_AVX"])]
        )
    cell.nodes.report_compute_nodes(admin_context(), "a", [a_node("a")])
    assert "HW_CPU_X86_AVX" not in cell.placement.providers[node_uuid("a")]["traits"]
