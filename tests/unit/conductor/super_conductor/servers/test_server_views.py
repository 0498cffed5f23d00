"""Tests of showing servers wherever they are: each in exactly one place."""

import oslo_messaging
import pytest

from armillary import exception
from conductor.common.cell_db.actions import BUILD_EVENT, CLAIM_EVENT
from objects.cell_mapping import CELL0_UUID
from objects.instances.explanation import BuildAttempt
from objects.instances.instance_action import InstanceActionEvent
from tests import builders
from tests.fixtures.control_plane import ControlPlane, a_user, an_admin

NO_HOST = exception.NoValidHost(reason="2 of 2 hosts lack VCPU")
TIMEOUT = oslo_messaging.MessagingTimeout("no answer")


# One


def test_a_server_is_shown_from_its_build_request_first(plane: ControlPlane) -> None:
    """Before anybody worked on it."""
    (uuid,) = plane.create()
    assert plane.servers.get_server(a_user(), uuid).task_state == "scheduling"


def test_a_server_is_shown_from_its_cell_then(plane: ControlPlane) -> None:
    """As the cell has it."""
    (uuid,) = plane.build()
    assert plane.servers.get_server(a_user(), uuid).host == "cell1-host1"


def test_a_server_that_found_no_host_is_shown_from_cell0(plane: ControlPlane) -> None:
    """With its fault."""
    plane.scheduler.error = NO_HOST
    (uuid,) = plane.build()
    shown = plane.servers.get_server(a_user(), uuid)
    assert (shown.vm_state, shown.cell_uuid) == ("error", CELL0_UUID)
    assert shown.fault is not None


def test_an_unknown_server_is_not_found(plane: ControlPlane) -> None:
    """It never was."""
    with pytest.raises(exception.InstanceNotFound):
        plane.servers.get_server(a_user(), builders.a_uuid())


def test_the_server_of_another_project_is_not_found(plane: ControlPlane) -> None:
    """But by an administrator."""
    (uuid,) = plane.build()
    with pytest.raises(exception.InstanceNotFound):
        plane.servers.get_server(a_user("p2"), uuid)
    assert plane.servers.get_server(an_admin(), uuid).uuid == uuid


def test_a_server_in_a_silent_cell_cannot_be_shown(plane: ControlPlane) -> None:
    """That is not the same as unknown."""
    (uuid,) = plane.build()
    (cell,) = plane.cells.values()
    plane.bus_of(cell).fail("get_instance", TIMEOUT)
    with pytest.raises(exception.CellUnavailable, match="cell1"):
        plane.servers.get_server(a_user(), uuid)


# Why


def a_built_server(plane: ControlPlane) -> str:
    """Return a server whose first attempt failed, whose second host refused, whose third built."""
    (uuid,) = plane.build()
    (cell,) = plane.cells.values()
    events = [
        InstanceActionEvent.from_values(
            event=event, host=host, attempt=attempt, result=result, details="secret"
        )
        for event, host, attempt, result in (
            (BUILD_EVENT, "h1", 1, "Error"),
            (CLAIM_EVENT, "h2", 2, "Error"),
            (BUILD_EVENT, "h3", 2, "Success"),
        )
    ]
    cell.actions = [builders.an_action(uuid, events=events)]
    cell.faults = [
        builders.a_fault(uuid, attempt=1, host="h1", message="No space.", details="h1: full")
    ]
    return uuid


def test_an_explanation_has_every_attempt(plane: ControlPlane) -> None:
    """With host, result and reason; a refused claim does not count as an attempt but is told."""
    uuid = a_built_server(plane)
    explained = plane.servers.explain(an_admin(), uuid, with_hosts=True)
    assert explained.attempts == [
        BuildAttempt(1, "h1", "Error", "No space."),
        BuildAttempt(2, "h2", "Refused", "another request took the resources first"),
        BuildAttempt(2, "h3", "Success", None),
    ]
    assert explained.trace
    assert explained.trace["choices"][0]["host"] == "cell1-host1"
    assert [fault.details for fault in explained.faults] == ["h1: full"]


def test_an_explanation_names_no_host_to_a_user(plane: ControlPlane) -> None:
    """Nor details that are for administrators."""
    uuid = a_built_server(plane)
    explained = plane.servers.explain(a_user(), uuid, with_hosts=False)
    assert {attempt.host for attempt in explained.attempts} == {None}
    assert [(fault.host, fault.details) for fault in explained.faults] == [(None, None)]
    assert explained.instance.host is None
    assert explained.trace
    assert explained.trace["choices"][0]["host"] is None


def test_a_server_on_its_way_can_be_explained(plane: ControlPlane) -> None:
    """There is little to say yet."""
    (uuid,) = plane.create()
    explained = plane.servers.explain(a_user(), uuid, with_hosts=False)
    assert (explained.trace, explained.faults, explained.attempts) == (None, [], [])
    assert explained.wait is None


def test_a_server_whose_cell_does_not_answer_is_explained(plane: ControlPlane) -> None:
    """It waits for that cell: administrators read which one and why, until the cell has it."""
    (cell,) = plane.cells.values()
    plane.bus_of(cell).fail("build_instances", TIMEOUT)
    (uuid,) = plane.build()
    of_user = plane.servers.explain(a_user(), uuid, with_hosts=False).wait
    assert of_user
    assert "cell of its host does not answer" in of_user.message
    assert (of_user.cell, of_user.reason) == (None, None)
    of_administrator = plane.servers.explain(an_admin(), uuid, with_hosts=True).wait
    assert of_administrator
    assert of_administrator.cell == "cell1"
    assert "No answer to build_instances" in str(of_administrator.reason)
    plane.settle()
    assert plane.servers.explain(an_admin(), uuid, with_hosts=True).wait is None


def test_a_server_without_a_scheduler_is_explained(plane: ControlPlane) -> None:
    """No decision could be made: the last error says what did not answer."""
    plane.bus.fail("select_destinations", TIMEOUT)
    (uuid,) = plane.build()
    wait = plane.servers.explain(an_admin(), uuid, with_hosts=True).wait
    assert wait
    assert "No decision" in wait.message
    assert wait.cell is None
    assert "No answer to select_destinations" in str(wait.reason)
