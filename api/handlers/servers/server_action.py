"""Actions on a server: one function per action of the path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from api.call import Call
from api.handlers.servers import live_checks
from api.handlers.servers.guest_settings import files_in, guest_settings, new_password
from api.handlers.servers.server import change, load_for_display
from api.handlers.servers.server_request import last_part, settings_in
from api.handlers.servers.server_view import COLLECTION, changed, settings_of
from api.policies.servers import server_action as policies
from api.policies.servers.server import ZERO_DISK_FLAVOR
from api.schemas.servers import server_action as schemas
from api.validation import required_field
from armillary import exception
from armillary.http.call import Answer, Document
from armillary.http.validation import invalid
from objects.instance import UNKNOWN
from objects.instances.operation_arguments import OperationArguments
from objects.instances.server_changes import ServerChanges

Handler = Callable[[Call], Answer]
EVACUATED_OFF_SINCE = (2, 95)
"""Since this version evacuated servers are stopped, except for those of our own clients."""


def _operate(call: Call, operation: str, **arguments: Any) -> Answer:
    given = OperationArguments(**arguments)
    call.conductor.operate_server(call.context, call.path["server_id"], operation, given)
    return Answer()


def plain(operation: str, summary: str) -> Handler:
    """Return the handler of an operation without arguments; ``summary`` describes it."""

    def handle(call: Call) -> Answer:
        return _operate(call, operation)

    handle.__name__, handle.__doc__ = operation, summary
    return handle


def reboot(call: Call) -> Answer:
    """Reboot the server; HARD does not shut it down first."""
    return _operate(call, "reboot", is_hard=call.body["reboot"]["type"].upper() == "HARD")


def lock(call: Call) -> Answer:
    """Lock the server: only administrators can change it."""
    return _operate(call, "lock", reason=(call.body["lock"] or {}).get("locked_reason"))


def unlock(call: Call) -> Answer:
    """Unlock the server; an administrator's lock requires a separate policy."""
    return _operate(call, "unlock", override=call.allows(policies.UNLOCK_OVERRIDE))


def resize(call: Call) -> Answer:
    """Resize the server, optionally on another host; it waits for confirmation."""
    wanted = call.body["resize"]
    reference = wanted["flavorRef"]
    try:
        accepted = _operate(call, "resize", flavor=last_part(reference), **_cross_cell(call))
    except exception.FlavorNotFound as error:
        raise invalid("resize.flavorRef", reference, error.message) from error
    if settings := settings_in(wanted):
        change(call, ServerChanges(settings=settings))
    return accepted


def migrate(call: Call) -> Answer:
    """Cold-migrate the server, which is off meanwhile; it waits for confirmation."""
    return _moved(call, "migrate", "migrate", **_cross_cell(call))


def live_migrate(call: Call) -> Answer:
    """Live-migrate the server; earlier versions wait for the checks before it."""
    has_overcommit = call.version <= schemas.OVERCOMMIT_UNTIL
    required = [*schemas.LIVE_MIGRATE_REQUIRED, *(["disk_over_commit"] if has_overcommit else [])]
    _check_given(call, "os-migrateLive", *required)
    accepted = _moved(call, "os-migrateLive", "live_migrate")
    if call.version < live_checks.ASYNCHRONOUS_SINCE:
        live_checks.wait_for(call)
    return accepted


def evacuate(call: Call) -> Answer:
    """Rebuild the server elsewhere because its host is down; since 2.95 it is off there."""
    _check_given(call, "evacuate")
    stays_off = call.version >= EVACUATED_OFF_SINCE and not call.shows_own
    accepted = _moved(call, "evacuate", "evacuate", **({"stays_off": True} if stays_off else {}))
    if call.version > schemas.PASSWORD_OF_EVACUATION_UNTIL:
        return accepted
    wanted = call.body["evacuate"] or {}
    return Answer({"adminPass": wanted.get("adminPass") or new_password(call.repeat_secret)})


def unshelve(call: Call) -> Answer:
    """Unshelve the server, to a zone or host if it was offloaded; no zone unpins it.

    A host requires a separate policy: users are not told the names of hosts.
    """
    wanted = call.body["unshelve"] or {}
    if call.version < schemas.ZONE_OF_UNSHELVE_SINCE:
        wanted = {}
    zone, host = wanted.get("availability_zone"), wanted.get("host")
    unpins_zone = zone is None and "availability_zone" in wanted
    if host is not None:
        call.authorize(policies.UNSHELVE_TO_HOST)
    try:
        return _operate(
            call, "unshelve", availability_zone=zone, host=host, unpins_zone=unpins_zone
        )
    except exception.HostNotFound as error:
        raise invalid("unshelve.host", host, error.message) from error
    except exception.AvailabilityZoneNotFound as error:
        raise invalid("unshelve.availability_zone", zone, error.message) from error


