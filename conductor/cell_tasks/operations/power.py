"""Start, stop, reboot, soft delete and restore: one order to the host of the instance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conductor.cell_tasks.operations.flow import (
    DONE,
    UNDONE,
    AgentStage,
    Answer,
    Facts,
    Flow,
    Side,
    take_nothing,
)
from conductor.cell_tasks.operations.rows import Rows
from objects.instance_order import Verb

RUNNING = "running"
SHUTDOWN = "shutdown"


def take_power_state(rows: Rows, answer: Answer) -> None:
    """Store what the host says of the guest."""
    rows.instance.power_state = answer.get("power_state")
    rows.instance.exit_code = answer.get("exit_code")


def rest_by_power(rows: Rows) -> None:
    """Leave an instance active or stopped, as its guest is."""
    is_on = rows.instance.power_state == RUNNING
    rows.instance.vm_state = "active" if is_on else "stopped"


def as_it_was(rows: Rows) -> None:
    """Leave the state that the instance had before."""
    rows.instance.vm_state = rows.facts["was"]


def _take_reboot(rows: Rows, arguments: Mapping[str, Any]) -> None:
    is_hard = bool(arguments.get("is_hard"))
    rows.note(is_hard=is_hard)
    if is_hard:
        rows.instance.task_state = "rebooting_hard"


def _how_to_reboot(facts: Facts) -> dict[str, Any]:
    return {"is_hard": facts["is_hard"]}


def _soft_deleted(rows: Rows) -> None:
    rows.instance.vm_state = "soft-delete"


_POWER_OFF = AgentStage(
    Verb.POWER_OFF, Side.HERE, then=DONE, failed=UNDONE, down=UNDONE, done=take_power_state
)
_POWER_ON = AgentStage(
    Verb.POWER_ON, Side.HERE, then=DONE, failed=UNDONE, down=UNDONE, done=take_power_state
)

STOP = Flow(
    "stop",
    task_state="powering-off",
    vm_states=("active", "error"),
    first="power_off",
    stages={"power_off": _POWER_OFF},
    begin=take_nothing,
    end=rest_by_power,
    undo=as_it_was,
)
START = Flow(
    "start",
    task_state="powering-on",
    vm_states=("stopped",),
    first="power_on",
    stages={"power_on": _POWER_ON},
    begin=take_nothing,
    end=rest_by_power,
    undo=as_it_was,
)
REBOOT = Flow(
    "reboot",
    task_state="rebooting",
    vm_states=("active", "stopped"),
    first="reboot",
    stages={
        "reboot": AgentStage(
            Verb.REBOOT,
            Side.HERE,
            then=DONE,
            failed=UNDONE,
            down=UNDONE,
            arguments=_how_to_reboot,
            done=take_power_state,
        )
    },
    begin=_take_reboot,
    end=rest_by_power,
    undo=as_it_was,
)
SOFT_DELETE = Flow(
    "soft_delete",
    task_state="soft-deleting",
    vm_states=("active", "stopped", "error"),
    first="power_off",
    stages={"power_off": _POWER_OFF},
    begin=take_nothing,
    end=_soft_deleted,
    undo=as_it_was,
)
RESTORE = Flow(
    "restore",
    task_state="restoring",
    vm_states=("soft-delete",),
    first="power_on",
    stages={"power_on": _POWER_ON},
    begin=take_nothing,
    end=rest_by_power,
    undo=as_it_was,
)
