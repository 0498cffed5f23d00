"""Instance actions: operations on a server, step by step."""

from __future__ import annotations

from api.schemas.base import (
    LINKS,
    NUMBER,
    PAGE_ONCE,
    STRING,
    STRING_OR_NULL,
    TIME_OR_NULL,
    Part,
    changed,
    every,
    fields,
    listed,
    once,
    since,
    text,
)

_ACTION: dict[str, Part] = {
    "action": STRING,
    "instance_uuid": STRING,
    "request_id": STRING,
    "project_id": STRING_OR_NULL,
    "user_id": STRING_OR_NULL,
    "start_time": TIME_OR_NULL,
    "updated_at": since(2, 58, TIME_OR_NULL),
    "message": STRING_OR_NULL,
}

_EVENT: dict[str, Part] = {
    "event": STRING,
    "start_time": TIME_OR_NULL,
    "finish_time": TIME_OR_NULL,
    "result": STRING_OR_NULL,
    "hostId": since(2, 62, STRING),
    "armillary:attempt": NUMBER,
}
_FOR_ADMINISTRATORS: dict[str, Part] = {
    "host": since(2, 62, STRING_OR_NULL),
    "details": since(2, 84, STRING_OR_NULL),
    "traceback": STRING_OR_NULL,
}

INDEX_QUERY = fields(
    {
        **{name: since(2, 58, part) for name, part in PAGE_ONCE.items()},
        "changes-since": since(2, 58, once(text())),
        "changes-before": since(2, 66, once(text())),
    }
)
INDEX_ANSWER = fields(
    {"instanceActions": listed(every(_ACTION)), "links": since(2, 58, LINKS)},
    required=["instanceActions"],
)
_WITH_EVENTS: dict[str, Part] = {
    **_ACTION,
    "events": listed(fields({**_EVENT, **_FOR_ADMINISTRATORS}, _EVENT)),
}
SHOW_ANSWER = every(
    {
        "instanceAction": changed(
            (2, 51), before=fields(_WITH_EVENTS, _ACTION), after=every(_WITH_EVENTS)
        )
    }
)
