"""Scheduling decisions about a server: its first host, and the hosts of its moves."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.db import traces
from conductor.super_conductor.db.traces import MoveTrace

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
class Decision:
    """One decision; ``move`` is None for the create decision, whose trace is already loaded."""

    operation: str
    request_id: str | None
    decided_at: datetime | None
    host: str | None
    sentence: str | None
    move: str | None = None

    def plain(self, *, with_hosts: bool) -> dict[str, Any]:
        """Return the wire form in the answer of ``SuperConductorAPI.explain_server``."""
        return {
            "operation": self.operation,
            "request_id": self.request_id,
            "decided_at": self.decided_at and self.decided_at.isoformat(),
            "host": self.host if with_hosts else None,
            "sentence": self.sentence,
        }


@dataclasses.dataclass(frozen=True)
class Decided:
    """All stored decisions about a server, newest first, and the trace of one of them."""

    decisions: list[Decision]
    trace: dict[str, Any] | None


def read(session: Session, instance_uuid: str, request_id: str | None = None) -> Decided:
    """Return the decisions, with the trace of the newest one or of the one for ``request_id``.

    Raises DecisionNotFound when no stored decision was made for the request.
    """
    created = traces.find_trace(session, instance_uuid)
    decisions = [_of_move(each) for each in traces.list_move_traces(session, instance_uuid)]
    if created is not None:
        stored_at = traces.find_date(session, instance_uuid)
        decisions.append(_of_create(created, stored_at))
    wanted = [each for each in decisions if request_id in (None, each.request_id)]
    if request_id is not None and not wanted:
        raise exception.DecisionNotFound(request_id=request_id, instance_uuid=instance_uuid)
    trace = created
    if wanted and wanted[0].move is not None:
        trace = traces.find_move_trace(session, wanted[0].move)
    return Decided(decisions, trace)


def _of_move(decided: MoveTrace) -> Decision:
    return Decision(
        MOVES.get(decided.operation, decided.operation),
        decided.request_id,
        decided.stored_at,
        decided.host,
        decided.sentence,
        decided.migration_uuid,
    )


def _of_create(trace: dict[str, Any], decided_at: datetime | None) -> Decision:
    choices = trace["choices"]
    host = choices[0]["host"] if choices else None
    return Decision(CREATE, trace.get("request_id"), decided_at, host, trace.get("sentence"))
