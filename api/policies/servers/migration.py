"""Migrations: who may see and abort them."""

from __future__ import annotations

from api.policies.base import ADMIN, rule

INDEX = "os_compute_api:os-migrations:index"
OF_SERVER_INDEX = "os_compute_api:servers:migrations:index"
SHOW = "os_compute_api:servers:migrations:show"
ABORT = "os_compute_api:servers:migrations:delete"

_OF_SERVER = "/v2.1/servers/{server_id}/migrations"

RULES = [
    rule(INDEX, ADMIN, "List migrations.", [("GET", "/v2.1/os-migrations")]),
    rule(OF_SERVER_INDEX, ADMIN, "List the migrations of a server.", [("GET", _OF_SERVER)]),
    rule(SHOW, ADMIN, "Show a migration of a server.", [("GET", f"{_OF_SERVER}/{{migration_id}}")]),
    rule(ABORT, ADMIN, "Abort a live migration.", [("DELETE", f"{_OF_SERVER}/{{migration_id}}")]),
]
