"""Servers: instances in the Compute API's format."""

from __future__ import annotations

import ipaddress
import json
import re
import secrets
import string
from collections.abc import Mapping
from typing import Any

from api import addresses, times
from api.call import Call
from api.policies.servers import server as policies
from api.schemas.servers import server as schemas
from armillary import exception
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes
from armillary.http.validation import invalid
from objects.extra_specs import host_query
from objects.flavor import Flavor
from objects.hosts.service import Service
from objects.instance import Instance
from objects.instances.new_servers import NewServers
from objects.instances.operation_arguments import OperationArguments
from objects.instances.server_answers import CreatedServers, ServerPage
from objects.instances.server_changes import ServerChanges
from objects.instances.server_filters import ALIVE, ANY, DELETED, ServerFilters
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
"""Tasks that are shown as a status of their own."""
POWER_STATES = {"running": 1, "paused": 3, "shutdown": 4, "suspended": 4}
NO_POWER_STATE = 0
PROGRESS = {"BUILD": 0, "ACTIVE": 0, "REBUILD": 0, "RESIZE": 0, "VERIFY_RESIZE": 0, "MIGRATING": 0}
"""Progress by status, in percent: it is not measured, other statuses show none."""

FILTERS = (
    "name",
    "host",
    "reservation_id",
    "uuid",
    "user_id",
    "flavor",
    "image",
    "availability_zone",
    "vm_state",
)
"""Query parameters that are filters as they stand."""
COMPUTE_BINARY = "armillary-compute"
DEFAULT_SECURITY_GROUPS = [{"name": "default"}]
NO_SETTINGS = ServerSettings.from_values()
FLAVOR_SHOWN_SINCE = (2, 47)
"""Servers of earlier versions link to their flavor."""
HOST_STATUS_SINCE = (2, 16)
CHANGED_LIKE_SHOWN_SINCE = (2, 75)
HOSTNAME = "OS-EXT-SRV-ATTR:hostname"
HOSTNAME_CHARACTERS_MAX = 63
HOSTNAME_SHOWN_SINCE = (2, 90)
"""In earlier versions it is for administrators."""
PASSWORD_LENGTH = 12
PASSWORD_CHARACTERS = string.ascii_letters + string.digits

# References in a build request, and the fields they may come from.
REFERENCES: dict[type[exception.ArmillaryError], tuple[str, ...]] = {
    exception.FlavorNotFound: ("server.flavorRef",),
    exception.ImageNotFound: ("server.imageRef",),
    exception.AvailabilityZoneNotFound: ("server.availability_zone",),
    exception.HostNotFound: ("server.host", "server.availability_zone"),
    exception.ComputeNodeNotFound: ("server.hypervisor_hostname", "server.availability_zone"),
    exception.ServerGroupNotFound: ("os:scheduler_hints.group", "OS-SCH-HNT:scheduler_hints.group"),
}


def load(call: Call) -> Instance:
    """Return the server of the path; raise ``InstanceNotFound``."""
    return call.conductor.get_server(call.context, call.path["server_id"])


def index(call: Call) -> Answer:
    """List servers by id and name."""
    listed = _list(call, policies.INDEX_ALL_PROJECTS)
    return _list_answer(call, listed, [_brief(call, server) for server in listed.instances])


def detail(call: Call) -> Answer:
    """List servers with details."""
    listed = _list(call, policies.DETAIL_ALL_PROJECTS)
    return _list_answer(call, listed, _views(call, listed.instances))


def show(call: Call) -> Answer:
    """Show a server."""
    return Answer({"server": _views(call, [call.subject])[0]})


def create(call: Call) -> Answer:
    """Create one or several servers; they are built after this response."""
    wanted = call.body["server"]
    authorize_targets(call, wanted)
    request = request_of(call.body)
    _check_key(call, wanted.get("key_name"))
    try:
        accepted = call.conductor.create_servers(call.context, request)
    except tuple(REFERENCES) as error:
        raise unknown_reference(error, call.body) from error
    return _created(call, accepted, only_reservation=wanted.get("return_reservation_id", False))


def delete(call: Call) -> Answer:
    """Delete a server, even while it is being built."""
    if call.subject.locked and not call.context.is_admin:
        raise exception.InstanceLocked(instance_uuid=call.subject.uuid)
    call.conductor.delete_server(call.context, call.path["server_id"])
    return Answer()


def update(call: Call) -> Answer:
    """Change the name, the description and other settings of a server."""
    wanted = call.body["server"]
    changes = ServerChanges(name=wanted.get("name"), settings=settings_in(wanted))
    return Answer({"server": changed(call, change(call, changes))})


