"""Migrations: filters and display."""

from __future__ import annotations

from api.schemas.base import (
    HOST,
    NUMBER_OR_NULL,
    STRING,
    STRING_OR_NULL,
    STRINGS,
    TIME_OR_NULL,
    UUID,
    every,
    fields,
    integer,
    listed,
    name,
)

INDEX_QUERY = fields(
    {
        "host": HOST,
        "source_compute": HOST,
        "status": name(),
        "migration_type": name(),
        "instance_uuid": UUID,
        "limit": integer(minimum=1),
    }
)
OF_SERVER_QUERY = fields({"limit": integer(minimum=1)})

MIGRATION = every(
    {
        "id": STRING,
        "uuid": STRING,
        "instance_uuid": STRING,
        "migration_type": STRING,
        "status": STRING,
        "source_compute": STRING_OR_NULL,
        "source_node": STRING_OR_NULL,
        "dest_compute": STRING_OR_NULL,
        "dest_node": STRING_OR_NULL,
        "old_flavor": STRING_OR_NULL,
        "new_flavor": STRING_OR_NULL,
        "memory_total_bytes": NUMBER_OR_NULL,
        "memory_remaining_bytes": NUMBER_OR_NULL,
        "memory_processed_bytes": NUMBER_OR_NULL,
        "project_id": STRING_OR_NULL,
        "user_id": STRING_OR_NULL,
        "created_at": TIME_OR_NULL,
        "updated_at": TIME_OR_NULL,
        "armillary:cell_uuid": STRING_OR_NULL,
    }
)

INDEX_ANSWER = fields(
    {"migrations": listed(MIGRATION), "armillary:down_cells": STRINGS}, required=["migrations"]
)
SHOW_ANSWER = every({"migration": MIGRATION})
