"""Explanations: why a server is on its host."""

from api.schemas import base

SHOW_QUERY = base.fields({"request_id": base.name()})

_FAULT = {
    "attempt": base.NUMBER,
    "code": base.NUMBER,
    "message": base.STRING,
    "created": base.TIME_OR_NULL,
}
_DECISION = {
    "operation": base.STRING,
    "request_id": base.STRING_OR_NULL,
    "decided_at": base.TIME_OR_NULL,
    "sentence": base.STRING_OR_NULL,
}
_DECISION_SHOWN = base.fields({**_DECISION, "host": base.STRING_OR_NULL}, _DECISION)
_WAIT = {"since": base.TIME_OR_NULL, "message": base.STRING}
_WAIT_SHOWN = base.fields(
    {**_WAIT, "cell": base.STRING_OR_NULL, "reason": base.STRING_OR_NULL}, _WAIT
)
_ATTEMPT = {"attempt": base.NUMBER, "result": base.STRING_OR_NULL, "reason": base.STRING_OR_NULL}

SHOW_ANSWER = base.every(
    {
        "explanation": base.fields(
            {
                "server": base.fields(
                    {
                        "id": base.STRING,
                        "name": base.STRING,
                        "status": base.STRING,
                        "host": base.STRING_OR_NULL,
                        "zone": base.STRING_OR_NULL,
                        "attempt": base.NUMBER,
                    },
                    ["id", "name", "status", "attempt"],
                ),
                "decision": {"anyOf": [_DECISION_SHOWN, {"type": "null"}]},
                "trace": {"type": ["object", "null"]},
                "decisions": base.listed(_DECISION_SHOWN),
                "faults": base.listed(
                    base.fields(
                        {**_FAULT, "host": base.STRING_OR_NULL, "details": base.STRING_OR_NULL},
                        _FAULT,
                    )
                ),
                "attempts": base.listed(
                    base.fields({**_ATTEMPT, "host": base.STRING_OR_NULL}, _ATTEMPT)
                ),
                "wait": {"anyOf": [_WAIT_SHOWN, {"type": "null"}]},
            },
            ["server", "decision", "trace", "decisions", "faults", "attempts", "wait"],
        )
    }
)
