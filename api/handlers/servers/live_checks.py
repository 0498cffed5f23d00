"""Checks before a live migration, whose failure earlier microversions answer with 400."""

import time
from collections.abc import Callable

from api.call import Call
from armillary import exception
from objects.instances.migration import MigrationStatus, MigrationType
from objects.instances.server_filters import MigrationFilters

ASYNCHRONOUS_SINCE = (2, 34)
"""Since this version the outcome of the checks is seen in the migration only."""
WAIT_SECONDS_MAX = 10.0
"""How long the checks may take; the answer is then that the request was accepted."""
_INTERVAL_SECONDS = 0.2
ACTION = "live_migrate"
_CHECKING = frozenset(
    {MigrationStatus.ACCEPTED, MigrationStatus.PRE_MIGRATING, MigrationStatus.PREPARING}
)


def wait_for(
    call: Call,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Wait until a server's live migration was checked. Raises Invalid if a check failed."""
    server_id = call.path["server_id"]
    filters = MigrationFilters(instance_uuid=server_id, migration_type=MigrationType.LIVE_MIGRATION)
    end = clock() + WAIT_SECONDS_MAX
    while clock() < end:
        found = call.conductor.list_migrations(call.context, filters=filters, limit=1).migrations
        if not found or found[0].status not in _CHECKING:
            break
        sleep(_INTERVAL_SECONDS)
    if found and found[0].status == MigrationStatus.ERROR:
        raise exception.Invalid(reason=f"The live migration cannot begin. {_reason(call)}")


def _reason(call: Call) -> str:
    """Return why the last live migration failed; administrators only may begin one."""
    actions = call.conductor.list_server_actions(call.context, call.path["server_id"])
    latest = next((each for each in actions if each.action == ACTION), None)
    details = [] if latest is None else [each.details for each in latest.events if each.details]
    return details[-1] if details else "See the events of the server's last action."
