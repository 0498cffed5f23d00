"""Operations of one command to the instance's host: power, pause, suspend, rescue, rebuild."""

import dataclasses
from collections.abc import Callable
from typing import Any

from conductor.cell_conductor.operations.flow import (
    DONE,
    UNDONE,
    AgentStage,
    Arguments,
    Flow,
    Side,
    ignore_arguments,
    replaces_nothing,
)
from conductor.cell_conductor.operations.rows import Rows
from conductor.common.cell_db import instance_changes, models
from conductor.common.cell_db.flow_states import FlowState, Reboot, Rebuild, Rescue
from conductor.common.cell_db.stored_object import StoredObject
from objects.instances.instance_command import CommandAnswer, Verb
from objects.instances.instance_fault import GUEST_ASIDE, GUEST_KEPT
from objects.instances.operation_arguments import CellOperation
from objects.instances.power_states import STATES_BY_POWER
from objects.instances.server_changes import ServerChanges

RUNNING = "running"
SHUTDOWN = "shutdown"
_HARD_REBOOTED = ("active", "stopped", "paused", "suspended", "error")
_REBOOTING = ("rebooting", "rebooting_hard")


def take_power_state(rows: Rows, answer: CommandAnswer) -> None:
    """Store the guest's power state and exit code from an answer."""
    rows.instance.power_state = answer.power_state
    rows.instance.exit_code = answer.exit_code


def set_state_by_power(rows: Rows) -> None:
    """Set the state of the instance that the power state of its guest means."""
    power_state = rows.instance.power_state or SHUTDOWN
    rows.instance.vm_state = STATES_BY_POWER.get(power_state, "stopped")


def restore_state(rows: Rows) -> None:
    rows.instance.vm_state = FlowState.of(rows.operation).was


def restore_unless_ended(rows: Rows) -> None:
    """Restore the state of an instance whose guest went on meanwhile, and may have ended."""
    was_on = FlowState.of(rows.operation).was == "active"
    if was_on and rows.instance.power_state in ("shutdown", "crashed"):
        rows.instance.vm_state = "stopped"
    else:
        restore_state(rows)


def _take_reboot(rows: Rows, arguments: CellOperation) -> None:
    reboot = dataclasses.replace(Reboot.of(rows.operation), is_hard=arguments.is_hard)
    reboot.store(rows.operation)
    if not arguments.is_hard and reboot.was != "active":
        raise REBOOT.refusal(rows.instance, f"it is {reboot.was}; only a hard reboot is possible")
    if arguments.is_hard:
        rows.instance.task_state = "rebooting_hard"


def _replaces_reboot(instance: models.Instance, arguments: CellOperation) -> bool:
    """Return whether a hard reboot takes the place of one that the guest may not react to."""
    return bool(arguments.is_hard) and instance.task_state in _REBOOTING


def _reboot_arguments(operation: models.InstanceOperation) -> Arguments:
    return Arguments(is_hard=Reboot.of(operation).is_hard)


def _command(verb: Verb, **more: Any) -> AgentStage:
    return AgentStage(verb, Side.HERE, then=DONE, undo=UNDONE, done=take_power_state, **more)


def _flow(
    operation: str,
    task_state: str,
    vm_states: tuple[str, ...],
    command: AgentStage,
    *,
    begin: Callable[[Rows, CellOperation], None] = ignore_arguments,
    end: Callable[[Rows], None] = set_state_by_power,
    replaces: Callable[[models.Instance, CellOperation], bool] = replaces_nothing,
) -> Flow:
    """Return the flow of a single command, named after it."""
    return Flow(
        operation,
        task_state=task_state,
        vm_states=vm_states,
        first=command.verb.value,
        stages={command.verb.value: command},
        begin=begin,
        end=end,
        undo=restore_state,
        replaces=replaces,
    )


STOP = _flow("stop", "powering-off", ("active", "error"), _command(Verb.POWER_OFF))
START = _flow("start", "powering-on", ("stopped",), _command(Verb.POWER_ON))
REBOOT = _flow(
    "reboot",
    "rebooting",
    _HARD_REBOOTED,
    _command(Verb.REBOOT, arguments=_reboot_arguments),
    begin=_take_reboot,
    replaces=_replaces_reboot,
)

PAUSE = _flow("pause", "pausing", ("active",), _command(Verb.PAUSE))
UNPAUSE = _flow("unpause", "unpausing", ("paused",), _command(Verb.UNPAUSE))
SUSPEND = _flow("suspend", "suspending", ("active",), _command(Verb.SUSPEND))
RESUME = _flow("resume", "resuming", ("suspended",), _command(Verb.RESUME))


# Rescue -------------------------------------------------------------------------------------------


def _take_rescue_image(rows: Rows, arguments: CellOperation) -> None:
    image = None if arguments.image is None else StoredObject.of(arguments.image)
    dataclasses.replace(Rescue.of(rows.operation), image=image).store(rows.operation)


def _rescue_arguments(operation: models.InstanceOperation) -> Arguments:
    image = Rescue.of(operation).image
    return Arguments(image=None if image is None else image.primitive)


def _rescued(rows: Rows) -> None:
    rows.instance.vm_state = "rescued"


RESCUE = _flow(
    "rescue",
    "rescuing",
    ("active", "stopped", "error"),
    _command(Verb.RESCUE, arguments=_rescue_arguments),
    begin=_take_rescue_image,
    end=_rescued,
)
UNRESCUE = _flow("unrescue", "unrescuing", ("rescued",), _command(Verb.UNRESCUE))


# Rebuild ------------------------------------------------------------------------------------------

REBUILD_GUEST = "rebuild_guest"


def _take_changes(rows: Rows, arguments: CellOperation) -> None:
    """Give the instance its new image, name, metadata and settings."""
    instance = rows.instance
    state = Rebuild.of(rows.operation)
    changes = arguments.changes or ServerChanges()
    former = dataclasses.asdict(instance_changes.undoing(instance, changes))
    is_on = instance.power_state == RUNNING or state.was == "error"
    dataclasses.replace(state, is_on=is_on, former_image=instance.image, former=former).store(
        rows.operation
    )
    if arguments.image is not None:
        instance.image = StoredObject.of(arguments.image)
    if arguments.changes is not None:
        instance_changes.apply(instance, arguments.changes, now=rows.now)


def _rebuild_arguments(operation: models.InstanceOperation) -> Arguments:
    return Arguments(is_on=Rebuild.of(operation).is_on)


def _rebuilt(rows: Rows) -> None:
    set_state_by_power(rows)
    instance_changes.forget_password(rows.instance)


def _not_rebuilt(rows: Rows) -> None:
    """Record that there is no new guest, and whether the old one is gone."""
    instance_changes.forget_password(rows.instance)
    state = Rebuild.of(rows.operation)
    code = None if state.last_fault is None else state.last_fault.code
    if code in (GUEST_KEPT, GUEST_ASIDE):
        rows.instance.image = state.former_image
        instance_changes.apply(rows.instance, ServerChanges(**(state.former or {})), now=rows.now)
    if code == GUEST_KEPT:
        restore_unless_ended(rows)
        return
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
            arguments=_rebuild_arguments, done=take_power_state,
        )
    },
    begin=_take_changes,
    end=_rebuilt,
    undo=_not_rebuilt,
)  # fmt: skip
