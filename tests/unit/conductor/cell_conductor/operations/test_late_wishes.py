"""A wish that comes again when it was fulfilled is late: nothing is done once more."""

import dataclasses
from typing import Any

import pytest

from armillary import exception
from armillary.context import RequestContext, admin_context
from conductor.cell_conductor.operations.flows import FLOWS
from conductor.common.cell_db import actions, faults, instances, operations
from objects.instances.operation_arguments import CellOperation
from tests.fixtures.cell.operated_cell import OperatedCell
from tests.fixtures.cell.operation_stories import MOVE, STORIES, Stage

LIVE = {"migration_uuid": MOVE, "migration_type": "live-migration"}


def ask(cell: OperatedCell, context: RequestContext, operation: str, **arguments: Any) -> None:
    """Do what begin_operation does, and what follows."""
    stored = cell.operations.requests.store(
        context, cell.uuid, operation, CellOperation(**arguments)
    )
    cell.operations.run(context, stored.leases)
    cell.settle()


def test_a_stop_that_comes_again_does_not_stop_what_was_started_since(stage: Stage) -> None:
    """Its answer was lost, and the caller asked again: it was accepted, and is."""
    cell = stage.set(STORIES["stop"])
    context = admin_context()
    ask(cell, context, "stop")
    ask(cell, admin_context(), "start")
    ask(cell, context, "stop")
    assert cell.row(cell.uuid).vm_state == "active"


def test_a_wish_that_comes_again_while_it_is_carried_out_is_accepted_again(stage: Stage) -> None:
    """Another one is refused, as the server is busy."""
    cell = stage.set(STORIES["stop"])
    context, requests = admin_context(), cell.operations.requests
    first = requests.store(context, cell.uuid, "stop", CellOperation())
    again = requests.store(context, cell.uuid, "stop", CellOperation())
    assert (again.fence, again.leases) == (first.fence, [])
    with pytest.raises(exception.InstanceInvalidState):
        requests.store(admin_context(), cell.uuid, "stop", CellOperation())
    cell.operations.run(context, first.leases)
    cell.settle()
    assert cell.row(cell.uuid).vm_state == "stopped"


def test_an_unshelve_that_comes_again_does_not_begin_for_ever(stage: Stage) -> None:
    """No conductor looks for hosts a second time, so it would wait without an end."""
    cell = stage.set(STORIES["unshelve"])
    context = admin_context()
    ask(cell, context, "unshelve", migration_uuid=MOVE)
    cell.schedule(cell.uuid, MOVE, "b")
    cell.settle()
    for again in ("shelve", "shelve_offload"):
        ask(cell, admin_context(), again)
    with pytest.raises(exception.InstanceInvalidState, match="for it has ended"):
        ask(cell, context, "unshelve", migration_uuid=MOVE)
    assert cell.operation is None


def test_a_move_that_was_refused_and_comes_again_is_taken_back(stage: Stage) -> None:
    """The caller was refused, so no conductor seeks hosts; the server must not wait for ever."""
    cell = stage.set(STORIES["live"])
    context = admin_context()
    cell.operate(cell.uuid, "reboot")
    with pytest.raises(exception.InstanceInvalidState, match="it is rebooting"):
        ask(cell, context, "live_migrate", **LIVE)
    cell.top.forgotten.add(MOVE)
    cell.settle()
    ask(cell, context, "live_migrate", **LIVE)
    cell.recover()
    cell.settle()
    assert cell.operation is None
    cell.check(cell.uuid, "active", "a")


def test_a_refusal_after_the_acceptance_is_in_the_actions(stage: Stage) -> None:
    """Once, with its reason; a request that has begun the operation is not recorded again."""
    cell = stage.set(STORIES["stop"])
    refused, begun = RequestContext(request_id="req-late"), admin_context()
    for _ in range(2):
        cell.operations.requests.record_refusal(refused, cell.uuid, "stop", "it is locked")
    ask(cell, begun, "stop")
    cell.operations.requests.record_refusal(begun, cell.uuid, "stop", "it is off")
    with cell.database.reader() as session:
        found = {one.request_id: one for one in actions.list_of(session, cell.uuid)}
    late = found["req-late"]
    assert (late.action, late.message) == ("stop", "Error")
    assert [(one.result, one.details) for one in late.events] == [("Error", "it is locked")]
    assert found[begun.request_id].message is None


def test_abandoned_work_goes_on_as_its_own_request(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Log lines and messages of a resumed operation name the request that asked for it."""
    cell = stage.set(STORIES["stop"])
    asked = RequestContext(request_id="req-own", is_admin=True, roles=["admin"])
    cell.operations.requests.store(asked, cell.uuid, "stop", CellOperation())
    seen: list[str | None] = []
    monkeypatch.setattr(
        cell.operations, "run", lambda context, _leases: seen.append(context.request_id)
    )
    cell.recover()
    assert seen == ["req-own"]


def test_a_move_is_waited_for_as_long_as_hosts_are_sought(stage: Stage) -> None:
    """However often it is asked after."""
    cell = stage.set(STORIES["live"])
    cell.operate(cell.uuid, "live_migrate", **LIVE)
    cell.recover()
    cell.top_bus.fail("list_moves", exception.RpcTimeout(
        method="list_moves", topic="conductor", timeout_seconds=1
    ))  # fmt: skip
    cell.recover()
    assert cell.operation is not None
    assert cell.operation.stage == "schedule"
    cell.schedule(cell.uuid, MOVE, "b")
    cell.settle()
    assert cell.operation is None
    assert cell.row(cell.uuid).host == "b"


def test_an_operation_that_ends_in_error_tells_its_step(stage: Stage) -> None:
    """Also when no host told a reason."""
    cell = stage.set(STORIES["stop"])
    cell.operations.requests.store(admin_context(), cell.uuid, "stop", CellOperation())
    fails = dataclasses.replace(
        FLOWS["stop"], end=lambda rows: setattr(rows.instance, "vm_state", "error")
    )
    transitions = cell.operations.answers._transitions
    with cell.database.writer() as session:
        instance, row = instances.lock(session, cell.uuid), operations.lock(session, cell.uuid)
        assert instance is not None
        assert row is not None
        transitions._finish(transitions.rows(session, instance, row), fails, is_done=True)
    (fault,) = cell.database.read(faults.list_of, cell.uuid)
    assert fault.message == "The stop failed."
    assert "ended at its step power_off" in str(fault.details)
