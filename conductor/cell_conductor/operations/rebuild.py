"""Rebuild operation: recreate the guest on its host, from the same image or another one."""

import dataclasses

from conductor.cell_conductor.operations.flow import DONE, UNDONE, AgentStage, Arguments, Flow, Side
from conductor.cell_conductor.operations.power import RUNNING, set_state_by_power, take_power_state
from conductor.cell_conductor.operations.rows import Rows
from conductor.common.cell_db import instance_changes, models
from conductor.common.cell_db.flow_states import Rebuild
from conductor.common.cell_db.stored_object import StoredObject
from objects.instances.instance_command import Verb
from objects.instances.operation_arguments import CellOperation

REBUILD_GUEST = "rebuild_guest"


def _begin(rows: Rows, arguments: CellOperation) -> None:
    """Give the instance its new image, name, metadata and settings."""
    instance = rows.instance
    state = Rebuild.of(rows.operation)
    is_on = instance.power_state == RUNNING or state.was == "error"
    dataclasses.replace(state, is_on=is_on).store(rows.operation)
    if arguments.image is not None:
        instance.image = StoredObject.of(arguments.image)
    if arguments.changes is not None:
        instance_changes.apply(instance, arguments.changes, now=rows.now)


def _arguments(operation: models.InstanceOperation) -> Arguments:
    return Arguments(is_on=Rebuild.of(operation).is_on)


def _failed(rows: Rows) -> None:
    """Record that the old guest is gone and there is no new one."""
    rows.instance.vm_state = "error"
    rows.instance.power_state = None


REBUILD = Flow(
    "rebuild",
    task_state="rebuilding",
    vm_states=("active", "stopped", "error"),
    first=REBUILD_GUEST,
    stages={
        REBUILD_GUEST: AgentStage(
            Verb.REBUILD, Side.HERE, then=DONE, undo=UNDONE, is_awaited=True,
            arguments=_arguments, done=take_power_state,
        )
    },
    begin=_begin,
    end=set_state_by_power,
    undo=_failed,
)  # fmt: skip
