"""A hard reboot takes the place of a reboot that the guest may never react to."""

import pytest

from armillary import exception
from armillary.context import RequestContext, admin_context
from conductor.common.cell_db import actions
from objects.instances.instance_action import InstanceAction
from objects.instances.operation_arguments import CellOperation
from tests.fixtures.cell.operated_cell import OperatedCell
from tests.fixtures.cell.operation_stories import STORIES, Stage


def reboot(cell: OperatedCell, context: RequestContext, *, is_hard: bool) -> None:
    """Do what begin_operation does; the agent does nothing yet."""
    stored = cell.operations.requests.store(
        context, cell.uuid, "reboot", CellOperation(is_hard=is_hard)
    )
    cell.operations.run(context, stored.leases)


def commands(cell: OperatedCell) -> list[bool]:
    """Return of each reboot that the agent has been told to do whether it is a hard one."""
    steps = [command.step for command in cell.agents["a"].commands]
    return [bool(step.arguments["is_hard"]) for step in steps if step is not None]


def told(cell: OperatedCell) -> list[InstanceAction]:
    """Return the reboots in the server's actions, newest first."""
    with cell.database.reader() as session:
        return [one for one in actions.list_of(session, cell.uuid) if one.action == "reboot"]


@pytest.mark.parametrize("is_first_hard", [False, True], ids=["soft", "hard"])
def test_a_hard_reboot_takes_the_place_of_a_running_one(
    stage: Stage, *, is_first_hard: bool
) -> None:
    """The late answer to the first is ignored; its action says why it failed."""
    cell = stage.set(STORIES["reboot"])
    reboot(cell, admin_context(), is_hard=is_first_hard)
    reboot(cell, admin_context(), is_hard=True)
    assert commands(cell) == [is_first_hard, True]
    assert cell.row(cell.uuid).task_state == "rebooting_hard"
    cell.agents["a"].step()
    assert cell.row(cell.uuid).task_state == "rebooting_hard"
    cell.settle()
    cell.check(cell.uuid, "active", "a")
    second, first = told(cell)
    assert (first.message, second.message) == (actions.FAILED, None)
    assert [event.details for event in first.events] == ["replaced by a new reboot"]
    assert [event.result for event in second.events] == [actions.SUCCESS]


def test_a_repeated_request_does_not_take_its_own_place(stage: Stage) -> None:
    """Its message arrived twice: the guest is rebooted once."""
    cell = stage.set(STORIES["reboot"])
    context = admin_context()
    reboot(cell, context, is_hard=True)
    reboot(cell, context, is_hard=True)
    assert commands(cell) == [True]
    cell.settle()
    assert len(told(cell)) == 1


@pytest.mark.parametrize(
    ("running", "is_hard"), [("reboot", False), ("stop", True), ("pause", True)]
)
def test_nothing_else_is_replaced(stage: Stage, running: str, *, is_hard: bool) -> None:
    """Neither by a soft reboot, nor is anything but a reboot replaced."""
    cell = stage.set(STORIES["reboot"])
    cell.operate(cell.uuid, running)
    with pytest.raises(exception.InstanceInvalidState):
        reboot(cell, admin_context(), is_hard=is_hard)
    assert cell.operation is not None
    assert cell.operation.operation == running
