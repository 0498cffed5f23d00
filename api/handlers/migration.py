"""Migrations: moves and resizes, of one server or of all."""

from __future__ import annotations

from typing import Any

from api import times
from api.call import Call
from armillary import exception
from armillary.http.call import Answer
from objects.instances.migration import Migration
from objects.instances.server_filters import MigrationFilters

FILTERS = {
    "host": "host",
    "status": "status",
    "instance_uuid": "instance_uuid",
    "migration_type": "migration_type",
    "source_compute": "source_host",
}
"""Query parameter -> filter of the super conductor."""


def index(call: Call) -> Answer:
    """List migrations of all servers, newest first."""
    filters = {FILTERS[name]: call.query[name] for name in FILTERS if name in call.query}
    return _list(call, MigrationFilters(**filters))


def index_of_server(call: Call) -> Answer:
    """List the migrations of one server, newest first."""
    return _list(call, MigrationFilters(instance_uuid=call.path["server_id"]))


def show(call: Call) -> Answer:
    """Show one migration of a server."""
    found = call.conductor.list_migrations(
        call.context,
        filters=MigrationFilters(
            uuid=call.path["migration_id"], instance_uuid=call.path["server_id"]
        ),
        limit=1,
    )
    if not found.migrations:
        raise exception.MigrationNotFound(migration=call.path["migration_id"])
    return Answer({"migration": _show(found.migrations[0])})


def abort(call: Call) -> Answer:
    """Abort a live migration while memory is being copied."""
    call.conductor.abort_migration(call.context, call.path["server_id"], call.path["migration_id"])
    return Answer()


def _list(call: Call, filters: MigrationFilters) -> Answer:
    found = call.conductor.list_migrations(call.context, filters=filters, limit=call.page_size)
    body: dict[str, Any] = {"migrations": [_show(move) for move in found.migrations]}
    if found.down_cells:
        body["armillary:down_cells"] = found.down_cells
    return Answer(body)


def _show(move: Migration) -> dict[str, Any]:
    return {
        "id": move.uuid,
        "uuid": move.uuid,
        "instance_uuid": move.instance_uuid,
        "migration_type": move.migration_type,
        "status": move.status,
        "source_compute": move.source_host,
        "source_node": move.source_node,
        "dest_compute": move.dest_host,
        "dest_node": move.dest_node,
        "old_flavor": None if move.old_flavor is None else move.old_flavor.name,
        "new_flavor": None if move.new_flavor is None else move.new_flavor.name,
        "memory_total_bytes": _bytes(move.memory_total_mb),
        "memory_remaining_bytes": _bytes(move.memory_remaining_mb),
        "memory_processed_bytes": _processed(move),
        "project_id": move.project_id,
        "user_id": move.user_id,
        "created_at": times.seconds(move.created_at),
        "updated_at": times.seconds(move.updated_at),
        "armillary:cell_uuid": move.cell_uuid,
    }


def _bytes(mebibytes: int | None) -> int | None:
    return None if mebibytes is None else mebibytes * 1024 * 1024


def _processed(move: Migration) -> int | None:
    if move.memory_total_mb is None or move.memory_remaining_mb is None:
        return None
    return _bytes(move.memory_total_mb - move.memory_remaining_mb)
