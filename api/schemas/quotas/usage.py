"""Usage of projects over a time."""

from __future__ import annotations

from api.schemas.base import (
    LINKS,
    NUMBER,
    PAGE,
    STRING,
    TIME_OR_NULL,
    Part,
    Schema,
    every,
    fields,
    listed,
    since,
    text,
)

_REAL: Schema = {"type": "number"}
_TIMES: dict[str, Part] = {"start": text(), "end": text()}
_PAGE: dict[str, Part] = {name: since(2, 40, schema) for name, schema in PAGE.items()}

SHOW_QUERY = fields({**_TIMES, **_PAGE})
INDEX_QUERY = fields({**_TIMES, **_PAGE, "detailed": text()})

_SERVER = every(
    {
        **dict.fromkeys(("name", "instance_id", "tenant_id", "flavor", "state"), STRING),
        **dict.fromkeys(("vcpus", "memory_mb", "local_gb", "uptime"), NUMBER),
        "hours": _REAL,
        "started_at": TIME_OR_NULL,
        "ended_at": TIME_OR_NULL,
    }
)
_TOTALS: dict[str, Part] = {
    "tenant_id": STRING,
    "start": TIME_OR_NULL,
    "stop": TIME_OR_NULL,
    **dict.fromkeys(
        ("total_hours", "total_vcpus_usage", "total_memory_mb_usage", "total_local_gb_usage"), _REAL
    ),
}
_USAGE = fields({**_TOTALS, "server_usages": listed(_SERVER)}, _TOTALS)

INDEX_ANSWER = fields(
    {"tenant_usages": listed(_USAGE), "tenant_usages_links": since(2, 40, LINKS)},
    required=["tenant_usages"],
)
SHOW_ANSWER = fields(
    {
        "tenant_usage": {"anyOf": [_USAGE, {"type": "object", "maxProperties": 0}]},
        "tenant_usage_links": since(2, 40, LINKS),
    },
    required=["tenant_usage"],
)
