"""Events: which to follow, and the stream of them."""

from __future__ import annotations

from api.schemas.base import Schema, fields, text

EVENT_STREAM = "text/event-stream"

FOLLOW_QUERY = fields(
    {
        "server": text(minimum=1),
        "host": text(minimum=1),
        "type": {
            **text(minimum=1),
            "description": "Patterns with * and ?, with commas between them: instance.*.error",
        },
    }
)

FOLLOW_ANSWER: Schema = {
    "type": "string",
    "description": "Server-sent events without end. Data of an 'event' is an object with time, "
    "type, priority, publisher, request_id, server, servers, name, project_id, host, state, "
    "task_state, attempt, reason; of a 'notice' one with a message about the stream itself, and "
    "'last' before it ends.",
}
