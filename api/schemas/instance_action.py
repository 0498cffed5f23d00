"""Instance actions: operations on a server, step by step."""

from __future__ import annotations

from api.schemas.base import NUMBER, STRING, STRING_OR_NULL, TIME_OR_NULL, every, fields, listed

_ACTION = {
    "action": STRING,
    "instance_uuid": STRING,
    "request_id": STRING,
    "project_id": STRING_OR_NULL,
    "user_id": STRING_OR_NULL,
    "start_time": TIME_OR_NULL,
    "updated_at": TIME_OR_NULL,
    "message": STRING_OR_NULL,
}

_EVENT = {
    "event": STRING,
    "start_time": TIME_OR_NULL,
    "finish_time": TIME_OR_NULL,
    "result": STRING_OR_NULL,
    "hostId": STRING,
    "armillary:attempt": NUMBER,
}
_FOR_ADMINISTRATORS = {"host": STRING_OR_NULL, "details": STRING_OR_NULL}

INDEX_ANSWER = every({"instanceActions": listed(every(_ACTION))})
SHOW_ANSWER = every(
    {
        "instanceAction": every(
            {**_ACTION, "events": listed(fields({**_EVENT, **_FOR_ADMINISTRATORS}, _EVENT))}
        )
    }
)
