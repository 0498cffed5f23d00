"""Servers as responses show them, in the Compute API's format."""

from collections.abc import Mapping

from api.call import Call
from api.formats import addresses, times
from api.formats.host_details import without_host_details
from api.image.documents import COMMAND
from api.policies.servers import server as policies
from armillary.http.call import Document
from objects.flavor import Flavor
from objects.hosts.service import Service
from objects.instance import UNKNOWN, Instance
from objects.instances.guest_names import hostname_of
from objects.instances.instance_fault import UNASKED, InstanceFault
from objects.instances.power_states import NO_POWER_STATE, number_of
from objects.instances.server_changes import ServerChanges
from objects.instances.server_settings import ServerSettings

COLLECTION = "servers"

STATUSES = {
    "building": "BUILD",
    "active": "ACTIVE",
    "stopped": "SHUTOFF",
    "resized": "VERIFY_RESIZE",
    "shelved": "SHELVED",
    "shelved_offloaded": "SHELVED_OFFLOADED",
    "soft-delete": "SOFT_DELETED",
    "paused": "PAUSED",
    "suspended": "SUSPENDED",
    "rescued": "RESCUE",
    "error": "ERROR",
    "deleted": "DELETED",
    UNKNOWN: "UNKNOWN",
}
STATUSES_OF_TASKS = {
    "rebooting": "REBOOT",
    "rebooting_hard": "HARD_REBOOT",
    "rebuilding": "REBUILD",
    "resize_prep": "RESIZE",
    "resize_migrating": "RESIZE",
    "resize_finish": "RESIZE",
    "resize_reverting": "REVERT_RESIZE",
    "migrating": "MIGRATING",
}
"""Task states that are shown as separate statuses."""
PROGRESS = {"BUILD": 0, "ACTIVE": 0, "REBUILD": 0, "RESIZE": 0, "VERIFY_RESIZE": 0, "MIGRATING": 0}
"""Progress by status, in percent: it is not measured, other statuses show none."""
SECURITY_GROUPS = [{"name": "default"}]
"""Security groups of every server: no network service makes others."""
NO_SETTINGS = ServerSettings.from_values()
FLAVOR_SHOWN_SINCE = (2, 47)
"""Servers of earlier versions link to their flavor."""
HOST_STATUS_SINCE = (2, 16)
CHANGED_LIKE_SHOWN_SINCE = (2, 75)
HOSTNAME = "OS-EXT-SRV-ATTR:hostname"
HOSTNAME_SHOWN_SINCE = (2, 90)
"""In earlier versions it is for administrators."""
UNKNOWN_SHOWN_SINCE = (2, 69)
"""Earlier versions leave servers of silent cells out of lists, and cannot show them."""
UNKNOWN_ZONE = "UNKNOWN"


def status_of(server: Instance) -> str:
    """Return the Compute API's status of a server."""
    return STATUSES_OF_TASKS.get(server.task_state or "", STATUSES[server.vm_state])


def changed(call: Call, server: Instance) -> Document:
    """Return a server as answers to its change show it: addresses without more until 2.74."""
    if server.vm_state == UNKNOWN:
        return _unknown_in_details(call, server)
    shown = views(call, [server])[0]
    if call.version < CHANGED_LIKE_SHOWN_SINCE:
        shown["addresses"] = addresses.brief(server)
    return shown


def settings_of(server: Instance) -> ServerSettings:
    """Return a server's settings, those by default if it has none or they are not known."""
    known = server.settings if server.obj_attr_is_set("settings") else None
    return known or NO_SETTINGS


def unknown_with(server: Instance, changes: ServerChanges) -> Instance:
    """Return an unknown server with the metadata and tags that it is to have."""
    metadata = {key: value for key, value in changes.metadata.items() if value is not None}
    settings = NO_SETTINGS.with_values(tags=list(changes.tags_added))
    return server.with_values(metadata=metadata, settings=settings)


def shows_unknown(call: Call) -> bool:
    """Return whether answers have servers of cells and zones that do not answer."""
    return call.version >= UNKNOWN_SHOWN_SINCE


def brief(call: Call, server: Instance) -> Document:
    """Return a server as lists without details show it."""
    if server.vm_state == UNKNOWN:
        return _unknown(call, server)
    return {"id": server.uuid, "name": server.name, "links": call.links.of(COLLECTION, server.uuid)}


