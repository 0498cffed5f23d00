"""Requests to create servers, in the super conductor's format."""

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from api.call import Call
from api.handlers.servers.guest_settings import files_in
from api.policies.servers import server as policies
from api.schemas.servers import server as schemas
from armillary import exception
from armillary.http.call import Document
from armillary.http.validation import invalid
from objects.extra_specs import host_query
from objects.instances.new_servers import NewServers
from objects.instances.server_settings import ServerSettings

DEFAULT_SECURITY_GROUP = "default"
VOLUME = "volume"
# References in a build request, and the fields they may come from.
REFERENCES: dict[type[exception.ArmillaryError], tuple[str, ...]] = {
    exception.FlavorNotFound: ("server.flavorRef",),
    exception.ImageNotFound: ("server.imageRef",),
    exception.AvailabilityZoneNotFound: ("server.availability_zone",),
    exception.HostNotFound: ("server.host", "server.availability_zone"),
    exception.ComputeNodeNotFound: ("server.hypervisor_hostname", "server.availability_zone"),
    exception.ServerGroupNotFound: ("os:scheduler_hints.group", "OS-SCH-HNT:scheduler_hints.group"),
}
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


def authorize_targets(call: Call, wanted: Mapping[str, Any]) -> None:
    """Raise unless the caller may choose the host, if one was chosen."""
    if ":" in wanted.get("availability_zone", ""):
        call.authorize(policies.CREATE_FORCED_HOST)
    if "host" in wanted or "hypervisor_hostname" in wanted:
        call.authorize(policies.CREATE_REQUESTED_DESTINATION)


def check_node(call: Call, wanted: Mapping[str, Any]) -> None:
    """Raise ComputeNodeNotFound for a node that does not exist, Invalid for one of another host.

    A cell that is silent may have it: CellUnavailable.
    """
    _name, host, node = [*wanted.get("availability_zone", "").split(":"), "", ""][:3]
    host, node = wanted.get("host", host), wanted.get("hypervisor_hostname", node)
    if not node:
        return
    found = call.conductor.get_compute_node(call.context, node).node
    if found.node != node:
        raise exception.ComputeNodeNotFound(node=node)
    if host and found.host != host:
        field = "hypervisor_hostname" if "hypervisor_hostname" in wanted else "availability_zone"
        raise invalid(f"server.{field}", wanted[field], f"{node} is a node of host {found.host}")


def check_networks(call: Call) -> None:
    """Raise Invalid where the version wants the networks to be named.

    Our own clients, which ask for our own fields, leave them out: there is nothing to choose.
    """
    is_required = call.version >= schemas.NETWORKS_REQUIRED_SINCE and not call.shows_own
    if is_required and "networks" not in call.body["server"]:
        rule = "It is required since microversion 2.37: 'none', 'auto' or a list"
        raise invalid("server.networks", None, rule)


def request_of(body: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> NewServers:
    """Return the request in the super conductor's format; ``given`` are further settings."""
    wanted = body["server"]
    min_count, max_count = _counts(wanted)
    image, volume = _boot_source(wanted)
    given = {**(given or {}), "root_volume": volume} if volume else given
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
        settings=_settings(wanted, given or {}),
    )


def with_image(call: Call, request: NewServers) -> NewServers:
    """Return a request whose image the conductor finds as it is now. Raises ImageNotFound."""
    if request.image is None:
        return request
    return replace(request, image=call.site.images.lookup(call.context, request.image))


def settings_in(wanted: Mapping[str, Any]) -> Document:
    """Return the settings that a body has, addresses in their canonical form."""
    found = {SETTINGS[name]: value for name, value in wanted.items() if name in SETTINGS}
    for name in ("access_ip_v4", "access_ip_v6"):
        if found.get(name):
            found[name] = str(ipaddress.ip_address(found[name]))
    return found


def _settings(wanted: Mapping[str, Any], more: Mapping[str, Any]) -> ServerSettings | None:
    given = {**settings_in(wanted), **more}
    if wanted.get("personality"):
        given["files"] = files_in(wanted)
    if "tags" in wanted:
        given["tags"] = list(dict.fromkeys(wanted["tags"]))
    if "security_groups" in wanted:
        given["security_groups"] = _security_groups(wanted["security_groups"])
    return ServerSettings.from_values(given) if given else None


def _security_groups(groups: list[Document]) -> list[str]:
    """Return names; raise Invalid for others than the default: no network service makes them."""
    names = [group["name"] for group in groups if "name" in group]
    for number, each in enumerate(names):
        if each != DEFAULT_SECURITY_GROUP:
            rule = f"Security group {each} was not found: there is '{DEFAULT_SECURITY_GROUP}' only"
            raise invalid(f"server.security_groups.{number}.name", each, rule)
    return names


def _counts(wanted: Mapping[str, Any]) -> tuple[int, int]:
    min_count = wanted.get("min_count", 1)
    max_count = wanted.get("max_count", min_count)
    if min_count > max_count:
        rule = f"It is greater than max_count, which is {max_count}"
        raise invalid("server.min_count", min_count, rule)
    return min_count, max_count


def _boot_source(wanted: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the reference to the image, or the volume: each may be the device to boot from."""
    devices = wanted.get("block_device_mapping_v2") or []
    bootable = [each for each in devices if each["source_type"] != schemas.BLANK]
    if len(bootable) > 1:
        rule = "A server boots from one device; no other can be attached"
        raise invalid("server.block_device_mapping_v2", devices, rule)
    device = bootable[0] if bootable else {}
    image: str | None = wanted.get("imageRef")
    if device.get("source_type") != VOLUME:
        return image or device.get("uuid"), None
    if image:
        rule = "It must be empty: the server boots from a volume"
        raise invalid("server.imageRef", image, rule)
    return None, device["uuid"].lower()


def last_part(reference: str | int) -> str:
    """Return the id in a reference, which may be a URL; that of a flavor also a number."""
    if isinstance(reference, int):
        return str(reference)
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
    """Reject a prefix length or netmask that is invalid for the address."""
    address, size = hints.get("build_near_host_ip"), hints.get("cidr")
    if address is None or size is None:
        return
    try:
        ipaddress.ip_network(f"{address}/{size.removeprefix('/')}", strict=False)
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
