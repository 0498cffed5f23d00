"""A rebuild that its host did not survive is done by the evacuation of the server."""

import pytest

from armillary import exception
from conductor.common.cell_db import actions
from objects.instances.instance_action import InstanceAction
from objects.instances.server_changes import ServerChanges
from tests.builders import an_image
from tests.fixtures.cell.operated_cell import OperatedCell
from tests.fixtures.cell.operation_stories import STORIES, Stage, Story

IMAGE = an_image("new")
CHANGES = ServerChanges(name="new", settings={"admin_password": "secret"})


def waiting(stage: Stage, story: Story) -> OperatedCell:
    """Return a cell with a server that is to be rebuilt on a host that is down."""
    cell = stage.set(story)
    cell.operate(cell.uuid, "rebuild", image=IMAGE, changes=CHANGES)
    cell.lose("a")
    cell.recover()
    assert cell.row(cell.uuid).task_state == "rebuilding"
    return cell


def play(cell: OperatedCell, story: Story) -> None:
    for act in story.acts():
        act(cell)


def told(cell: OperatedCell, name: str) -> InstanceAction:
    """Return the newest action of this name."""
    with cell.database.reader() as session:
        return next(one for one in actions.list_of(session, cell.uuid) if one.action == name)


def has_password(cell: OperatedCell) -> bool:
    settings = cell.row(cell.uuid).settings
    return settings is not None and settings.load().admin_password is not None


def test_the_server_has_its_new_image_elsewhere(stage: Stage) -> None:
    """Its new host builds it from the image, whatever is left of its disks."""
    story = STORIES["evacuate"]
    cell = waiting(stage, story)
    play(cell, story)
    while not (commands := cell.agents["b"].commands) or commands[0].step.verb != "spawn":  # type: ignore[union-attr]
        cell.step()
    step = commands[0].step
    assert step is not None
    assert (step.arguments["former_host"], step.arguments["is_rebuilt"]) == ("a", True)
    cell.settle()
    story.check(cell)
    image = cell.row(cell.uuid).image
    assert image is not None
    assert (image.load().id, cell.row(cell.uuid).name, has_password(cell)) == (
        IMAGE.id, "new", False,
    )  # fmt: skip
    rebuild = told(cell, "rebuild")
    assert (rebuild.message, rebuild.finish_time is None) == (None, False)
    assert [one.details for one in rebuild.events] == ["interrupted by a new evacuate"]


def test_an_evacuation_of_another_server_says_nothing_of_a_rebuild(stage: Stage) -> None:
    story = STORIES["evacuate"]
    cell = stage.set(story)
    play(cell, story)
    while not (commands := cell.agents["b"].commands) or commands[0].step.verb != "spawn":  # type: ignore[union-attr]
        cell.step()
    assert commands[0].step is not None
    assert "is_rebuilt" not in commands[0].step.arguments
    cell.settle()


def test_the_rebuild_waits_for_its_host_if_no_other_one_takes_the_server(stage: Stage) -> None:
    """It is done once the host is back, or at the next evacuation."""
    story = STORIES["evacuate-nowhere"]
    cell = waiting(stage, story)
    play(cell, story)
    cell.outlast()
    row = cell.row(cell.uuid)
    assert (row.vm_state, row.task_state, row.host) == ("active", "rebuilding", "a")
    assert told(cell, "evacuate").message == actions.FAILED
    assert told(cell, "rebuild").finish_time is None
    assert has_password(cell)
    cell.find("a")
    cell.check(cell.uuid, "active", "a")
    image = cell.row(cell.uuid).image
    assert image is not None
    assert (image.load().id, has_password(cell)) == (IMAGE.id, False)
    rebuild = told(cell, "rebuild")
    assert (rebuild.message, rebuild.finish_time is None) == (None, False)


def test_other_operations_are_not_interrupted(stage: Stage) -> None:
    story = STORIES["evacuate"]
    cell = stage.set(story)
    cell.operate(cell.uuid, "stop")
    with pytest.raises(exception.InstanceInvalidState, match="powering-off"):
        cell.operate(cell.uuid, "evacuate", migration_uuid=cell.uuid, migration_type="evacuation")
