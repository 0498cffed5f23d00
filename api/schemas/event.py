"""Events: filters, and the stream."""

from __future__ import annotations

from api.schemas.base import Schema, fields, text

EVENT_STREAM = "text/event-stream"

FOLLOW_QUERY = fields(
    {
        "server": text(minimum=1),
        "host": text(minimum=1),
        "type": {
            **text(minimum=1),
            "description": "Comma-separated patterns with wildcards * and ?: instance.*.error",
        },
    }
)

FOLLOW_ANSWER: Schema = {
    "type": "string",
    "description": "Endless server-sent events. The data of an 'event' is an object with time, "
    "type, priority, publisher, request_id, server, servers, name, project_id, host, state, "
    "task_state, attempt, reason; that of a 'notice' an object with a message about the "
    "stream itself, and 'last' before it ends.",
}
