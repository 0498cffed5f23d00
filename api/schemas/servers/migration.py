"""Migrations: filters and display."""

from api.schemas import base
from api.schemas.hosts.service import INTEGER_ID_MAX

INDEX_QUERY = base.fields(
    {
        "host": base.HOST,
        "source_compute": base.HOST,
        "status": base.name(),
        "migration_type": base.name(),
        "instance_uuid": base.UUID,
        "hidden": base.BOOLEAN,
        "limit": base.changed((2, 59), before=base.integer(), after=base.once(base.integer())),
        "marker": base.since(2, 59, base.once(base.UUID)),
        "changes-since": base.since(2, 59, base.once(base.text())),
        "changes-before": base.since(2, 66, base.once(base.text())),
        "user_id": base.since(2, 80, base.once(base.name())),
        "project_id": base.since(2, 80, base.once(base.name())),
    }
)
OF_SERVER_QUERY = base.fields({"limit": base.integer(minimum=1)})

FORCE_COMPLETE = base.every({"force_complete": {"type": "null"}})

_COMMON: dict[str, base.Part] = {
    "id": base.integer(maximum=INTEGER_ID_MAX),
    "uuid": base.since(2, 59, base.STRING),
    "status": base.STRING,
    "source_compute": base.STRING_OR_NULL,
    "source_node": base.STRING_OR_NULL,
    "dest_compute": base.STRING_OR_NULL,
    "dest_host": base.STRING_OR_NULL,
    "dest_node": base.STRING_OR_NULL,
    "project_id": base.since(2, 80, base.STRING_OR_NULL),
    "user_id": base.since(2, 80, base.STRING_OR_NULL),
    "created_at": base.TIME_OR_NULL,
    "updated_at": base.TIME_OR_NULL,
    "armillary:cell_uuid": base.STRING_OR_NULL,
}
_MEMORY = {
    "memory_total_bytes": base.NUMBER_OR_NULL,
    "memory_remaining_bytes": base.NUMBER_OR_NULL,
    "memory_processed_bytes": base.NUMBER_OR_NULL,
}
_DISK = {
    "disk_total_bytes": base.NUMBER_OR_NULL,
    "disk_remaining_bytes": base.NUMBER_OR_NULL,
    "disk_processed_bytes": base.NUMBER_OR_NULL,
}
_FLAVORS: dict[str, base.Part] = {
    "old_flavor": base.own(base.STRING_OR_NULL),
    "new_flavor": base.own(base.STRING_OR_NULL),
}

_MIGRATION: dict[str, base.Part] = {
    **_COMMON,
    "instance_uuid": base.STRING,
    "old_instance_type_id": base.NUMBER_OR_NULL,
    "new_instance_type_id": base.NUMBER_OR_NULL,
    "migration_type": base.since(2, 23, base.STRING),
    **_FLAVORS,
    **{each: base.own(schema) for each, schema in _MEMORY.items()},
}
_LINKS = {"links": base.since(2, 23, base.LINKS)}

_OF_SERVER = base.every(
    {
        **_COMMON,
        "server_uuid": base.STRING,
        **_MEMORY,
        **_DISK,
        "instance_uuid": base.own(base.STRING),
        "migration_type": base.own(base.STRING),
        **_FLAVORS,
    }
)

INDEX_ANSWER = base.fields(
    {
        "migrations": base.listed(base.fields({**_MIGRATION, **_LINKS}, _MIGRATION)),
        "migrations_links": base.since(2, 59, base.LINKS),
        "armillary:down_cells": base.STRINGS,
    },
    required=["migrations"],
)
OF_SERVER_ANSWER = base.fields(
    {"migrations": base.listed(_OF_SERVER), "armillary:down_cells": base.STRINGS},
    required=["migrations"],
)
SHOW_ANSWER = base.every({"migration": _OF_SERVER})
