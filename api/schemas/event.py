"""Events: filters, and the stream."""

from api.schemas.base import Schema, fields, text

EVENT_STREAM = "text/event-stream"

POSITION_CHARACTERS_MAX = 64

FOLLOW_QUERY = fields(
    {
        "server": text(minimum=1),
        "host": text(minimum=1),
        "type": {
            **text(minimum=1),
            "description": "Comma-separated patterns with wildcards * and ?: instance.*.error",
        },
        "after": {
            **text(POSITION_CHARACTERS_MAX, 1),
            "description": "The id of the last event that was read before the connection broke: "
            "the stream begins with those after it, as far as this API process has them",
        },
    }
)

FOLLOW_ANSWER: Schema = {
    "type": "string",
    "description": "Endless server-sent events. The data of an 'event' is an object with time, "
    "type, priority, publisher, request_id, server, servers, claims, name, project_id, host, kind, "
    "pool, state, task_state, attempt, reason; that of a 'notice' an object with a message about "
    "the stream itself, and 'connected' (false while the message broker is unavailable), 'resumed' "
    "(the answer to 'after': false if events are missing), or 'last' (true before it ends).",
}
