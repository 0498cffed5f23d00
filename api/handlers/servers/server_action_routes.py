"""Actions on a server's path: names, handlers, policies and schemas."""

from dataclasses import replace

from api.call import Call
from api.handlers.networks import network_proxy, server_security_group
from api.handlers.servers import remote_console, server, server_action, server_snapshot
from api.policies.servers import server_action as policies
from api.schemas.servers import server as server_schemas
from api.schemas.servers import server_action as schemas
from armillary.http.call import Document
from armillary.http.dispatch import Action, ActionByBody, Routes


def _action(handler: server_action.Handler, rule: str, body: Document) -> Action[Call]:
    return Action(handler, rule, body=body, status=202, subject=server.load_for_change)


def _plain(name: str, operation: str, rule: str, summary: str) -> Action[Call]:
    return _action(server_action.plain(operation, summary), rule, schemas.nothing(name))


ACTIONS = ActionByBody(
    {
        "os-start": _plain("os-start", "start", policies.START, "Start the server."),
        "os-stop": _plain(
            "os-stop", "stop", policies.STOP, "Stop the server; it keeps its host and resources."
        ),
        "reboot": _action(server_action.reboot, policies.REBOOT, schemas.REBOOT),
        "rebuild": Action(
            server_action.rebuild,
            policies.REBUILD,
            server_schemas.REBUILD_ANSWER,
            body=server_schemas.REBUILD,
            status=202,
            subject=server.load_for_display,
        ),
        "resize": _action(server_action.resize, policies.RESIZE, schemas.RESIZE),
        "confirmResize": replace(
            _plain(
                "confirmResize",
                "confirm_resize",
                policies.CONFIRM_RESIZE,
                "Confirm a resize or migration: release the resources at the source.",
            ),
            status=204,
        ),
        "revertResize": _plain(
            "revertResize",
            "revert_resize",
            policies.REVERT_RESIZE,
            "Revert a resize or migration: return to the source.",
        ),
        "migrate": _action(server_action.migrate, policies.MIGRATE, schemas.MIGRATE),
        "os-migrateLive": _action(
            server_action.live_migrate, policies.LIVE_MIGRATE, schemas.LIVE_MIGRATE
        ),
        "evacuate": replace(
            _action(server_action.evacuate, policies.EVACUATE, schemas.EVACUATE),
            answer=schemas.EVACUATE_ANSWER,
            status=200,
        ),
        "createImage": server.action(
            server_snapshot.create_image,
            policies.CREATE_IMAGE,
            schemas.CREATED_IMAGE_ANSWER,
            body=schemas.CREATE_IMAGE,
            status=202,
        ),
        "createBackup": server.action(
            server_snapshot.create_backup,
            policies.CREATE_BACKUP,
            schemas.CREATED_IMAGE_ANSWER,
            body=schemas.CREATE_BACKUP,
            status=202,
        ),
        "pause": _plain("pause", "pause", policies.PAUSE, "Stop the server where it is."),
        "unpause": _plain("unpause", "unpause", policies.UNPAUSE, "Let it continue."),
        "suspend": _plain(
            "suspend", "suspend", policies.SUSPEND, "Stop it where it is, and free its memory."
        ),
        "resume": _plain("resume", "resume", policies.RESUME, "Let a suspended one continue."),
        "rescue": Action(
            server_action.rescue,
            policies.RESCUE,
            schemas.RESCUE_ANSWER,
            body=schemas.RESCUE,
            subject=server.load_for_change,
        ),
        "unrescue": _plain("unrescue", "unrescue", policies.UNRESCUE, "Start it as itself again."),
        "os-resetState": _action(
            server_action.reset_state, policies.RESET_STATE, schemas.RESET_STATE
        ),
        "shelve": _plain(
            "shelve",
            "shelve",
            policies.SHELVE,
            "Shelve the server: stop it now, and offload it from its host later.",
        ),
        "shelveOffload": _plain(
            "shelveOffload",
            "shelve_offload",
            policies.SHELVE_OFFLOAD,
            "Offload the shelved server from its host now.",
        ),
        "unshelve": _action(server_action.unshelve, policies.UNSHELVE, schemas.UNSHELVE),
        "lock": _action(server_action.lock, policies.LOCK, schemas.LOCK),
        "unlock": _action(server_action.unlock, policies.UNLOCK, schemas.nothing("unlock")),
        "restore": _plain(
            "restore", "restore", policies.RESTORE, "Restore the soft-deleted server."
        ),
        "forceDelete": _plain(
            "forceDelete",
            "force_delete",
            policies.FORCE_DELETE,
            "Delete the server immediately, without soft delete.",
        ),
        "changePassword": _action(
            server_action.change_password, policies.ADMIN_PASS, schemas.CHANGE_PASSWORD
        ),
        "trigger_crash_dump": replace(
            _action(
                server_action.trigger_crash_dump,
                policies.TRIGGER_CRASH_DUMP,
                schemas.nothing("trigger_crash_dump"),
            ),
            since=(2, 17),
        ),
        "injectNetworkInfo": _action(
            server_action.inject_network_info,
            policies.INJECT_NETWORK_INFO,
            schemas.nothing("injectNetworkInfo"),
        ),
        "resetNetwork": _action(
            server_action.reset_network, policies.RESET_NETWORK, schemas.nothing("resetNetwork")
        ),
        **remote_console.ACTIONS,
        **server_security_group.ACTIONS,
        **network_proxy.ACTIONS,
        "os-getConsoleOutput": server.action(
            server_action.console_output,
            policies.CONSOLE_OUTPUT,
            schemas.CONSOLE_OUTPUT_ANSWER,
            body=schemas.CONSOLE_OUTPUT,
        ),
    }
)

ROUTES: Routes[Call] = {"/v2.1/servers/{server_id}/action": {"POST": ACTIONS}}
