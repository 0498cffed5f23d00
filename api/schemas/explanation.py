"""Explanations: why a server is where it is."""

from __future__ import annotations

from api.schemas.base import (
    NUMBER,
    STRING,
    STRING_OR_NULL,
    TIME_OR_NULL,
    every,
    fields,
    listed,
)

_FAULT = {"attempt": NUMBER, "code": NUMBER, "message": STRING, "created": TIME_OR_NULL}
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
                        "attempt": NUMBER,
                    },
                    ["id", "name", "status", "attempt"],
                ),
                "trace": {"type": ["object", "null"]},
                "faults": listed(
                    fields({**_FAULT, "host": STRING_OR_NULL, "details": STRING_OR_NULL}, _FAULT)
                ),
                "attempts": listed(fields({**_ATTEMPT, "host": STRING_OR_NULL}, _ATTEMPT)),
            },
            ["server", "trace", "faults", "attempts"],
        )
    }
)
