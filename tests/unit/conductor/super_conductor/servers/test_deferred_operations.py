"""Tests of operations that are accepted while a cell is silent, and done when it is back."""

from typing import Any

import oslo_messaging
import pytest

from armillary import exception
from armillary.context import RequestContext
from conductor.super_conductor.db import deferred_operations
from conductor.super_conductor.servers.deferred_operations import FAILURES_MAX, TASK_STATES
from objects.fields import TASK_STATES as KNOWN_STATES
from objects.instances.operation_arguments import OperationArguments
from objects.instances.server_changes import ServerChanges
from tests.fixtures.control_plane import ControlPlane, a_user, an_admin
from tests.fixtures.super_conductor.fake_cell_conductor import CellConductor
from tests.unit.conductor.super_conductor.move.moves import an_instance


@pytest.fixture
def cell(plane: ControlPlane) -> CellConductor:
    """Return the one cell."""
    plane.add_flavor("large", vcpus=4, memory_mb=2048)
    plane.add_image("loop")
    plane.map_hosts()
    (cell,) = plane.cells.values()
    return cell


@pytest.fixture
def uuid(plane: ControlPlane, cell: CellConductor) -> str:
    """Have an active server in it."""
    (uuid,) = plane.build()
    return uuid


def silence(plane: ControlPlane, cell: CellConductor, *, times: int = 1) -> None:
    """Have the cell not answer the next requests for an instance."""
    for _ in range(times):
        plane.bus_of(cell).fail("get_instance", oslo_messaging.MessagingTimeout("no answer"))


def ask(
    plane: ControlPlane,
    uuid: str,
    operation: str,
    context: RequestContext | None = None,
    **arguments: Any,
) -> None:
    plane.endpoint.operate_server(
        context or a_user(), uuid, operation, OperationArguments(**arguments)
    )


def deferred(plane: ControlPlane, uuid: str) -> str | None:
    found = plane.database.read(deferred_operations.find, uuid)
    return None if found is None else found.operation


def test_task_states_are_known() -> None:
    """Each is one that servers can show."""
    assert {state for state in TASK_STATES.values() if state} <= set(KNOWN_STATES)


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("stop", {}), ("reboot", {"is_hard": True}), ("resize", {"flavor": "large"}),
        ("rescue", {"image": "loop"}), ("rebuild", {"image": "loop"}), ("soft_delete", {}),
    ],
)  # fmt: skip
def test_it_is_done_when_the_cell_is_back(
    plane: ControlPlane, cell: CellConductor, uuid: str, operation: str, arguments: dict[str, Any]
) -> None:
    """As if it had been requested then, once."""
    silence(plane, cell)
    ask(plane, uuid, operation, **arguments)
    assert (deferred(plane, uuid), cell.begun) == (operation, [])
    plane.settle()
    assert [one[:2] for one in cell.begun] == [(uuid, operation)]
    assert cell.begun[0][2].get("is_hard") == arguments.get("is_hard")
    assert deferred(plane, uuid) is None


