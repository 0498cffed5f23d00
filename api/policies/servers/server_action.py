"""Actions on servers: who may stop, move, shelve, lock them and see their console."""

from api.policies.base import ADMIN, MEMBER, NOBODY, rule

START = "os_compute_api:servers:start"
STOP = "os_compute_api:servers:stop"
REBOOT = "os_compute_api:servers:reboot"
REBUILD = "os_compute_api:servers:rebuild"
RESIZE = "os_compute_api:servers:resize"
RESIZE_CROSS_CELL = "compute:servers:resize:cross_cell"
CONFIRM_RESIZE = "os_compute_api:servers:confirm_resize"
REVERT_RESIZE = "os_compute_api:servers:revert_resize"
MIGRATE = "os_compute_api:os-migrate-server:migrate"
LIVE_MIGRATE = "os_compute_api:os-migrate-server:migrate_live"
EVACUATE = "os_compute_api:os-evacuate"
SHELVE = "os_compute_api:os-shelve:shelve"
SHELVE_OFFLOAD = "os_compute_api:os-shelve:shelve_offload"
UNSHELVE = "os_compute_api:os-shelve:unshelve"
UNSHELVE_TO_HOST = "os_compute_api:os-shelve:unshelve_to_host"
LOCK = "os_compute_api:os-lock-server:lock"
UNLOCK = "os_compute_api:os-lock-server:unlock"
UNLOCK_OVERRIDE = "os_compute_api:os-lock-server:unlock:unlock_override"
RESTORE = "os_compute_api:os-deferred-delete:restore"
FORCE_DELETE = "os_compute_api:os-deferred-delete:force"
PAUSE = "os_compute_api:os-pause-server:pause"
UNPAUSE = "os_compute_api:os-pause-server:unpause"
SUSPEND = "os_compute_api:os-suspend-server:suspend"
RESUME = "os_compute_api:os-suspend-server:resume"
RESCUE = "os_compute_api:os-rescue"
UNRESCUE = "os_compute_api:os-unrescue"
RESET_STATE = "os_compute_api:os-admin-actions:reset_state"
CREATE_IMAGE = "os_compute_api:servers:create_image"
CREATE_BACKUP = "os_compute_api:os-create-backup"
CONSOLE_OUTPUT = "os_compute_api:os-console-output"
ADMIN_PASS = "os_compute_api:os-admin-password"  # noqa: S105 - the name of a rule
TRIGGER_CRASH_DUMP = "os_compute_api:servers:trigger_crash_dump"
INJECT_NETWORK_INFO = "os_compute_api:os-admin-actions:inject_network_info"
RESET_NETWORK = "os_compute_api:os-admin-actions:reset_network"

_ACTION = [("POST", "/v2.1/servers/{server_id}/action")]

RULES = [
    rule(START, MEMBER, "Start a server."),
    rule(STOP, MEMBER, "Stop a server."),
    rule(REBOOT, MEMBER, "Reboot a server."),
    rule(REBUILD, MEMBER, "Rebuild a server on its host."),
    rule(RESIZE, MEMBER, "Resize a server."),
    rule(
        RESIZE_CROSS_CELL,
        NOBODY,
        "Allow a resize or cold migration to another cell if no host of the server's cell fits.",
        _ACTION,
    ),
    rule(CONFIRM_RESIZE, MEMBER, "Confirm a resize."),
    rule(REVERT_RESIZE, MEMBER, "Revert a resize."),
    rule(MIGRATE, ADMIN, "Cold-migrate a server."),
    rule(LIVE_MIGRATE, ADMIN, "Live-migrate a server."),
    rule(EVACUATE, ADMIN, "Evacuate a server from a dead host."),
    rule(SHELVE, MEMBER, "Shelve a server."),
    rule(SHELVE_OFFLOAD, ADMIN, "Offload a shelved server from its host."),
    rule(UNSHELVE, MEMBER, "Unshelve a server."),
    rule(UNSHELVE_TO_HOST, ADMIN, "Unshelve a server to a host that is named.", _ACTION),
    rule(LOCK, MEMBER, "Lock a server."),
    rule(UNLOCK, MEMBER, "Unlock a server."),
    rule(UNLOCK_OVERRIDE, ADMIN, "Unlock a server that an administrator locked.", _ACTION),
    rule(RESTORE, MEMBER, "Restore a soft-deleted server."),
    rule(FORCE_DELETE, MEMBER, "Delete a server immediately, without soft delete."),
    rule(PAUSE, MEMBER, "Pause a server."),
    rule(UNPAUSE, MEMBER, "Let a paused server continue."),
    rule(SUSPEND, MEMBER, "Suspend a server."),
    rule(RESUME, MEMBER, "Resume a suspended server."),
    rule(RESCUE, MEMBER, "Run another image in place of a server."),
    rule(UNRESCUE, MEMBER, "End the rescue of a server."),
    rule(RESET_STATE, ADMIN, "Set the recorded state of a server."),
    rule(CREATE_IMAGE, MEMBER, "Make an image of a server."),
    rule(CREATE_BACKUP, MEMBER, "Make a backup of a server, and delete older ones."),
    rule(ADMIN_PASS, MEMBER, "Set the password of a server's administrator."),
    rule(TRIGGER_CRASH_DUMP, MEMBER, "Have a server's kernel dump its memory."),
    rule(INJECT_NETWORK_INFO, ADMIN, "Tell a server about its network; it has no effect."),
    rule(RESET_NETWORK, ADMIN, "Reset a server's network; it has no effect."),
    rule(CONSOLE_OUTPUT, MEMBER, "See the console output of a server."),
]
