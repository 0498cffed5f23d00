"""Migrations: who may see, abort and force them."""

from __future__ import annotations

from api.policies.base import ADMIN, rule

INDEX = "os_compute_api:os-migrations:index"
OF_SERVER_INDEX = "os_compute_api:servers:migrations:index"
SHOW = "os_compute_api:servers:migrations:show"
ABORT = "os_compute_api:servers:migrations:delete"
FORCE_COMPLETE = "os_compute_api:servers:migrations:force_complete"

_OF_SERVER = "/v2.1/servers/{server_id}/migrations"

RULES = [
    rule(INDEX, ADMIN, "List migrations.", [("GET", "/v2.1/os-migrations")]),
    rule(OF_SERVER_INDEX, ADMIN, "List the migrations of a server.", [("GET", _OF_SERVER)]),
    rule(SHOW, ADMIN, "Show a migration of a server.", [("GET", f"{_OF_SERVER}/{{migration_id}}")]),
    rule(ABORT, ADMIN, "Abort a live migration.", [("DELETE", f"{_OF_SERVER}/{{migration_id}}")]),
    rule(
        FORCE_COMPLETE,
        ADMIN,
        "Force a live migration to complete.",
        [("POST", f"{_OF_SERVER}/{{migration_id}}/action")],
    ),
]