def views(call: Call, servers: list[Instance]) -> list[Document]:
    """Return servers with all fields; the route's schema drops those of other versions.

    Of unknown servers, it returns the fields of lists.
    """
    shows_hosts = call.allows(policies.EXTENDED_ATTRIBUTES)
    statuses = _host_statuses(call, servers) if shows_hosts else None
    return [
        _unknown_in_details(call, server) if server.vm_state == UNKNOWN
        else _show(call, server) | (_location_fields(server, statuses) if shows_hosts else {})
        for server in servers
    ]  # fmt: skip


def view(call: Call, server: Instance) -> Document:
    """Return one server with all fields; of an unknown one, with those that are known."""
    if server.vm_state != UNKNOWN:
        return views(call, [server])[0]
    is_flavor_known = server.obj_attr_is_set("flavor")
    return {
        **_unknown_in_details(call, server),
        "user_id": server.user_id,
        "image": _image(call, server),
        **({"flavor": _flavor(call, server.flavor)} if is_flavor_known else {}),
        "OS-EXT-AZ:availability_zone": server.availability_zone or UNKNOWN_ZONE,
        "OS-EXT-STS:power_state": NO_POWER_STATE,
        "OS-EXT-STS:task_state": server.task_state,
        "server_groups": [server.group_uuid] if server.group_uuid else [],
        **_asked_for(server),
    }


def _unknown(call: Call, server: Instance) -> Document:
    links = call.links.of(COLLECTION, server.uuid)
    return {"id": server.uuid, "status": STATUSES[UNKNOWN], "links": links}


def _unknown_in_details(call: Call, server: Instance) -> Document:
    created = times.seconds(server.created_at)
    return {**_unknown(call, server), "tenant_id": server.project_id, "created": created}


def _asked_for(server: Instance) -> Document:
    return {
        "pinned_availability_zone": server.pinned_availability_zone,
        "armillary:scheduler_hints": server.scheduler_hints,
    }


def _show(call: Call, server: Instance) -> Document:
    status = status_of(server)
    settings = settings_of(server)
    return {
        **brief(call, server),
        "status": status,
        "tenant_id": server.project_id,
        "user_id": server.user_id,
        "hostId": call.host_id(server.project_id, server.host),
        "created": times.seconds(server.created_at),
        "updated": times.seconds(server.updated_at or server.created_at),
        "flavor": _flavor(call, server.flavor),
        "image": _image(call, server),
        "metadata": server.metadata,
        "addresses": addresses.of(server),
        "accessIPv4": settings.access_ip_v4 or "",
        "accessIPv6": settings.access_ip_v6 or "",
        "description": settings.description,
        "tags": settings.tags,
        "server_groups": [server.group_uuid] if server.group_uuid else [],
        "OS-DCF:diskConfig": settings.disk_config,
        "OS-EXT-AZ:availability_zone": server.availability_zone or "",
        "OS-EXT-STS:vm_state": server.vm_state,
        "OS-EXT-STS:task_state": server.task_state,
        "OS-EXT-STS:power_state": number_of(server.power_state),
        "OS-SRV-USG:launched_at": times.microseconds(server.launched_at),
        "OS-SRV-USG:terminated_at": times.microseconds(server.deleted_at),
        "config_drive": "True" if settings.config_drive else "",
        "key_name": settings.key_name,
        "os-extended-volumes:volumes_attached": _volumes(settings),
        "security_groups": SECURITY_GROUPS,
        "trusted_image_certificates": None,
        **({HOSTNAME: hostname_of(server)} if call.version >= HOSTNAME_SHOWN_SINCE else {}),
        **_asked_for(server),
        "locked": server.locked,
        "locked_reason": server.locked_reason,
        "armillary:attempt": server.attempt,
        "armillary:exit_code": server.exit_code,
        **({"progress": PROGRESS[status]} if status in PROGRESS else {}),
        **_fault(call, server),
    }


