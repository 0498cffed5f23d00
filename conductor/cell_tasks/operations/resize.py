"""Resize and cold migration, and what ends them: confirm and revert.

The guest is powered off at its source, taken over by the destination, and waits there to be
confirmed or reverted; until then the source keeps what it needs to start it again. On the same host
the guest changes in place, and keeps room for both until then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from armillary import exception
from armillary.context import RequestContext
from conductor.cell_db import migrations, models
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
from conductor.cell_tasks.operations.power import rest_by_power, take_power_state
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
DROP_SOURCE = "drop_source"
SETTLE = "settle"
UNDO_HERE = "undo_here"


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


def _finish(rows: Rows) -> None:
    rows.instance.vm_state = "resized"
    assert rows.migration is not None
    kept = ("source", "destination", "is_on", "was")
    rows.migration.facts = {name: rows.facts[name] for name in kept}
    rows.status(MigrationStatus.FINISHED)


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
                arguments=_how_to_attach, begun=_attach, done=take_power_state,
            ),
            RESIZE_HERE: AgentStage(
                Verb.RESIZE, Side.DESTINATION, then=DONE, failed=UNDO_HERE, needs_spec=True,
                arguments=moving.power_at_source, begun=_resize_here, done=take_power_state,
            ),
            UNDO_HERE: AgentStage(
                Verb.KEEP, Side.SOURCE, then=moving.NEXT, failed=UNDO_HERE,
                arguments=moving.power_at_source, begun=_back_at_source, done=take_power_state,
            ),
            DROP_TRIED: moving.drop_destination(then=moving.NEXT),
            moving.NEXT: moving.next_host(ready=ROUTE),
            DROP_ATTACHED: moving.drop_destination(then=KEEP),
            KEEP: AgentStage(
                Verb.KEEP, Side.SOURCE, then=moving.GIVE_BACK, failed=KEEP,
                down=moving.GIVE_BACK_LOST, arguments=moving.power_at_source,
                begun=_back_at_source, done=take_power_state,
            ),
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


def _reverted(rows: Rows) -> None:
    rest_by_power(rows)
    if rows.facts.get("is_lost"):
        rows.instance.vm_state = "error"
    rows.status(MigrationStatus.REVERTED)


def _stays_resized(rows: Rows) -> None:
    rows.instance.vm_state = "resized"
    rows.status(MigrationStatus.FINISHED)


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
        moving.RELEASE: moving.releasing(DONE),
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
        KEEP: AgentStage(
            Verb.KEEP, Side.SOURCE, then=moving.GIVE_BACK, failed=KEEP, down=moving.GIVE_BACK_LOST,
            arguments=moving.power_at_source, begun=_back_at_source, done=take_power_state,
        ),
        moving.GIVE_BACK: OwnStage(_give_back, leads_to=(DONE,)),
        moving.GIVE_BACK_LOST: OwnStage(_give_back, leads_to=(DONE,), begun=moving.lose),
    },
    begin=_take_up(MigrationStatus.REVERTING),
    end=_reverted,
    undo=_stays_resized,
    needs=Side.SOURCE,
)  # fmt: skip
