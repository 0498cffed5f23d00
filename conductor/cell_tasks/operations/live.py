"""Live migration: a running guest changes its host; it can be ended while memory is copied."""

from __future__ import annotations

from typing import Any

from conductor.cell_tasks.operations import moving
from conductor.cell_tasks.operations.flow import (
    DONE,
    UNDONE,
    AgentStage,
    Answer,
    Facts,
    Flow,
    OwnStage,
    Side,
)
from conductor.cell_tasks.operations.power import take_power_state
from conductor.cell_tasks.operations.rows import Rows
from objects.instance_order import Verb
from objects.migration import MigrationStatus

DESCRIBE = "describe"
PREPARE = "prepare"
COPY = "copy"
COMPLETE = "complete"
DROP_TRIED = "drop_tried"
DROP_PREPARED = "drop_prepared"
DROP_SOURCE = "drop_source"
RELEASE_LOST = "release_lost"


def _described(rows: Rows, answer: Answer) -> None:
    rows.note(source_facts=answer.get("source", {}))


def _prepare(rows: Rows) -> None:
    moving.choose_destination(rows)
    rows.status(MigrationStatus.PREPARING)


def _what_comes(facts: Facts) -> dict[str, Any]:
    return {"source": facts["source_facts"]}


def _prepared(rows: Rows, answer: Answer) -> None:
    rows.note(destination_facts=answer.get("destination", {}))


def _copy(rows: Rows) -> None:
    """Let the copy wait for its turn; it runs when its host tells of progress."""
    rows.status(MigrationStatus.QUEUED)


def _where_to(facts: Facts) -> dict[str, Any]:
    return {"destination": facts["destination_facts"]}


def _copied(rows: Rows, _answer: Answer) -> None:
    rows.status(MigrationStatus.POST_MIGRATING)
    moving.go_to(rows, Side.DESTINATION)


def _completed(rows: Rows) -> None:
    rows.instance.vm_state = "active"
    rows.status(MigrationStatus.COMPLETED)


def _not_moved(rows: Rows) -> None:
    """Leave the guest where it runs; or, where it did not arrive, say that it is lost."""
    if rows.facts.get("is_gone"):
        rows.instance.vm_state, rows.instance.power_state = "error", None
        rows.status(MigrationStatus.ERROR)
        return
    rows.instance.vm_state = rows.facts["was"]
    is_aborted = bool(rows.facts.get("is_aborted"))
    rows.status(MigrationStatus.CANCELLED if is_aborted else MigrationStatus.ERROR)


def _lose(rows: Rows) -> None:
    rows.note(is_gone=True)


LIVE_MIGRATE = Flow(
    "live_migrate",
    task_state="migrating",
    vm_states=("active",),
    first=moving.SCHEDULE,
    stages={
        moving.SCHEDULE: moving.schedule(then=DESCRIBE),
        DESCRIBE: AgentStage(
            Verb.DESCRIBE_LIVE, Side.SOURCE, then=moving.SECURE, failed=moving.GIVE_BACK,
            down=moving.GIVE_BACK, done=_described,
        ),
        moving.SECURE: moving.secure(ready=PREPARE),
        PREPARE: AgentStage(
            Verb.PREPARE_LIVE, Side.DESTINATION, then=COPY, failed=DROP_TRIED, down=DROP_TRIED,
            arguments=_what_comes, needs_spec=True, begun=_prepare, done=_prepared,
        ),
        DROP_TRIED: moving.drop_destination(then=moving.NEXT),
        moving.NEXT: moving.next_host(ready=PREPARE),
        COPY: AgentStage(
            Verb.LIVE_MIGRATE, Side.SOURCE, then=COMPLETE, failed=DROP_PREPARED,
            arguments=_where_to, is_abortable=True, begun=_copy, done=_copied,
        ),
        DROP_PREPARED: moving.drop_destination(then=moving.GIVE_BACK),
        COMPLETE: AgentStage(
            Verb.COMPLETE_LIVE, Side.DESTINATION, then=DROP_SOURCE, failed=RELEASE_LOST,
            done=take_power_state,
        ),
        DROP_SOURCE: AgentStage(
            Verb.DROP, Side.SOURCE, then=moving.RELEASE, failed=DROP_SOURCE, down=moving.RELEASE
        ),
        moving.RELEASE: moving.releasing(DONE),
        RELEASE_LOST: OwnStage(
            moving.releasing(UNDONE).do, leads_to=(UNDONE,), begun=_lose
        ),
        moving.GIVE_BACK: moving.GIVING_BACK[moving.GIVE_BACK],
    },
    begin=moving.begin,
    end=_completed,
    undo=_not_moved,
)  # fmt: skip
