"""Scheduling decisions about a server: its first host, and the hosts of its moves."""

import dataclasses
from datetime import datetime

from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.db import traces
from conductor.super_conductor.db.traces import MoveTrace
from objects.instances.explanation import Decision
from objects.traces.decision_trace import PlainTrace

CREATE = "create"
MOVES = {
    "resize": "resize",
    "migrate": "migrate",
    "live_migrate": "live-migration",
    "evacuate": "evacuate",
    "unshelve": "unshelve",
}
"""Operation -> its public name in server events."""


@dataclasses.dataclass(frozen=True)
class Decided:
    """All stored decisions about a server, newest first, and the trace of one of them."""

    decisions: list[Decision]
    trace: PlainTrace | None


def read(session: Session, instance_uuid: str, request_id: str | None = None) -> Decided:
    """Return the decisions, with the trace of the newest one or of the one for ``request_id``.

    Raises DecisionNotFound when no stored decision was made for the request.
    """
    moves = traces.list_move_traces(session, instance_uuid)
    created = traces.find_trace(session, instance_uuid)
    decisions = [_of_move(each) for each in moves]
    if created is not None:
        decisions.append(_of_create(created, traces.find_date(session, instance_uuid)))
    wanted = [at for at, each in enumerate(decisions) if request_id in (None, each.request_id)]
    if request_id is not None and not wanted:
        raise exception.DecisionNotFound(request_id=request_id, instance_uuid=instance_uuid)
    trace = created
    if wanted and wanted[0] < len(moves):
        trace = traces.find_move_trace(session, moves[wanted[0]].migration_uuid)
    return Decided(decisions, trace)


def _of_move(decided: MoveTrace) -> Decision:
    operation = MOVES.get(decided.operation, decided.operation)
    return Decision(
        operation, decided.request_id, decided.stored_at, decided.host, decided.sentence
    )


def _of_create(trace: PlainTrace, decided_at: datetime | None) -> Decision:
    choices = trace["choices"]
    host = choices[0]["host"] if choices else None
    return Decision(CREATE, trace.get("request_id"), decided_at, host, trace.get("sentence"))