def _location_fields(server: Instance, statuses: Mapping[str, str] | None) -> Document:
    return {
        "OS-EXT-SRV-ATTR:host": server.host,
        "OS-EXT-SRV-ATTR:hypervisor_hostname": server.node,
        "OS-EXT-SRV-ATTR:instance_name": server.name,
        "OS-EXT-SRV-ATTR:reservation_id": server.reservation_id,
        "OS-EXT-SRV-ATTR:launch_index": server.launch_index,
        HOSTNAME: hostname_of(server),
        "OS-EXT-SRV-ATTR:root_device_name": None,
        "OS-EXT-SRV-ATTR:kernel_id": "",
        "OS-EXT-SRV-ATTR:ramdisk_id": "",
        "OS-EXT-SRV-ATTR:user_data": settings_of(server).user_data,
        "armillary:zone": server.zone or "",
        **_host_status_field(server, statuses),
    }


def _host_status_field(server: Instance, statuses: Mapping[str, str] | None) -> dict[str, str]:
    if statuses is None:
        return {}
    host = _own_host(server)
    return {"host_status": "" if server.host is None else statuses.get(host or "", "UNKNOWN")}


def _host_statuses(call: Call, servers: list[Instance]) -> dict[str, str] | None:
    """Return the status of the servers' hosts, if it is shown.

    It takes a second RPC call. Armillary's own clients, which poll lists of servers, skip it.
    """
    if call.version < HOST_STATUS_SINCE or call.shows_own:
        return None
    hosts = sorted({host for server in servers if (host := _own_host(server)) is not None})
    if not hosts:
        return {}
    services = call.conductor.find_compute_services(call.context, hosts)
    return {host: _host_status(service) for host, service in services.items()}


def _own_host(server: Instance) -> str | None:
    """Return the host of a server unless it is another zone's, whose name may be that of ours."""
    return None if server.zone else server.host


def _host_status(service: Service) -> str:
    if service.forced_down:
        return "DOWN"
    if not service.up:
        return "UNKNOWN"
    return "MAINTENANCE" if service.disabled else "UP"


def _flavor(call: Call, flavor: Flavor) -> Document:
    """Return the server's copy of its flavor, which may have changed since, or a link to it."""
    if call.version < FLAVOR_SHOWN_SINCE:
        return {"id": flavor.flavorid, "links": call.links.bookmark("flavors", flavor.flavorid)}
    return {
        "original_name": flavor.name,
        "vcpus": flavor.vcpus,
        "ram": flavor.memory_mb,
        "disk": flavor.root_gb,
        "ephemeral": flavor.ephemeral_gb,
        "swap": flavor.swap_mb,
        "extra_specs": flavor.extra_specs,
    }


def _image(call: Call, server: Instance) -> Document | str:
    if server.image is None:
        return ""
    return {"id": server.image.id, "links": call.links.bookmark("images", server.image.id)}


def _volumes(settings: ServerSettings) -> list[Document]:
    """Return the volume that the server boots from, which outlives it."""
    volume = settings.root_volume
    return [{"id": volume, "delete_on_termination": False}] if volume else []


def _is_unasked(server: Instance, fault: InstanceFault) -> bool:
    """Return whether a fault says why the server is as it is now."""
    changed_at, happened_at = server.updated_at, fault.created_at
    is_last = changed_at is None or happened_at is None or happened_at >= changed_at
    return fault.code == UNASKED and is_last


def told_by_user(server: Instance) -> list[str]:
    """Return what of a server's own may contain paths that its faults name: its command.

    Other properties would let a user find out by guesses which paths a message has.
    """
    found = None if server.image is None else server.image.properties.get(COMMAND)
    return [] if found is None else [found]


def _fault(call: Call, server: Instance) -> Document:
    """Return why a server is in ERROR, or is paused or is off without a request.

    A failed attempt of a running server is not its fault, nor is what a later change has ended.
    """
    if server.fault is None or not (
        status_of(server) in ("ERROR", "DELETED") or _is_unasked(server, server.fault)
    ):
        return {}
    message = server.fault.message
    if not call.context.is_admin:
        names = (server.fault.host, server.host, server.node)
        message = without_host_details(message, names, told_by_user=told_by_user(server))
    fault = {
        "code": server.fault.code,
        "message": message,
        "created": times.seconds(server.fault.created_at),
    }
    if call.context.is_admin and server.fault.details is not None:
        fault["details"] = server.fault.details
    return {"fault": fault}
