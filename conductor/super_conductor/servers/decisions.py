"""Scheduling decisions about a server: its first host, and the hosts of its moves."""

import dataclasses
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.db import traces
from conductor.super_conductor.db.traces import MoveTrace
from objects.instance import Instance
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
    decision: Decision | None
    trace: PlainTrace | None


def read(
    session: Session, instance: Instance, *, built_on: str | None, request_id: str | None = None
) -> Decided:
    """Return the decisions, with the trace of the one that led to the server's host.

    With ``request_id`` it is the one for that request. ``built_on`` is the host of the build that
    succeeded. Raises DecisionNotFound when no stored decision was made for the request.
    """
    instance_uuid = instance.uuid
    moves = traces.list_move_traces(session, instance_uuid)
    created = traces.find_trace(session, instance_uuid)
    decisions = [_of_move(each) for each in moves]
    if created is not None:
        decisions.append(_of_create(created, traces.find_date(session, instance_uuid)))
    if request_id is None:
        shown = _leading_here(decisions, instance, built_on)
    else:
        found = [at for at, each in enumerate(decisions) if each.request_id == request_id]
        if not found:
            raise exception.DecisionNotFound(request_id=request_id, instance_uuid=instance_uuid)
        shown = found[0]
    if not decisions:
        return Decided([], None, None)
    trace = created
    if shown < len(moves):
        trace = traces.find_move_trace(session, moves[shown].migration_uuid)
    return Decided(decisions, decisions[shown], trace)


def _leading_here(decisions: Sequence[Decision], instance: Instance, built_on: str | None) -> int:
    """Return the index of the decision to explain: the newest, unless its move was taken back."""
    is_settled = bool(decisions and instance.host and instance.task_state is None)
    if not is_settled or decisions[0].sentence or decisions[0].host == instance.host:
        return 0
    for index, each in enumerate(decisions):
        is_create = each.operation == CREATE
        if instance.host in (each.host, built_on if is_create else None):
            return index
    return 0  # an alternate of the newest move


def _of_move(decided: MoveTrace) -> Decision:
    operation = MOVES.get(decided.operation, decided.operation)
    return Decision(
        operation, decided.request_id, decided.stored_at, decided.host, decided.sentence
    )


def _of_create(trace: PlainTrace, decided_at: datetime | None) -> Decision:
    choices = trace["choices"]
    host = choices[0]["host"] if choices else None
    return Decision(CREATE, trace.get("request_id"), decided_at, host, trace.get("sentence"))
