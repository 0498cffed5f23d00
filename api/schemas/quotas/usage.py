"""Usage of projects over a time."""

from api.schemas import base

_REAL: base.Schema = {"type": "number"}
_TIMES: dict[str, base.Part] = {"start": base.text(), "end": base.text()}
_PAGE: dict[str, base.Part] = {
    name: base.since(2, 40, schema) for name, schema in base.PAGE.items()
}

SHOW_QUERY = base.fields({**_TIMES, **_PAGE})
INDEX_QUERY = base.fields({**_TIMES, **_PAGE, "detailed": base.text()})

_SERVER = base.every(
    {
        **dict.fromkeys(("name", "instance_id", "tenant_id", "flavor", "state"), base.STRING),
        **dict.fromkeys(("vcpus", "memory_mb", "local_gb", "uptime"), base.NUMBER),
        "hours": _REAL,
        "started_at": base.TIME_OR_NULL,
        "ended_at": base.TIME_OR_NULL,
    }
)
_TOTALS: dict[str, base.Part] = {
    "tenant_id": base.STRING,
    "start": base.TIME_OR_NULL,
    "stop": base.TIME_OR_NULL,
    **dict.fromkeys(
        ("total_hours", "total_vcpus_usage", "total_memory_mb_usage", "total_local_gb_usage"), _REAL
    ),
}
_USAGE = base.fields({**_TOTALS, "server_usages": base.listed(_SERVER)}, _TOTALS)

INDEX_ANSWER = base.fields(
    {"tenant_usages": base.listed(_USAGE), "tenant_usages_links": base.since(2, 40, base.LINKS)},
    required=["tenant_usages"],
)
SHOW_ANSWER = base.fields(
    {
        "tenant_usage": {"anyOf": [_USAGE, {"type": "object", "maxProperties": 0}]},
        "tenant_usage_links": base.since(2, 40, base.LINKS),
    },
    required=["tenant_usage"],
)