def rebuild(call: Call) -> Answer:
    """Rebuild the server on its host, from the same image or another one."""
    wanted = call.body["rebuild"]
    reference = wanted["imageRef"]
    if call.subject.vm_state != UNKNOWN and call.subject.boots_from_volume:
        rule = "A server that boots from a volume cannot be rebuilt from an image"
        raise invalid("rebuild.imageRef", reference, rule)
    given, password = guest_settings(call, "rebuild", wanted)
    changes = ServerChanges(
        name=wanted.get("name"),
        metadata=wanted.get("metadata", {}),
        replaces_metadata="metadata" in wanted,
        settings={**settings_in(wanted), **given},
        files=files_in(wanted) if "personality" in wanted else None,
    )
    try:
        image = call.site.images.lookup(call.context, last_part(reference))
        _operate(call, "rebuild", image=image, changes=changes, **_needs_root_disk(call))
    except exception.ImageNotFound as error:
        raise invalid("rebuild.imageRef", reference, error.message) from error
    server = load_for_display(call)
    user_data = settings_of(server).user_data
    shown = {**changed(call, server), "user_data": user_data, "adminPass": password}
    here = call.links.of(COLLECTION, server.uuid)[0]["href"]
    return Answer({"server": shown}, headers={"Location": here})


def rescue(call: Call) -> Answer:
    """Run another image, or a new start of the same one, in place of the server."""
    wanted = call.body["rescue"] or {}
    reference = wanted.get("rescue_image_ref")
    try:
        image = call.site.images.lookup(call.context, last_part(reference)) if reference else None
        _operate(call, "rescue", image=image, **_needs_root_disk(call))
    except exception.ImageNotFound as error:
        raise invalid("rescue.rescue_image_ref", reference, error.message) from error
    return Answer({"adminPass": wanted.get("adminPass") or new_password(call.repeat_secret)})


def reset_state(call: Call) -> Answer:
    """Set the recorded state of the server, after a repair by hand."""
    return _operate(call, "reset_state", vm_state=call.body["os-resetState"]["state"])


def change_password(call: Call) -> Answer:
    """Set the password of the server's administrator."""
    password = call.body["changePassword"]["adminPass"]
    try:
        call.conductor.set_admin_password(call.context, call.path["server_id"], password=password)
    except exception.OperationUnsupported as error:
        raise exception.Conflict(error.message) from error
    return Answer()


def trigger_crash_dump(call: Call) -> Answer:
    """Have the server's kernel dump its memory where it keeps dumps, and usually reboot."""
    call.conductor.trigger_crash_dump(call.context, call.path["server_id"])
    return Answer()


def inject_network_info(call: Call) -> Answer:
    """Leave the server's network as it is: it is its host's."""
    return Answer()


def reset_network(call: Call) -> Answer:
    """Leave the server's network as it is: it is its host's."""
    return Answer()


def console_output(call: Call) -> Answer:
    """Show the last console output of the server."""
    wanted = (call.body["os-getConsoleOutput"] or {}).get("length")
    lines = None if wanted == schemas.ALL_LINES else wanted
    output = call.conductor.get_console_output(call.context, call.path["server_id"], lines=lines)
    # As Nova: so many parts between line ends, the one after the last line end among them.
    return Answer({"output": output if lines is None else output.removesuffix("\n")})


def _check_given(call: Call, action: str, *required: str) -> None:
    """Raise Invalid unless the body of an action is an object with these fields.

    Our own clients, which ask for our own fields, may leave them out: they all have defaults.
    """
    if call.shows_own:
        return
    wanted = call.body[action]
    if wanted is None:
        raise invalid(action, wanted, "It must be an object")
    for name in required:
        if name not in wanted:
            raise exception.Invalid(required_field(f"{action}.{name}"))


def _needs_root_disk(call: Call) -> Document:
    """Return the argument that refuses a flavor without a disk, unless the policy permits it."""
    return {} if call.allows(ZERO_DISK_FLAVOR) else {"needs_root_disk": True}


def _cross_cell(call: Call) -> Document:
    """Return the argument that allows a move to another cell, if the policy permits it."""
    return {"is_cross_cell": True} if call.allows(policies.RESIZE_CROSS_CELL) else {}


def _moved(call: Call, action: str, operation: str, **more: Any) -> Answer:
    host = (call.body[action] or {}).get("host")
    try:
        return _operate(call, operation, host=host, **more)
    except exception.HostNotFound as error:
        raise invalid(f"{action}.host", host, error.message) from error
