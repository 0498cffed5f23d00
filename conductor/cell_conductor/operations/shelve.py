"""Shelve, offload and unshelve: keep a server without its guest, and later without a host."""

from __future__ import annotations

import dataclasses

from conductor.cell_conductor.operations import move_stages
from conductor.cell_conductor.operations.flow import (
    DONE,
    UNDONE,
    AgentStage,
    Arguments,
    Flow,
    OwnStage,
    OwnWork,
    Side,
    ignore_arguments,
)
from conductor.cell_conductor.operations.power import (
    restore_state,
    set_state_by_power,
    take_power_state,
)
from conductor.cell_conductor.operations.rows import Rows, fence
from conductor.common.cell_db import models
from conductor.common.cell_db.flow_states import ColdMove
from objects.fence import FenceStep
from objects.instances.instance_command import CommandAnswer, Verb
from objects.instances.operation_arguments import CellOperation

DETACH = "detach"
DROP = "drop"
FREE = "free"
POWER_ON = "power_on"
CLAIM = "claim"
ATTACH = "attach"
DROP_TRIED = "drop_tried"


def _detached(rows: Rows, answer: CommandAnswer) -> None:
    rows.instance.migration_payload = dict(answer.migration_payload or {})
    rows.instance.power_state = "shutdown"


def _shelved(rows: Rows) -> None:
    rows.instance.vm_state = "shelved"


SHELVE = Flow(
    "shelve",
    task_state="shelving",
    vm_states=("active", "stopped", "paused", "suspended"),
    first=DETACH,
    stages={DETACH: AgentStage(Verb.DETACH, Side.HERE, then=DONE, undo=UNDONE, done=_detached)},
    begin=ignore_arguments,
    end=_shelved,
    undo=restore_state,
)


# Offload ------------------------------------------------------------------------------------------


def _freeing(step: FenceStep, following: str) -> OwnStage:
    """Return the stage that releases the allocation, before the state says so.

    Specification: workflow, section 7.4.
    """

    def do(work: OwnWork) -> str:
        by = int(fence(work.operation).at(step))
        work.placement.release(work.context, {work.instance.uuid: by})
        return following

    return OwnStage(do, leads_to=(following,))


def _offloaded(rows: Rows) -> None:
    rows.instance.vm_state = "shelved_offloaded"
    rows.instance.power_state = None
    rows.place(None, None)


SHELVE_OFFLOAD = Flow(
    "shelve_offload",
    task_state="shelving_offloading",
    vm_states=("shelved",),
    first=DROP,
    stages={
        DROP: AgentStage(Verb.DROP, Side.HERE, then=FREE, undo=UNDONE, down=FREE),
        FREE: _freeing(FenceStep.FREE, DONE),
    },
    begin=ignore_arguments,
    end=_offloaded,
    undo=restore_state,
    needs=None,
)


# Unshelve -----------------------------------------------------------------------------------------


def _unshelved(rows: Rows) -> None:
    set_state_by_power(rows)
    rows.instance.migration_payload = None


UNSHELVE_HERE = Flow(
    "unshelve_here",
    task_state="unshelving",
    vm_states=("shelved",),
    first=POWER_ON,
    stages={
        POWER_ON: AgentStage(
            Verb.KEEP, Side.HERE, then=DONE, undo=UNDONE,
            arguments=lambda _operation: Arguments(is_on=True), done=take_power_state,
        )
    },
    begin=ignore_arguments,
    end=_unshelved,
    undo=restore_state,
)  # fmt: skip


def _begin_unshelve(rows: Rows, _arguments: CellOperation) -> None:
    dataclasses.replace(
        ColdMove.of(rows.operation),
        new_flavor=rows.instance.flavor,
        migration_payload=rows.instance.migration_payload or {},
    ).store(rows.operation)


def _choose(rows: Rows) -> None:
    move_stages.store_destination(rows)


def _arrive(rows: Rows) -> None:
    move_stages.go_to(rows, Side.DESTINATION)


def _leave(rows: Rows) -> None:
    rows.place(None, None)


def _attach_arguments(operation: models.InstanceOperation) -> Arguments:
    return Arguments(is_on=True, migration_payload=ColdMove.of(operation).migration_payload)


UNSHELVE = Flow(
    "unshelve",
    task_state="unshelving",
    vm_states=("shelved_offloaded",),
    first=move_stages.SCHEDULE,
    stages={
        move_stages.SCHEDULE: move_stages.schedule(then=move_stages.SECURE),
        move_stages.SECURE: move_stages.secure(ready=CLAIM),
        CLAIM: AgentStage(
            Verb.CLAIM, Side.DESTINATION, then=ATTACH, undo=DROP_TRIED,
            needs_spec=True, on_enter=_choose,
        ),
        ATTACH: AgentStage(
            Verb.ATTACH, Side.DESTINATION, then=DONE, undo=DROP_TRIED,
            arguments=_attach_arguments, on_enter=_arrive, done=take_power_state,
        ),
        DROP_TRIED: AgentStage(
            Verb.DROP, Side.DESTINATION, then=move_stages.NEXT, undo=move_stages.NEXT,
            on_enter=_leave,
        ),
        move_stages.NEXT: move_stages.next_host(ready=CLAIM),
        move_stages.GIVE_BACK: _freeing(FenceStep.GIVE_BACK, UNDONE),
    },
    begin=_begin_unshelve,
    end=_unshelved,
    undo=restore_state,
    needs=None,
)  # fmt: skip
