"""Migrations: filters and display."""

from __future__ import annotations

from api.schemas.base import (
    BOOLEAN,
    HOST,
    LINKS,
    NUMBER_OR_NULL,
    STRING,
    STRING_OR_NULL,
    STRINGS,
    TIME_OR_NULL,
    UUID,
    Part,
    changed,
    every,
    fields,
    integer,
    listed,
    name,
    once,
    own,
    since,
    text,
)
from api.schemas.hosts.service import INTEGER_ID_MAX

INDEX_QUERY = fields(
    {
        "host": HOST,
        "source_compute": HOST,
        "status": name(),
        "migration_type": name(),
        "instance_uuid": UUID,
        "hidden": BOOLEAN,
        "limit": changed((2, 59), before=integer(), after=once(integer())),
        "marker": since(2, 59, once(UUID)),
        "changes-since": since(2, 59, once(text())),
        "changes-before": since(2, 66, once(text())),
        "user_id": since(2, 80, once(name())),
        "project_id": since(2, 80, once(name())),
    }
)
OF_SERVER_QUERY = fields({"limit": integer(minimum=1)})

FORCE_COMPLETE = every({"force_complete": {"type": "null"}})

_COMMON: dict[str, Part] = {
    "id": integer(maximum=INTEGER_ID_MAX),
    "uuid": since(2, 59, STRING),
    "status": STRING,
    "source_compute": STRING_OR_NULL,
    "source_node": STRING_OR_NULL,
    "dest_compute": STRING_OR_NULL,
    "dest_host": STRING_OR_NULL,
    "dest_node": STRING_OR_NULL,
    "project_id": since(2, 80, STRING_OR_NULL),
    "user_id": since(2, 80, STRING_OR_NULL),
    "created_at": TIME_OR_NULL,
    "updated_at": TIME_OR_NULL,
    "armillary:cell_uuid": STRING_OR_NULL,
}
_MEMORY = {
    "memory_total_bytes": NUMBER_OR_NULL,
    "memory_remaining_bytes": NUMBER_OR_NULL,
    "memory_processed_bytes": NUMBER_OR_NULL,
}
_DISK = {
    "disk_total_bytes": NUMBER_OR_NULL,
    "disk_remaining_bytes": NUMBER_OR_NULL,
    "disk_processed_bytes": NUMBER_OR_NULL,
}
_FLAVORS: dict[str, Part] = {"old_flavor": own(STRING_OR_NULL), "new_flavor": own(STRING_OR_NULL)}

_MIGRATION: dict[str, Part] = {
    **_COMMON,
    "instance_uuid": STRING,
    "old_instance_type_id": NUMBER_OR_NULL,
    "new_instance_type_id": NUMBER_OR_NULL,
    "migration_type": since(2, 23, STRING),
    **_FLAVORS,
    **{each: own(schema) for each, schema in _MEMORY.items()},
}
_LINKS = {"links": since(2, 23, LINKS)}

_OF_SERVER = every(
    {
        **_COMMON,
        "server_uuid": STRING,
        **_MEMORY,
        **_DISK,
        "instance_uuid": own(STRING),
        "migration_type": own(STRING),
        **_FLAVORS,
    }
)

INDEX_ANSWER = fields(
    {
        "migrations": listed(fields({**_MIGRATION, **_LINKS}, _MIGRATION)),
        "migrations_links": since(2, 59, LINKS),
        "armillary:down_cells": STRINGS,
    },
    required=["migrations"],
)
OF_SERVER_ANSWER = fields(
    {"migrations": listed(_OF_SERVER), "armillary:down_cells": STRINGS}, required=["migrations"]
)
SHOW_ANSWER = every({"migration": _OF_SERVER})