def test_changes_are_made_when_the_cell_is_back(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """Name, metadata and tags, as they were given."""
    silence(plane, cell)
    changes = ServerChanges(name="db", metadata={"tier": "gold", "old": None}, tags_added=["a"])
    ask(plane, uuid, "update", changes=changes)
    assert cell.instances[uuid].name == "web"
    plane.settle()
    found = cell.instances[uuid]
    assert (found.name, found.metadata) == ("db", {"tier": "gold"})
    assert found.settings is not None
    assert found.settings.tags == ["a"]


def test_an_offloaded_server_is_unshelved_when_the_cell_is_back(
    plane: ControlPlane, cell: CellConductor
) -> None:
    """On a host that is found then."""
    uuid = an_instance(plane, "unshelve")
    silence(plane, cell)
    ask(plane, uuid, "unshelve")
    plane.settle()
    assert cell.instances[uuid].vm_state == "active"


@pytest.mark.parametrize(
    ("operation", "arguments", "error"),
    [
        ("rebuild", {"image": "none such"}, exception.ImageNotFound),
        ("resize", {"flavor": "none such"}, exception.FlavorNotFound),
    ],
    ids=["image", "flavor"],
)
def test_what_does_not_exist_is_refused_immediately(
    plane: ControlPlane, cell: CellConductor, uuid: str,
    operation: str, arguments: dict[str, Any], error: type[Exception],
) -> None:  # fmt: skip
    """It is not stored, to be refused when the cell is back."""
    silence(plane, cell)
    with pytest.raises(error):
        ask(plane, uuid, operation, **arguments)
    assert deferred(plane, uuid) is None


@pytest.mark.parametrize("operation", ["migrate", "live_migrate", "evacuate", "reset_state"])
def test_what_depends_on_the_present_host_is_refused_with_what_to_do(
    plane: ControlPlane, cell: CellConductor, uuid: str, operation: str
) -> None:
    """Another host may be the right one by the time the cell is back."""
    silence(plane, cell)
    with pytest.raises(exception.CellUnavailable, match="not kept for later: ask again when"):
        ask(plane, uuid, operation, an_admin())
    assert deferred(plane, uuid) is None


def test_a_delete_is_done_when_the_cell_is_back(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """It takes the place of what waited before."""
    silence(plane, cell)
    ask(plane, uuid, "stop")
    ask(plane, uuid, "delete")
    assert deferred(plane, uuid) == "delete"
    plane.settle()
    assert (cell.instances, cell.begun) == ({}, [])


def test_a_delete_of_a_locked_server_is_refused_with_a_reason(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """Whether it is locked is known only when its cell answers."""
    cell.instances[uuid] = cell.instances[uuid].with_values(locked=True)
    silence(plane, cell)
    ask(plane, uuid, "delete")
    plane.settle()
    assert uuid in cell.instances
    ((where, operation, reason),) = cell.refused
    assert (where, operation) == (uuid, "delete")
    assert "locked" in reason


def test_an_administrators_delete_of_a_locked_server_is_done(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """As it is while the cell answers."""
    cell.instances[uuid] = cell.instances[uuid].with_values(locked=True)
    silence(plane, cell)
    ask(plane, uuid, "delete", an_admin())
    plane.settle()
    assert cell.instances == {}


def test_what_the_cell_refuses_is_recorded(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """The user was told that it is accepted, and finds the reason in the server's actions."""
    silence(plane, cell)
    ask(plane, uuid, "start")
    cell.refusal = exception.InstanceInvalidState(
        instance_uuid=uuid, operation="start", reason="it is active"
    )
    plane.settle()
    assert cell.refused == [(uuid, "start", cell.refusal.message)]


def test_a_cell_that_stays_silent_is_asked_again(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """Nothing is forgotten, however long that takes; others in the cell are not tried as well."""
    other, *_ = plane.build()
    silence(plane, cell, times=3)
    ask(plane, uuid, "stop")
    ask(plane, other, "stop")
    plane.clock.advance(60)
    plane.recover()
    assert [deferred(plane, one) for one in (uuid, other)] == ["stop", "stop"]
    plane.settle()
    assert sorted(one[0] for one in cell.begun) == sorted([uuid, other])


def test_one_that_fails_unexpectedly_each_time_is_refused_in_the_end(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """An accepted operation ends, done or with a reason, and blocks no other for ever."""
    silence(plane, cell)
    ask(plane, uuid, "stop")
    for _ in range(FAILURES_MAX - 1):
        plane.bus_of(cell).fail("begin_operation", RuntimeError("broken"))
        plane.clock.advance(60)
        plane.recover()
    assert (deferred(plane, uuid), cell.refused) == ("stop", [])
    plane.bus_of(cell).fail("begin_operation", RuntimeError("broken"))
    plane.clock.advance(60)
    plane.recover()
    assert deferred(plane, uuid) is None
    ((where, operation, reason),) = cell.refused
    assert (where, operation) == (uuid, "stop")
    assert "internal error" in reason
    ask(plane, uuid, "reboot")


def test_what_waits_is_shown_as_the_task(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """While the cell is silent, and until it is done afterwards."""
    silence(plane, cell, times=2)
    ask(plane, uuid, "stop")
    unknown = plane.endpoint.get_server(a_user(), uuid, for_display=True)
    assert (unknown.vm_state, unknown.task_state) == ("unknown", "powering-off")
    known = plane.endpoint.get_server(a_user(), uuid, for_display=True)
    assert (known.vm_state, known.task_state) == ("active", "powering-off")


def test_another_operation_is_refused_meanwhile(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """As while one is under way; a repeat of the same request is not."""
    silence(plane, cell)
    context = a_user()
    ask(plane, uuid, "stop", context)
    ask(plane, uuid, "stop", context)
    with pytest.raises(exception.InstanceInvalidState, match="waits until its cell or zone"):
        ask(plane, uuid, "reboot", RequestContext(request_id="req-2", project_id="p1"))


def test_of_two_that_are_deferred_together_the_second_is_refused(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """Both waited for the silent cell; the first was accepted, and must not get lost."""
    first, second = a_user(), RequestContext(request_id="req-2", project_id="p1")
    plane.deferred.accept(first, uuid, "stop", OperationArguments(), reason="silent")
    plane.deferred.accept(first, uuid, "stop", OperationArguments(), reason="silent")
    with pytest.raises(exception.InstanceInvalidState, match="its stop waits"):
        plane.deferred.accept(second, uuid, "reboot", OperationArguments(), reason="silent")
    assert deferred(plane, uuid) == "stop"
    plane.deferred.accept(second, uuid, "delete", OperationArguments(), reason="silent")
    assert deferred(plane, uuid) == "delete"


def test_a_silent_cell_is_not_waited_for_again(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """One that did not answer the last time would cost each request its time limit."""
    other, *_ = plane.build()
    silence(plane, cell)
    with pytest.raises(exception.CellUnavailable):
        plane.endpoint.get_server(a_user(), uuid)
    ask(plane, other, "stop")
    assert deferred(plane, other) == "stop"


def test_what_needs_an_answer_is_not_accepted(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """An evacuation needs to know the host; nothing is stored."""
    silence(plane, cell)
    with pytest.raises(exception.CellUnavailable):
        ask(plane, uuid, "evacuate", an_admin())
    assert deferred(plane, uuid) is None


def test_a_resize_whose_begin_was_not_answered_is_accepted(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """It is stored as a move and resumed as such, once."""
    plane.bus_of(cell).fail("begin_operation", oslo_messaging.MessagingTimeout("no answer"))
    ask(plane, uuid, "resize", flavor="large")
    assert deferred(plane, uuid) is None
    plane.settle()
    assert [one[1] for one in cell.begun] == ["resize"]
    assert cell.instances[uuid].flavor.name == "large"


# Soft deletes of busy servers

KEPT_SECONDS = 1_000_000


@pytest.fixture
def busy(plane: ControlPlane, cell: CellConductor, uuid: str) -> str:
    """Have a server that is being rebooted deleted by its user, while deletes are soft."""
    plane.conf.set_override("reclaim_instance_interval", KEPT_SECONDS)
    cell.refusal = exception.InstanceInvalidState(
        instance_uuid=uuid, operation="soft_delete", reason="it is rebooting"
    )
    cell.instances[uuid] = cell.instances[uuid].with_values(task_state="rebooting")
    plane.endpoint.delete_server(a_user(), uuid)
    return uuid


def test_a_busy_server_is_soft_deleted_when_it_is_idle(
    plane: ControlPlane, cell: CellConductor, busy: str
) -> None:
    """It is never deleted immediately instead; a repeated delete changes nothing."""
    plane.recover()
    plane.endpoint.delete_server(a_user(), busy)
    plane.recover()
    assert (deferred(plane, busy), cell.begun, busy in cell.instances) == ("soft_delete", [], True)
    cell.refusal = None
    cell.instances[busy] = cell.instances[busy].with_values(task_state=None)
    plane.settle()
    assert [one[:2] for one in cell.begun] == [(busy, "soft_delete")]
    assert deferred(plane, busy) is None


def test_a_deferred_delete_of_a_server_that_is_busy_by_then_is_soft(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """The delete waited for the cell; then it waits until the server is idle."""
    plane.conf.set_override("reclaim_instance_interval", KEPT_SECONDS)
    silence(plane, cell)
    ask(plane, uuid, "delete")
    cell.refusal = exception.InstanceInvalidState(
        instance_uuid=uuid, operation="soft_delete", reason="it is rebooting"
    )
    cell.instances[uuid] = cell.instances[uuid].with_values(task_state="rebooting")
    plane.recover()
    assert (deferred(plane, uuid), cell.refused, uuid in cell.instances) == (
        "soft_delete", [], True,
    )  # fmt: skip


def test_a_server_that_stays_busy_is_deleted_when_its_time_is_up(
    plane: ControlPlane, cell: CellConductor, busy: str
) -> None:
    """It would not have been kept for longer."""
    plane.clock.advance(KEPT_SECONDS)
    plane.settle()
    assert deferred(plane, busy) is None
    assert busy not in cell.instances


def test_a_busy_server_is_deleted_by_force_immediately(
    plane: ControlPlane, cell: CellConductor, busy: str
) -> None:
    """Its soft delete is forgotten."""
    ask(plane, busy, "force_delete")
    plane.settle()
    assert deferred(plane, busy) is None
    assert cell.begun == []
