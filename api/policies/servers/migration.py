"""Migrations: who may see, abort and force them."""

from api.policies.base import ADMIN, rule

INDEX = "os_compute_api:os-migrations:index"
OF_SERVER_INDEX = "os_compute_api:servers:migrations:index"
SHOW = "os_compute_api:servers:migrations:show"
ABORT = "os_compute_api:servers:migrations:delete"
FORCE_COMPLETE = "os_compute_api:servers:migrations:force_complete"

RULES = [
    rule(INDEX, ADMIN, "List migrations."),
    rule(OF_SERVER_INDEX, ADMIN, "List the migrations of a server."),
    rule(SHOW, ADMIN, "Show a migration of a server."),
    rule(ABORT, ADMIN, "Abort a live migration."),
    rule(FORCE_COMPLETE, ADMIN, "Force a live migration to complete."),
]
