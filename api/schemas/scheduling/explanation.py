"""Explanations: why a server is on its host."""

from __future__ import annotations

from api.schemas.base import (
    NUMBER,
    STRING,
    STRING_OR_NULL,
    TIME_OR_NULL,
    every,
    fields,
    listed,
    name,
)

SHOW_QUERY = fields({"request_id": name()})

_FAULT = {"attempt": NUMBER, "code": NUMBER, "message": STRING, "created": TIME_OR_NULL}
_DECISION = {
    "operation": STRING,
    "request_id": STRING_OR_NULL,
    "decided_at": TIME_OR_NULL,
    "sentence": STRING_OR_NULL,
}
_DECISION_SHOWN = fields({**_DECISION, "host": STRING_OR_NULL}, _DECISION)
_ATTEMPT = {"attempt": NUMBER, "result": STRING_OR_NULL, "reason": STRING_OR_NULL}

SHOW_ANSWER = every(
    {
        "explanation": fields(
            {
                "server": fields(
                    {
                        "id": STRING,
                        "name": STRING,
                        "status": STRING,
                        "host": STRING_OR_NULL,
                        "zone": STRING_OR_NULL,
                        "attempt": NUMBER,
                    },
                    ["id", "name", "status", "attempt"],
                ),
                "decision": {"anyOf": [_DECISION_SHOWN, {"type": "null"}]},
                "trace": {"type": ["object", "null"]},
                "decisions": listed(_DECISION_SHOWN),
                "faults": listed(
                    fields({**_FAULT, "host": STRING_OR_NULL, "details": STRING_OR_NULL}, _FAULT)
                ),
                "attempts": listed(fields({**_ATTEMPT, "host": STRING_OR_NULL}, _ATTEMPT)),
            },
            ["server", "decision", "trace", "decisions", "faults", "attempts"],
        )
    }
)