def change(call: Call, changes: ServerChanges) -> Instance:
    """Change the server of the path, and return it."""
    server_id = call.path["server_id"]
    arguments = OperationArguments(changes=changes)
    call.conductor.operate_server(call.context, server_id, "update", arguments)
    return call.conductor.get_server(call.context, server_id)


def status_of(server: Instance) -> str:
    """Return the Compute API's status of a server."""
    return STATUSES_OF_TASKS.get(server.task_state or "", STATUSES[server.vm_state])


# Listing ------------------------------------------------------------------------------------------


def _list(call: Call, all_projects_rule: str) -> ServerPage:
    return call.conductor.list_servers(
        call.context,
        filters=_filters(call, all_projects_rule),
        limit=call.page_size,
        marker=call.query.get("marker"),
    )


def _filters(call: Call, all_projects_rule: str) -> ServerFilters:
    if "host" in call.query or call.query.get("deleted"):
        call.authorize(policies.ALL_FILTERS)
    project_id = call.query.get("project_id", call.query.get("tenant_id"))
    all_projects = call.query.get("all_tenants", False) in (True, "")
    if all_projects:
        call.authorize(all_projects_rule)
    existence = _existence(call)
    status = str(call.query["status"]).upper() if "status" in call.query else None
    return ServerFilters(
        **{name: call.query.get(name) for name in FILTERS},
        status=None if existence == DELETED and status == "DELETED" else status,
        changed_since=times.asked(call.query, "changes-since"),
        changed_before=times.asked(call.query, "changes-before"),
        project_id=project_id if all_projects else None,
        all_projects=all_projects,
        existence=existence,
    )


def _existence(call: Call) -> str:
    """Return which servers to list: with a time of changes also those deleted since."""
    is_deleted = call.query.get("deleted")
    if is_deleted is not None:
        return DELETED if is_deleted else ALIVE
    if str(call.query.get("status")).upper() == "DELETED" and call.context.is_admin:
        return DELETED
    return ANY if "changes-since" in call.query else ALIVE


def _list_answer(call: Call, listed: ServerPage, servers: list[Document]) -> Answer:
    body: Document = {"servers": servers}
    if servers and len(servers) == call.page_size:
        body["servers_links"] = call.links.next_page(listed.instances[-1].uuid)
    if listed.down_cells:
        body["armillary:partial"] = True
        if call.context.is_admin:
            body["armillary:down_cells"] = listed.down_cells
    return Answer(body)


# Creating -----------------------------------------------------------------------------------------


def _check_key(call: Call, name: str | None) -> None:
    """Raise ``Invalid`` for a key pair that the user does not have."""
    if name is None:
        return
    try:
        call.conductor.get_key_pair(call.context, str(call.context.user_id), name)
    except exception.KeyPairNotFound as error:
        raise invalid("server.key_name", name, error.message) from error


def authorize_targets(call: Call, wanted: Mapping[str, Any]) -> None:
    """Raise unless the caller may choose the host, if one was chosen."""
    if ":" in wanted.get("availability_zone", ""):
        call.authorize(policies.CREATE_FORCED_HOST)
    if "host" in wanted or "hypervisor_hostname" in wanted:
        call.authorize(policies.CREATE_REQUESTED_DESTINATION)


def request_of(body: Mapping[str, Any]) -> NewServers:
    """Return the request in the super conductor's format."""
    wanted = body["server"]
    min_count, max_count = _counts(wanted)
    image = _image_of(wanted)
    return NewServers(
        name=wanted["name"],
        flavor=last_part(wanted["flavorRef"]),
        image=last_part(image) if image else None,
        min_count=min_count,
        max_count=max_count,
        availability_zone=_zone(wanted.get("availability_zone")),
        metadata=wanted.get("metadata", {}),
        networks=_networks(wanted.get("networks")),
        hints=_hints(body),
        host=wanted.get("host"),
        node=wanted.get("hypervisor_hostname"),
        settings=_settings(wanted),
    )


SETTINGS = {
    "description": "description",
    "key_name": "key_name",
    "user_data": "user_data",
    "accessIPv4": "access_ip_v4",
    "accessIPv6": "access_ip_v6",
    "hostname": "hostname",
    "OS-DCF:diskConfig": "disk_config",
}
"""Fields of bodies, and what they are in a server's settings."""


