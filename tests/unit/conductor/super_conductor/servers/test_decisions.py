"""Tests of telling what was decided about a server, its create and each of its moves."""

from typing import Any

import pytest

from armillary import exception
from armillary.context import RequestContext
from conductor.super_conductor.delete.retention import Retention
from objects.traces.decision_trace import DecisionTrace
from tests.fixtures.control_plane import PROJECT, ControlPlane, a_user, an_admin
from tests.fixtures.super_conductor.fake_cell_conductor import CellConductor

OPERATIONS = {
    "resize": "resize",
    "migrate": "migrate",
    "live_migrate": "live-migration",
    "evacuate": "evacuate",
    "unshelve": "unshelve",
}
LACKING = "2 of 2 hosts lack VCPU"


@pytest.fixture
def cell(plane: ControlPlane) -> CellConductor:
    """Return the one cell, whose hosts are mapped; there is a flavor to resize to."""
    plane.add_flavor("large", vcpus=4, memory_mb=2048)
    plane.map_hosts()
    (cell,) = plane.cells.values()
    return cell


def a_server(plane: ControlPlane, cell: CellConductor, **values: Any) -> str:
    (uuid,) = plane.build()
    cell.instances[uuid] = cell.instances[uuid].with_values(host="cell1-host1", **values)
    return uuid


def asked(request_id: str) -> RequestContext:
    return RequestContext(
        user_id="a1", project_id=PROJECT, roles=["admin"], is_admin=True, request_id=request_id
    )


def move(plane: ControlPlane, uuid: str, operation: str, request_id: str = "req-move") -> None:
    """Move a server, some seconds after what was before."""
    plane.clock.advance(10)
    arguments = {"flavor": "large"} if operation == "resize" else {}
    plane.operate(uuid, operation, context=asked(request_id), **arguments)
    plane.workers.work()


def without_host(plane: ControlPlane) -> None:
    """Let the next decision be that nothing fits."""
    trace = DecisionTrace.from_values(hosts_total=2, sentence=LACKING)
    plane.scheduler.error = exception.NoValidHost(reason=LACKING, trace=trace.obj_to_primitive())


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_move_has_its_decision(
    plane: ControlPlane, cell: CellConductor, operation: str
) -> None:
    """With the word for it, who asked, when, and where it went; the create's stays."""
    uuid = a_server(plane, cell)
    cell.services[0] = cell.services[0].with_values(up=operation != "evacuate")
    if operation == "unshelve":
        state = {"vm_state": "shelved_offloaded", "host": None, "node": None}
        cell.instances[uuid] = cell.instances[uuid].with_values(**state)
        plane.placement.held.clear()
    move(plane, uuid, operation)
    host = cell.instances[uuid].host
    explained = plane.servers.explain(an_admin(), uuid, with_hosts=True)
    last, first = explained.decisions
    assert (last.operation, last.request_id) == (OPERATIONS[operation], "req-move")
    assert (last.host, last.sentence) == (host, None)
    assert (first.operation, first.host) == ("create", "cell1-host1")
    assert last.decided_at
    assert first.decided_at
    assert last.decided_at > first.decided_at
    assert explained.trace
    assert explained.trace["choices"][0]["host"] == host


def test_a_move_that_was_taken_back_explains_nothing(
    plane: ControlPlane, cell: CellConductor
) -> None:
    """The server is where its create, or an earlier move, has put it."""
    uuid = a_server(plane, cell)
    move(plane, uuid, "live_migrate", "req-1")
    there = cell.instances[uuid].host
    move(plane, uuid, "resize", "req-2")
    cell.instances[uuid] = cell.instances[uuid].with_values(host=there, task_state=None)
    explained = plane.servers.explain(an_admin(), uuid, with_hosts=True)
    assert explained.decision
    assert explained.trace
    assert (explained.decision.operation, explained.decision.host) == ("live-migration", there)
    assert explained.trace["choices"][0]["host"] == there


@pytest.mark.parametrize("operation", ["resize", "evacuate"])
def test_a_move_that_found_no_host_says_why(
    plane: ControlPlane, cell: CellConductor, operation: str
) -> None:
    """With the scheduler's whole trace."""
    uuid = a_server(plane, cell)
    cell.services[0] = cell.services[0].with_values(up=operation != "evacuate")
    without_host(plane)
    move(plane, uuid, operation)
    explained = plane.servers.explain(an_admin(), uuid, with_hosts=True)
    newest = explained.decisions[0]
    assert (newest.host, newest.sentence) == (None, LACKING)
    assert explained.trace
    assert (explained.trace["hosts_total"], explained.trace["sentence"]) == (2, LACKING)


def test_one_that_no_scheduler_could_decide_says_so(
    plane: ControlPlane, cell: CellConductor
) -> None:
    """The sentence is all there is."""
    uuid = a_server(plane, cell)
    plane.scheduler.error = exception.RequestFilterFailed(reason="the tenant has no hosts")
    move(plane, uuid, "migrate")
    trace = plane.servers.explain(an_admin(), uuid, with_hosts=True).trace
    assert trace
    assert "the tenant has no hosts" in trace["sentence"]
    assert trace["request_id"] == "req-move"


def test_each_decision_can_be_asked_for(plane: ControlPlane, cell: CellConductor) -> None:
    """By its request."""
    uuid = a_server(plane, cell)
    move(plane, uuid, "live_migrate", "req-1")
    there = cell.instances[uuid].host
    without_host(plane)
    move(plane, uuid, "live_migrate", "req-2")
    explained = plane.servers.explain(an_admin(), uuid, with_hosts=True, decision_of="req-1")
    assert [each.request_id for each in explained.decisions[:2]] == ["req-2", "req-1"]
    assert explained.trace
    assert explained.trace["choices"][0]["host"] == there
    last = plane.servers.explain(an_admin(), uuid, with_hosts=True, decision_of="req-2")
    assert last.trace
    assert last.trace["sentence"] == LACKING


def test_a_request_that_decided_nothing_is_not_found(
    plane: ControlPlane, cell: CellConductor
) -> None:
    """Whether it was mistyped or is forgotten."""
    uuid = a_server(plane, cell)
    with pytest.raises(exception.DecisionNotFound, match="req-typo"):
        plane.servers.explain(an_admin(), uuid, with_hosts=True, decision_of="req-typo")


def test_users_see_no_host_in_decisions(plane: ControlPlane, cell: CellConductor) -> None:
    """That of the create, too."""
    uuid = a_server(plane, cell)
    move(plane, uuid, "migrate")
    explained = plane.servers.explain(a_user(), uuid, with_hosts=False)
    assert [each.host for each in explained.decisions] == [None, None]
    assert explained.trace
    assert explained.trace["choices"][0]["host"] is None


def test_decisions_are_kept_as_long_as_others(plane: ControlPlane, cell: CellConductor) -> None:
    """[scheduler] trace_retention_hours, and [conductor] move_traces_max of a server."""
    plane.conf.set_override("trace_retention_hours", 72, group="scheduler")
    plane.conf.set_override("move_traces_max", 2, group="conductor")
    uuid = a_server(plane, cell)
    for number in range(3):
        move(plane, uuid, "live_migrate", f"req-{number}")
    kept = plane.servers.explain(an_admin(), uuid, with_hosts=True).decisions
    assert [each.request_id for each in kept[:-1]] == ["req-2", "req-1"]
    assert kept[-1].operation == "create"
    plane.clock.advance(72 * 3600)
    Retention(plane.conf, plane.database, plane.clock).run()
    explained = plane.servers.explain(an_admin(), uuid, with_hosts=True)
    assert (explained.decisions, explained.trace) == ([], None)
