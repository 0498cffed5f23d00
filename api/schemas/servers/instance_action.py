"""Instance actions: operations on a server, step by step."""

from api.schemas import base

_ACTION: dict[str, base.Part] = {
    "action": base.STRING,
    "instance_uuid": base.STRING,
    "request_id": base.STRING,
    "project_id": base.STRING_OR_NULL,
    "user_id": base.STRING_OR_NULL,
    "start_time": base.TIME_OR_NULL,
    "updated_at": base.since(2, 58, base.TIME_OR_NULL),
    "message": base.STRING_OR_NULL,
}

_EVENT: dict[str, base.Part] = {
    "event": base.STRING,
    "start_time": base.TIME_OR_NULL,
    "finish_time": base.TIME_OR_NULL,
    "result": base.STRING_OR_NULL,
    "hostId": base.since(2, 62, base.STRING),
    "armillary:attempt": base.NUMBER,
}
_FOR_ADMINISTRATORS: dict[str, base.Part] = {
    "host": base.since(2, 62, base.STRING_OR_NULL),
    "details": base.since(2, 84, base.STRING_OR_NULL),
    "traceback": base.STRING_OR_NULL,
}

INDEX_QUERY = base.fields(
    {
        **{name: base.since(2, 58, part) for name, part in base.PAGE_ONCE.items()},
        "changes-since": base.since(2, 58, base.once(base.text())),
        "changes-before": base.since(2, 66, base.once(base.text())),
    }
)
INDEX_ANSWER = base.fields(
    {"instanceActions": base.listed(base.every(_ACTION)), "links": base.since(2, 58, base.LINKS)},
    required=["instanceActions"],
)
_WITH_EVENTS: dict[str, base.Part] = {
    **_ACTION,
    "events": base.listed(base.fields({**_EVENT, **_FOR_ADMINISTRATORS}, _EVENT)),
}
SHOW_ANSWER = base.every(
    {
        "instanceAction": base.changed(
            (2, 51), before=base.fields(_WITH_EVENTS, _ACTION), after=base.every(_WITH_EVENTS)
        )
    }
)
