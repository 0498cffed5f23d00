"""Soft delete and restore: keep a deleted server on its host, off, until it is reclaimed.

A resize that waits to be confirmed is confirmed first. A shelved server is off already; restored,
it is unshelved. An offloaded one has no host, and is offloaded again when it is restored. If the
host is down, its guest is turned off once the host is back: ``PeriodicOperations`` begins the soft
delete again for that.
"""

from conductor.cell_conductor.operations import resize, shelve
from conductor.cell_conductor.operations.flow import (
    DONE,
    UNDONE,
    AgentStage,
    Flow,
    OwnStage,
    OwnWork,
    Side,
)
from conductor.cell_conductor.operations.power import (
    restore_state,
    set_state_by_power,
    take_power_state,
)
from conductor.cell_conductor.operations.rows import Rows
from conductor.common.cell_db.flow_states import FlowState
from objects.instances.instance_command import Verb
from objects.instances.operation_arguments import CellOperation

CHOOSE = "choose"
POWER_OFF = "power_off"
POWER_ON = "power_on"
RESIZED = "resized"
SHELVED = "shelved"
OFFLOADED = "shelved_offloaded"
SOFT_DELETED = "soft-delete"


def _choose(work: OwnWork) -> str:
    """Return the first stage, by the state that the server is deleted in."""
    by_state = {RESIZED: resize.ROUTE, SHELVED: DONE, OFFLOADED: DONE}
    return by_state.get(work.instance.vm_state, POWER_OFF)


def _begin(rows: Rows, arguments: CellOperation) -> None:
    if rows.instance.vm_state == RESIZED:
        resize.begin_confirm(rows, arguments)


def _confirmed(rows: Rows, _following: str) -> None:
    resize.record_confirmed(rows)


def _soft_deleted(rows: Rows) -> None:
    rows.instance.vm_state = SOFT_DELETED


def _undo(rows: Rows) -> None:
    """Leave the server as it was; its resize, if there was one, is confirmed."""
    if FlowState.of(rows.operation).was == RESIZED:
        set_state_by_power(rows)
    else:
        restore_state(rows)


SOFT_DELETE = Flow(
    "soft_delete",
    task_state="soft-deleting",
    vm_states=(
        "active", "stopped", "paused", "suspended", "rescued", RESIZED, SHELVED, OFFLOADED, "error",
        SOFT_DELETED,
    ),
    first=CHOOSE,
    stages={
        CHOOSE: OwnStage(_choose, leads_to=(resize.ROUTE, POWER_OFF, DONE)),
        **resize.confirm_stages(then=POWER_OFF, done=_confirmed),
        POWER_OFF: AgentStage(
            Verb.POWER_OFF, Side.HERE, then=DONE, undo=UNDONE, down=DONE, done=take_power_state
        ),
    },
    begin=_begin,
    end=_soft_deleted,
    undo=_undo,
    needs=None,
)  # fmt: skip


def _choose_restore(work: OwnWork) -> str:
    return DONE if work.instance.host is None else POWER_ON


def _restored(rows: Rows) -> None:
    if rows.instance.host is None:
        rows.instance.vm_state = OFFLOADED
    else:
        shelve.end_unshelved(rows)


RESTORE = Flow(
    "restore",
    task_state="restoring",
    vm_states=(SOFT_DELETED,),
    first=CHOOSE,
    stages={
        CHOOSE: OwnStage(_choose_restore, leads_to=(POWER_ON, DONE)),
        POWER_ON: AgentStage(
            Verb.POWER_ON, Side.HERE, then=shelve.FORGET, undo=UNDONE, done=take_power_state
        ),
        shelve.FORGET: shelve.FORGET_IMAGE,
    },
    begin=lambda _rows, _arguments: None,
    end=_restored,
    undo=restore_state,
)
