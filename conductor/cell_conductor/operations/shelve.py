"""Shelve, offload and unshelve: keep a server without its guest, and later without a host.

A shelved server's disk is stored as an image, which its user sees until the server is unshelved.

What a driver keeps of a guest is either complete, or refers to files of the host. Offloading would
lose these, so the guest is built again from that image. If it could not be stored, the server is
shelved without it, and stays on its host.
"""

from __future__ import annotations

import dataclasses

from conductor.cell_conductor.operations import move_stages, shelved_images
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
from conductor.common.cell_db.instances import OFFLOAD_FAILED
from objects.allocations.fence import FenceStep
from objects.instances.instance_command import CommandAnswer, Verb
from objects.instances.operation_arguments import CellOperation

DETACH = "detach"
DROP = "drop"
FREE = "free"
POWER_ON = "power_on"
CLAIM = "claim"
ROUTE = "route"
ATTACH = "attach"
SPAWN = "spawn"
FORGET = "forget_image"
DROP_TRIED = "drop_tried"


def _detached(rows: Rows, answer: CommandAnswer) -> None:
    rows.instance.migration_payload = dict(answer.migration_payload or {})
    rows.instance.power_state = "shutdown"


def _route_shelve(work: OwnWork) -> str:
    settings = work.instance.settings
    boots_from_volume = settings is not None and settings.load().root_volume is not None
    return DONE if boots_from_volume else shelved_images.CREATE


def _shelved(rows: Rows) -> None:
    rows.instance.vm_state = "shelved"


SHELVE = Flow(
    "shelve",
    task_state="shelving",
    vm_states=("active", "stopped", "paused", "suspended"),
    first=DETACH,
    stages={
        DETACH: AgentStage(Verb.DETACH, Side.HERE, then=ROUTE, undo=UNDONE, done=_detached),
        ROUTE: OwnStage(_route_shelve, leads_to=(shelved_images.CREATE, DONE)),
        **shelved_images.stages(stored=DONE, failed=DONE),
    },
    begin=shelved_images.choose_id,
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


def _route_offload(work: OwnWork) -> str:
    """Store the disk, if only the host has it; an image that was deleted is made again."""
    payload = work.instance.migration_payload
    if not shelved_images.needs_source(payload) or shelved_images.is_there(work, payload):
        return DROP
    return shelved_images.CREATE


def _note_route(rows: Rows, following: str) -> None:
    if following == shelved_images.CREATE:
        shelved_images.drop_missing(rows)


def _offloaded(rows: Rows) -> None:
    rows.instance.vm_state = "shelved_offloaded"
    rows.instance.power_state = None
    rows.place(None, None)


def _stays_shelved(rows: Rows) -> None:
    """Leave the server on its host; if its disk cannot be stored, until a user asks again."""
    restore_state(rows)
    payload = rows.instance.migration_payload or {}
    if shelved_images.is_needed(payload):
        rows.instance.migration_payload = {**payload, OFFLOAD_FAILED: True}


SHELVE_OFFLOAD = Flow(
    "shelve_offload",
    task_state="shelving_offloading",
    vm_states=("shelved",),
    first=ROUTE,
    stages={
        ROUTE: OwnStage(_route_offload, leads_to=(shelved_images.CREATE, DROP), done=_note_route),
        **shelved_images.stages(stored=DROP, failed=UNDONE),
        DROP: AgentStage(Verb.DROP, Side.HERE, then=FREE, undo=UNDONE, down=FREE),
        FREE: _freeing(FenceStep.FREE, DONE),
    },
    begin=shelved_images.choose_id,
    end=_offloaded,
    undo=_stays_shelved,
    needs=None,
)


# Unshelve -----------------------------------------------------------------------------------------


def _route_unshelve(work: OwnWork) -> str:
    payload = ColdMove.of(work.operation).migration_payload
    has_image = shelved_images.find(payload) is not None
    return SPAWN if has_image and shelved_images.needs_source(payload) else ATTACH


def _spawn_arguments(operation: models.InstanceOperation) -> Arguments:
    image = shelved_images.find(ColdMove.of(operation).migration_payload)
    return Arguments(is_on=True, image=image)


def _forget(work: OwnWork) -> str:
    """Delete the image: the guest has its disk again."""
    shelved_images.forget(work, work.instance.migration_payload)
    return DONE


FORGET_IMAGE = OwnStage(_forget, leads_to=(DONE,))


def end_unshelved(rows: Rows) -> None:
    """Record that the guest is no longer kept: it runs, or is off."""
    set_state_by_power(rows)
    rows.instance.migration_payload = None


UNSHELVE_HERE = Flow(
    "unshelve_here",
    task_state="unshelving",
    vm_states=("shelved",),
    first=POWER_ON,
    stages={
        POWER_ON: AgentStage(
            Verb.KEEP, Side.HERE, then=FORGET, undo=UNDONE,
            arguments=lambda _operation: Arguments(is_on=True), done=take_power_state,
        ),
        FORGET: FORGET_IMAGE,
    },
    begin=ignore_arguments,
    end=end_unshelved,
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
    payload = ColdMove.of(operation).migration_payload
    return Arguments(is_on=True, migration_payload=shelved_images.for_driver(payload))


UNSHELVE = Flow(
    "unshelve",
    task_state="unshelving",
    vm_states=("shelved_offloaded",),
    first=move_stages.SCHEDULE,
    stages={
        move_stages.SCHEDULE: move_stages.schedule(then=move_stages.SECURE),
        move_stages.SECURE: move_stages.secure(ready=CLAIM),
        CLAIM: AgentStage(
            Verb.CLAIM, Side.DESTINATION, then=ROUTE, undo=DROP_TRIED,
            needs_spec=True, on_enter=_choose,
        ),
        ROUTE: OwnStage(_route_unshelve, leads_to=(ATTACH, SPAWN)),
        ATTACH: AgentStage(
            Verb.ATTACH, Side.DESTINATION, then=FORGET, undo=DROP_TRIED,
            arguments=_attach_arguments, on_enter=_arrive, done=take_power_state,
        ),
        SPAWN: AgentStage(
            Verb.SPAWN, Side.DESTINATION, then=FORGET, undo=DROP_TRIED,
            arguments=_spawn_arguments, on_enter=_arrive, done=take_power_state,
        ),
        FORGET: FORGET_IMAGE,
        DROP_TRIED: AgentStage(
            Verb.DROP, Side.DESTINATION, then=move_stages.NEXT, given_up=move_stages.NEXT,
            down=move_stages.NEXT, on_enter=_leave,
        ),
        move_stages.NEXT: move_stages.next_host(ready=CLAIM),
        move_stages.GIVE_BACK: _freeing(FenceStep.GIVE_BACK, UNDONE),
    },
    begin=_begin_unshelve,
    end=end_unshelved,
    undo=restore_state,
    needs=None,
)  # fmt: skip
