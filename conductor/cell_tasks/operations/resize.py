"""Resize and cold migration, and what ends them: confirm and revert.

The guest is powered off at its source, taken over by the destination, and waits there to be
confirmed or reverted; until then the source keeps what it needs to start it again. On the same host
the guest changes in place, and keeps room for both until then.

A destination in another cell is told by that cell's conductor. When the guest runs there, that
cell gets the instance, and is the one to confirm or revert; here a hidden copy is left, which
becomes the instance again when that cell hands it back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from armillary import exception
from armillary.context import RequestContext
from conductor.cell_db import copies, migrations, models
from conductor.cell_tasks.operations import moving
from conductor.cell_tasks.operations.flow import (
    DONE,
    AgentStage,
    Answer,
    Facts,
    Flow,
    OwnStage,
    Parts,
    Side,
)
from conductor.cell_tasks.operations.other_cells import KEPT, cell_of
from conductor.cell_tasks.operations.power import RUNNING, rest_by_power, take_power_state
from conductor.cell_tasks.operations.rows import Rows, selection
from objects.instance_order import Verb
from objects.migration import MigrationStatus

ROUTE = "route"
PREPARE = "prepare"
DETACH = "detach"
ATTACH = "attach"
RESIZE_HERE = "resize_here"
DROP_TRIED = "drop_tried"
DROP_ATTACHED = "drop_attached"
KEEP = "keep_source"
KEEP_OFF = "keep_source_off"
DROP_SOURCE = "drop_source"
SETTLE = "settle"
UNDO_HERE = "undo_here"
UNDO_HERE_OFF = "undo_here_off"
HAND_OVER = "hand_over"
HAND_BACK = "hand_back"
FORGET = "forget"
HANDED_OVER = frozenset({HAND_OVER, HAND_BACK, FORGET})
"""The stages in which another cell gets the instance, or has it already."""


def _route(
    _parts: Parts,
    _context: RequestContext,
    _instance: models.Instance,
    operation: models.InstanceOperation,
) -> str:
    """Tell whether the guest stays on its host."""
    facts = operation.facts
    chosen = selection(facts)
    return RESIZE_HERE if chosen.service_host == facts["source"]["host"] else PREPARE


def _prepare(rows: Rows) -> None:
    moving.choose_destination(rows)
    rows.instance.task_state = "resize_prep"


def _detach(rows: Rows) -> None:
    rows.status(MigrationStatus.MIGRATING)
    rows.instance.task_state = "resize_migrating"


def _detached(rows: Rows, answer: Answer) -> None:
    rows.note(luggage=answer.get("luggage", {}))
    rows.status(MigrationStatus.POST_MIGRATING)
    moving.go_to(rows, Side.DESTINATION)


def _attach(rows: Rows) -> None:
    rows.instance.task_state = "resize_finish"


def _how_to_attach(facts: Facts) -> dict[str, Any]:
    return {"luggage": facts["luggage"], "is_on": facts["is_on"]}


def _resize_here(rows: Rows) -> None:
    moving.choose_destination(rows)
    rows.status(MigrationStatus.MIGRATING)
    moving.go_to(rows, Side.DESTINATION)
    rows.instance.task_state = "resize_finish"


def _back_at_source(rows: Rows) -> None:
    moving.go_to(rows, Side.SOURCE)


def _keep(name: str, *, then: str, off: str, down: str | None = None) -> dict[str, AgentStage]:
    """Have the source keep the guest as it was; off, when it cannot be powered on there."""
    return {
        name: AgentStage(
            Verb.KEEP, Side.SOURCE, then=then, failed=name, given_up=off, down=down,
            arguments=moving.power_at_source, begun=_back_at_source, done=take_power_state,
        ),
        off: AgentStage(
            Verb.KEEP, Side.SOURCE, then=then, failed=off, down=down,
            arguments=moving.stay_off, begun=_back_at_source, done=moving.kept_off,
        ),
    }  # fmt: skip


def _hand_over(
    parts: Parts,
    context: RequestContext,
    _instance: models.Instance,
    operation: models.InstanceOperation,
) -> str:
    """Give the instance to the cell of its destination."""
    parts.others.hand_over(
        context, operation,
        side=Side.DESTINATION, status=MigrationStatus.FINISHED, vm_state="resized",
    )  # fmt: skip
    return DONE


def _finish(rows: Rows) -> None:
    rows.instance.vm_state = "resized"
    assert rows.migration is not None
    rows.migration.facts = {name: rows.facts[name] for name in KEPT}
    rows.status(MigrationStatus.FINISHED)
    rows.instance.hidden = cell_of(rows.facts, Side.DESTINATION) is not None


def _moving_flow(operation: str) -> Flow:
    return Flow(
        operation,
        task_state="resize_prep",
        vm_states=("active", "stopped"),
        first=moving.SCHEDULE,
        stages={
            moving.SCHEDULE: moving.schedule(then=moving.SECURE),
            moving.SECURE: moving.secure(ready=ROUTE),
            ROUTE: OwnStage(_route, leads_to=(RESIZE_HERE, PREPARE)),
            PREPARE: AgentStage(
                Verb.CLAIM, Side.DESTINATION, then=DETACH, failed=DROP_TRIED, down=DROP_TRIED,
                needs_spec=True, begun=_prepare,
            ),
            DETACH: AgentStage(
                Verb.DETACH, Side.SOURCE, then=ATTACH, failed=DROP_ATTACHED, down=DROP_ATTACHED,
                begun=_detach, done=_detached,
            ),
            ATTACH: AgentStage(
                Verb.ATTACH, Side.DESTINATION, then=DONE, failed=DROP_ATTACHED, down=DROP_ATTACHED,
                away=HAND_OVER, arguments=_how_to_attach, begun=_attach, done=take_power_state,
            ),
            HAND_OVER: OwnStage(_hand_over, leads_to=(DONE,)),
            RESIZE_HERE: AgentStage(
                Verb.RESIZE, Side.DESTINATION, then=DONE, failed=UNDO_HERE, needs_spec=True,
                arguments=moving.power_at_source, begun=_resize_here, done=take_power_state,
            ),
            **_keep(UNDO_HERE, then=moving.NEXT, off=UNDO_HERE_OFF),
            DROP_TRIED: moving.drop_destination(then=moving.NEXT),
            moving.NEXT: moving.next_host(ready=ROUTE),
            DROP_ATTACHED: moving.drop_destination(then=KEEP),
            **_keep(KEEP, then=moving.GIVE_BACK, off=KEEP_OFF, down=moving.GIVE_BACK_LOST),
            **moving.GIVING_BACK,
        },
        begin=moving.begin,
        end=_finish,
        undo=moving.end_in_error,
    )  # fmt: skip


RESIZE = _moving_flow("resize")
MIGRATE = _moving_flow("migrate")


# What ends one ------------------------------------------------------------------------------------


def _take_up(status: MigrationStatus) -> Any:
    def begin(rows: Rows, _arguments: Mapping[str, Any]) -> None:
        """Go on with the migration that waits."""
        found = [
            row
            for row in migrations.find_unfinished(rows.session, [rows.instance.uuid])
            if row.status == MigrationStatus.FINISHED
        ]
        if not found:
            raise exception.MigrationNotFound(
                migration=f"a finished resize of server {rows.instance.uuid}"
            )
        rows.operation.migration_uuid = found[0].uuid
        found[0].status = status
        found[0].updated_at = rows.now
        former = {**found[0].facts, "former_state": found[0].facts["was"], "was": "resized"}
        rows.note(**former)

    return begin


def _is_here(facts: Facts) -> bool:
    return bool(facts["source"]["host"] == facts["destination"]["host"])


def _way(away: str, here: str) -> OwnStage:
    def do(
        _parts: Parts,
        _context: RequestContext,
        _instance: models.Instance,
        operation: models.InstanceOperation,
    ) -> str:
        return here if _is_here(operation.facts) else away

    return OwnStage(do, leads_to=(away, here))


def _confirmed(rows: Rows) -> None:
    rest_by_power(rows)
    rows.status(MigrationStatus.CONFIRMED)


def _state_at_source(instance: models.Instance, facts: Facts) -> str:
    """Return the state of an instance that is back, as its guest is."""
    if facts.get("is_lost"):
        return "error"
    return "active" if instance.power_state == RUNNING else "stopped"


def _reverted(rows: Rows) -> None:
    rows.instance.vm_state = _state_at_source(rows.instance, rows.facts)
    rows.status(MigrationStatus.REVERTED)
    if cell_of(rows.facts, Side.SOURCE) is not None:
        copies.bury(rows.instance, now=rows.now)


def _stays_resized(rows: Rows) -> None:
    rows.instance.vm_state = "resized"
    rows.status(MigrationStatus.FINISHED)


def _release(
    parts: Parts,
    context: RequestContext,
    instance: models.Instance,
    operation: models.InstanceOperation,
) -> str:
    """Free the source; the cell that it is in, if that is another, has no use of its copy now."""
    moving.release_source(parts, context, instance, operation)
    parts.others.end(context, operation)
    return DONE


CONFIRM = Flow(
    "confirm_resize",
    task_state="resize_confirming",
    vm_states=("resized",),
    first=ROUTE,
    stages={
        ROUTE: _way(away=DROP_SOURCE, here=SETTLE),
        DROP_SOURCE: AgentStage(
            Verb.DROP, Side.SOURCE, then=moving.RELEASE, failed=DROP_SOURCE, down=moving.RELEASE
        ),
        SETTLE: AgentStage(
            Verb.SETTLE, Side.DESTINATION, then=moving.RELEASE, failed=SETTLE, down=moving.RELEASE
        ),
        moving.RELEASE: OwnStage(_release, leads_to=(DONE,)),
    },
    begin=_take_up(MigrationStatus.CONFIRMING),
    end=_confirmed,
    undo=_stays_resized,
    needs=None,
)


def _give_back(
    parts: Parts,
    context: RequestContext,
    instance: models.Instance,
    operation: models.InstanceOperation,
) -> str:
    moving.give_back(parts, context, instance, operation)
    return DONE if cell_of(operation.facts, Side.SOURCE) is None else HAND_BACK


def _hand_back(
    parts: Parts,
    context: RequestContext,
    instance: models.Instance,
    operation: models.InstanceOperation,
) -> str:
    """Give the instance to the cell that it came from."""
    parts.others.hand_over(
        context, operation,
        side=Side.SOURCE, status=MigrationStatus.REVERTED,
        vm_state=_state_at_source(instance, operation.facts),
    )  # fmt: skip
    return FORGET


def _forget(
    parts: Parts,
    context: RequestContext,
    _instance: models.Instance,
    operation: models.InstanceOperation,
) -> str:
    """Say that the move is over; a stage of its own, as nothing can be handed over after it."""
    parts.others.end(context, operation)
    return DONE


REVERT = Flow(
    "revert_resize",
    task_state="resize_reverting",
    vm_states=("resized",),
    first=ROUTE,
    stages={
        ROUTE: _way(away=DROP_ATTACHED, here=KEEP),
        DROP_ATTACHED: AgentStage(
            Verb.DROP, Side.DESTINATION, then=KEEP, failed=DROP_ATTACHED, down=KEEP
        ),
        **_keep(KEEP, then=moving.GIVE_BACK, off=KEEP_OFF, down=moving.GIVE_BACK_LOST),
        moving.GIVE_BACK: OwnStage(_give_back, leads_to=(DONE, HAND_BACK)),
        moving.GIVE_BACK_LOST: OwnStage(_give_back, leads_to=(DONE, HAND_BACK), begun=moving.lose),
        HAND_BACK: OwnStage(_hand_back, leads_to=(FORGET,)),
        FORGET: OwnStage(_forget, leads_to=(DONE,)),
    },
    begin=_take_up(MigrationStatus.REVERTING),
    end=_reverted,
    undo=_stays_resized,
    needs=Side.SOURCE,
)  # fmt: skip