def settings_in(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a body has, addresses in their canonical form."""
    found = {SETTINGS[name]: value for name, value in wanted.items() if name in SETTINGS}
    for name in ("access_ip_v4", "access_ip_v6"):
        if found.get(name):
            found[name] = str(ipaddress.ip_address(found[name]))
    return found


def _settings(wanted: Mapping[str, Any]) -> ServerSettings | None:
    given = settings_in(wanted)
    if "tags" in wanted:
        given["tags"] = list(dict.fromkeys(wanted["tags"]))
    if "security_groups" in wanted:
        given["security_groups"] = [group.get("name") for group in wanted["security_groups"]]
    return ServerSettings.from_values(given) if given else None


def _counts(wanted: Mapping[str, Any]) -> tuple[int, int]:
    min_count = wanted.get("min_count", 1)
    max_count = wanted.get("max_count", min_count)
    if min_count > max_count:
        rule = f"It is greater than max_count, which is {max_count}"
        raise invalid("server.min_count", min_count, rule)
    return min_count, max_count


def _image_of(wanted: Mapping[str, Any]) -> str | None:
    """Return the reference to the image, which may be given as the device to boot from."""
    devices = wanted.get("block_device_mapping_v2") or [{}]
    image: str | None = wanted.get("imageRef") or devices[0].get("uuid")
    return image


def last_part(reference: str) -> str:
    """Return the id in a reference, which may be a URL."""
    return reference.rstrip("/").rpartition("/")[2] if "://" in reference else reference


def _zone(zone: str | None) -> str | None:
    """Return the zone as given: ``zone``, ``zone:host`` or ``zone:host:node``."""
    if zone is not None and (zone.count(":") > 2 or zone.strip(":") == ""):
        raise invalid(
            "server.availability_zone",
            zone,
            "It must have the form ZONE, ZONE:HOST or ZONE:HOST:NODE",
        )
    return zone


def _networks(networks: str | list[Document] | None) -> list[dict[str, str | bool]]:
    """Return the networks in the request; ``none`` and ``auto`` name none."""
    if networks is None or isinstance(networks, str):
        return []
    return [
        {"network": network["uuid"].lower(), "remote_managed": network.get("remote_managed", False)}
        for network in networks
    ]


def _hints(body: Mapping[str, Any]) -> dict[str, list[str]]:
    given = {**body.get("OS-SCH-HNT:scheduler_hints", {}), **body.get("os:scheduler_hints", {})}
    _check_network(given)
    return {
        name: _query(value) if name == host_query.HINT else _listed(value)
        for name, value in given.items()
    }


def _check_network(hints: Mapping[str, Any]) -> None:
    """Reject a prefix length that is invalid for the address."""
    address, size = hints.get("build_near_host_ip"), hints.get("cidr")
    if address is None or size is None:
        return
    try:
        ipaddress.ip_network(f"{address}{size}", strict=False)
    except ValueError as error:
        rule = f"No network of this size contains {address}"
        raise invalid("os:scheduler_hints.cidr", size, rule) from error


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _query(value: str | list[Any]) -> list[str]:
    """Return the host query as JSON text, which it may be already."""
    text = value if isinstance(value, str) else json.dumps(value)
    host_query.parse(text)
    return [text]


def unknown_reference(
    error: exception.ArmillaryError, body: Mapping[str, Any]
) -> exception.Invalid:
    """Return an error that names the field: 404 is reserved for the object of the path."""
    fields = next(fields for kind, fields in REFERENCES.items() if isinstance(error, kind))
    field = next((field for field in fields if _at(body, field) is not None), fields[0])
    return invalid(field, _at(body, field), error.message)


def _at(body: Mapping[str, Any], field: str) -> Any:
    """Return the value at a path such as ``server.host``, or None."""
    parent, _, name = field.partition(".")
    return body.get(parent, {}).get(name)


def _created(call: Call, accepted: CreatedServers, *, only_reservation: bool) -> Answer:
    wanted = call.body["server"]
    body: Document = {"armillary:servers": accepted.instance_uuids}
    if only_reservation or call.shows_own:
        body["reservation_id"] = accepted.reservation_id
    if only_reservation:
        return Answer(body)
    first = accepted.instance_uuids[0]
    links = call.links.of(COLLECTION, first)
    made = {
        "id": first,
        "links": links,
        "OS-DCF:diskConfig": wanted.get("OS-DCF:diskConfig", NO_SETTINGS.disk_config),
        "adminPass": admin_password(wanted),
        "security_groups": wanted.get("security_groups", DEFAULT_SECURITY_GROUPS),
    }
    return Answer({"server": made, **body}, headers={"Location": links[0]["href"]})


def admin_password(wanted: Mapping[str, Any]) -> str:
    """Return the password of the request, or a new one; neither reaches the workload."""
    given: str | None = wanted.get("adminPass")
    return given or "".join(secrets.choice(PASSWORD_CHARACTERS) for _ in range(PASSWORD_LENGTH))


# Showing ------------------------------------------------------------------------------------------


def changed(call: Call, server: Instance) -> Document:
    """Return a server as answers to its change show it: addresses without more until 2.74."""
    shown = _views(call, [server])[0]
    if call.version < CHANGED_LIKE_SHOWN_SINCE:
        shown["addresses"] = addresses.brief(server)
    return shown


def _brief(call: Call, server: Instance) -> Document:
    return {"id": server.uuid, "name": server.name, "links": call.links.of(COLLECTION, server.uuid)}


def _views(call: Call, servers: list[Instance]) -> list[Document]:
    """Return servers with all fields; the route's schema drops those of other versions."""
    shows_hosts = call.allows(policies.EXTENDED_ATTRIBUTES)
    statuses = _host_statuses(call, servers) if shows_hosts else None
    return [
        _show(call, server) | (_location_fields(server, statuses) if shows_hosts else {})
        for server in servers
    ]


def _show(call: Call, server: Instance) -> Document:
    status = status_of(server)
    settings = server.settings or NO_SETTINGS
    return {
        **_brief(call, server),
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
        "OS-EXT-STS:power_state": POWER_STATES.get(server.power_state or "", NO_POWER_STATE),
        "OS-SRV-USG:launched_at": times.microseconds(server.launched_at),
        "OS-SRV-USG:terminated_at": times.microseconds(server.deleted_at),
        "config_drive": "",
        "key_name": settings.key_name,
        "os-extended-volumes:volumes_attached": [],
        "trusted_image_certificates": None,
        **({HOSTNAME: hostname_of(server)} if call.version >= HOSTNAME_SHOWN_SINCE else {}),
        "pinned_availability_zone": None,
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
        "OS-EXT-SRV-ATTR:user_data": (server.settings or NO_SETTINGS).user_data,
        "armillary:zone": server.zone or "",
        **_host_status_field(server, statuses),
    }


def _host_status_field(server: Instance, statuses: Mapping[str, str] | None) -> dict[str, str]:
    if statuses is None:
        return {}
    return {"host_status": "" if server.host is None else statuses.get(server.host, "UNKNOWN")}


def hostname_of(server: Instance) -> str:
    """Return the guest's host name: the one that was given, or what the name allows."""
    given = (server.settings or NO_SETTINGS).hostname
    if given:
        return given
    words = re.sub(r"[^a-z0-9.-]", "", re.sub(r"[ _]", "-", server.name.lower()))
    return words[:HOSTNAME_CHARACTERS_MAX].strip("-.")


def _host_statuses(call: Call, servers: list[Instance]) -> dict[str, str] | None:
    """Return the status of each host, if it is shown.

    It takes a second RPC call. Armillary's own clients, which poll lists of servers, go without.
    """
    if call.version < HOST_STATUS_SINCE or call.shows_own:
        return None
    if not any(server.host for server in servers):
        return {}
    services = call.conductor.list_services(call.context).services
    return {each.host: _host_status(each) for each in services if each.binary == COMPUTE_BINARY}


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


def _fault(call: Call, server: Instance) -> Document:
    """Return why a server is in ERROR; a failed attempt of a running server is not its fault."""
    if server.fault is None or status_of(server) not in ("ERROR", "DELETED"):
        return {}
    fault = {
        "code": server.fault.code,
        "message": server.fault.message,
        "created": times.seconds(server.fault.created_at),
    }
    if call.context.is_admin and server.fault.details is not None:
        fault["details"] = server.fault.details
    return {"fault": fault}


ROUTES: Routes[Call] = {
    "/v2.1/servers": {
        "GET": Action(index, policies.INDEX, schemas.INDEX_ANSWER, query=schemas.INDEX_QUERY),
        "POST": Action(
            create, policies.CREATE, schemas.CREATE_ANSWER, body=schemas.CREATE, status=202
        ),
    },
    "/v2.1/servers/detail": {
        "GET": Action(detail, policies.DETAIL, schemas.DETAIL_ANSWER, query=schemas.INDEX_QUERY)
    },
    "/v2.1/servers/{server_id}": {
        "GET": Action(show, policies.SHOW, schemas.SHOW_ANSWER, subject=load),
        "PUT": Action(
            update, policies.UPDATE, schemas.UPDATE_ANSWER, body=schemas.UPDATE, subject=load
        ),
        "DELETE": Action(delete, policies.DELETE, status=204, subject=load),
    },
}
