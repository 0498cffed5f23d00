"""Migrations: moves and resizes, of one server or of all."""

from api.call import Call
from api.formats import times
from api.formats.integer_ids import integer_id, is_integer_id
from api.handlers.servers import server
from api.policies.servers import migration as policies
from api.schemas.servers import migration as schemas
from armillary import exception
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, ActionByBody, Routes
from objects.flavor import Flavor
from objects.instances.migration import Migration, MigrationType
from objects.instances.server_filters import MigrationFilters

OF_SERVER_SINCE = (2, 23)
"""Since this version a server's own migrations have a path."""
MIGRATIONS_MAX = 1000
"""Maximum number of a server's migrations among which one is sought."""

FILTERS = {
    "host": "host",
    "status": "status",
    "instance_uuid": "instance_uuid",
    "migration_type": "migration_type",
    "source_compute": "source_host",
    "user_id": "user_id",
    "project_id": "project_id",
    "marker": "marker",
}
"""Query parameter -> filter of the super conductor."""


def index(call: Call) -> Answer:
    """List migrations of all servers, newest first."""
    filters = {FILTERS[name]: call.query[name] for name in FILTERS if name in call.query}
    since, before = times.asked_changes(call.query)
    if call.query.get("hidden"):  # none is, once it is stored
        return _answer([], [])
    try:
        return _list(call, MigrationFilters(**filters, changed_since=since, changed_before=before))
    except exception.InstanceNotFound:
        return _answer([], [])


def index_of_server(call: Call) -> Answer:
    """List the live migrations of one server that are under way; on request all, newest first."""
    filters = MigrationFilters(instance_uuid=call.path["server_id"])
    found = call.conductor.list_migrations(call.context, filters=filters, limit=call.page_size)
    shown = [move for move in found.migrations if call.shows_own or _is_live_and_running(move)]
    return _answer([_show_of_server(move) for move in shown], found.down_cells)


def show(call: Call) -> Answer:
    """Show one live migration of a server that is under way, given by number or UUID; or any."""
    found = _find(call)
    if not (call.shows_own or _is_live_and_running(found)):
        raise exception.MigrationNotFound(migration=call.path["migration_id"])
    return Answer({"migration": _show_of_server(found)})


def abort(call: Call) -> Answer:
    """Abort a live migration while memory is being copied."""
    call.conductor.abort_migration(call.context, call.path["server_id"], _find(call).uuid)
    return Answer()


def force_complete(call: Call) -> Answer:
    """Complete a live migration immediately; the guest is paused meanwhile."""
    call.conductor.force_migration(call.context, call.path["server_id"], _find(call).uuid)
    return Answer()


def _find(call: Call) -> Migration:
    wanted = call.path["migration_id"]
    filters = MigrationFilters(
        uuid=None if is_integer_id(wanted) else wanted, instance_uuid=call.path["server_id"]
    )
    found = call.conductor.list_migrations(call.context, filters=filters, limit=MIGRATIONS_MAX)
    for move in found.migrations:
        if wanted in (move.uuid, str(integer_id(move.uuid))):
            return move
    raise exception.MigrationNotFound(migration=wanted)


def _is_live_and_running(move: Migration) -> bool:
    return move.migration_type == MigrationType.LIVE_MIGRATION and not move.has_ended


def _list(call: Call, filters: MigrationFilters) -> Answer:
    found = call.conductor.list_migrations(call.context, filters=filters, limit=call.page_size)
    answer = _answer([_show_in_list(call, move) for move in found.migrations], found.down_cells)
    if found.migrations and len(found.migrations) == call.page_size:
        answer.body["migrations_links"] = call.links.next_page(found.migrations[-1].uuid)
    return answer


def _answer(shown: list[Document], down_cells: list[str]) -> Answer:
    body: Document = {"migrations": shown}
    if down_cells:
        body["armillary:down_cells"] = down_cells
    return Answer(body)


def _show_in_list(call: Call, move: Migration) -> Document:
    shown = {
        **_show(move),
        "old_instance_type_id": _flavor_id(move.old_flavor),
        "new_instance_type_id": _flavor_id(move.new_flavor),
    }
    if _is_live_and_running(move):
        place = f"servers/{move.instance_uuid}/migrations"
        shown["links"] = call.links.of(place, str(shown["id"]))
    return shown


def _show_of_server(move: Migration) -> Document:
    return {
        **_show(move),
        "server_uuid": move.instance_uuid,
        "disk_total_bytes": None,
        "disk_remaining_bytes": None,
        "disk_processed_bytes": None,
    }


def _show(move: Migration) -> Document:
    return {
        "id": integer_id(move.uuid),
        "uuid": move.uuid,
        "instance_uuid": move.instance_uuid,
        "migration_type": move.migration_type,
        "status": move.status,
        "source_compute": move.source_host,
        "source_node": move.source_node,
        "dest_compute": move.dest_host,
        "dest_host": None,
        "dest_node": move.dest_node,
        "old_flavor": None if move.old_flavor is None else move.old_flavor.name,
        "new_flavor": None if move.new_flavor is None else move.new_flavor.name,
        "memory_total_bytes": _bytes(move.memory_total_mb),
        "memory_remaining_bytes": _bytes(move.memory_remaining_mb),
        "memory_processed_bytes": _processed(move),
        "project_id": move.project_id,
        "user_id": move.user_id,
        "created_at": times.microseconds(move.created_at),
        "updated_at": times.microseconds(move.updated_at),
        "armillary:cell_uuid": move.cell_uuid,
    }


def _flavor_id(flavor: Flavor | None) -> int | None:
    return None if flavor is None else integer_id(flavor.flavorid)


def _bytes(mebibytes: int | None) -> int | None:
    return None if mebibytes is None else mebibytes * 1024 * 1024


def _processed(move: Migration) -> int | None:
    if move.memory_total_mb is None or move.memory_remaining_mb is None:
        return None
    return _bytes(move.memory_total_mb - move.memory_remaining_mb)


ROUTES: Routes[Call] = {
    "/v2.1/servers/{server_id}/migrations": {
        "GET": server.action(
            index_of_server,
            policies.OF_SERVER_INDEX,
            schemas.OF_SERVER_ANSWER,
            query=schemas.OF_SERVER_QUERY,
            since=OF_SERVER_SINCE,
        )
    },
    "/v2.1/servers/{server_id}/migrations/{migration_id}": {
        "GET": server.action(show, policies.SHOW, schemas.SHOW_ANSWER, since=OF_SERVER_SINCE),
        "DELETE": server.action(abort, policies.ABORT, status=202, since=(2, 24)),
    },
    "/v2.1/servers/{server_id}/migrations/{migration_id}/action": {
        "POST": ActionByBody(
            {
                "force_complete": server.action(
                    force_complete,
                    policies.FORCE_COMPLETE,
                    since=(2, 22),
                    body=schemas.FORCE_COMPLETE,
                    status=202,
                )
            }
        )
    },
    "/v2.1/os-migrations": {
        "GET": Action(
            index,
            policies.INDEX,
            schemas.INDEX_ANSWER,
            query=schemas.INDEX_QUERY,
            refuses_unknown_since=(2, 59),
        )
    },
}
