"""Hypervisors: resources of the hosts, and their usage."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

import falcon

from api.call import Call
from api.formats import times
from api.formats.integer_ids import integer_id, is_integer_id
from api.formats.links import page
from api.policies.hosts import hypervisor as policies
from api.schemas.base import PAGE
from api.schemas.hosts import hypervisor as schemas
from api.validation import check_uuid
from armillary import exception
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes
from armillary.http.validation import invalid
from objects.hosts import host_attributes
from objects.hosts.attribute_shapes import fits
from objects.hosts.compute_node import ComputeNode
from objects.hosts.host_answers import (
    ComputeNodeDetails,
    ComputeNodePage,
    InstanceOnHost,
    ProviderUsages,
)
from objects.hosts.host_attributes import HostAttribute
from objects.hosts.service import Service
from objects.instance import Instance

MB_PER_GB = 1024
SUMMED = (
    "vcpus",
    "vcpus_used",
    "memory_mb",
    "memory_mb_used",
    "free_ram_mb",
    "local_gb",
    "local_gb_used",
    "free_disk_gb",
    "disk_available_least",
    "running_vms",
    "current_workload",
)
"""Sizes of which there are sums of all hypervisors."""
UNKNOWN_ADDRESS = "0.0.0.0"  # noqa: S104 - shown, not listened at
CPU_INFO_PARSED_SINCE = (2, 28)
HOSTS_OF_CALL_MAX = 200
"""Maximum number of hosts whose servers one RPC call lists: a message has a maximum size."""
EMPTY_LISTS_SINCE = (2, 75)
"""In earlier versions a hypervisor without servers has no list of them."""
UUIDS_SINCE = (2, 53)
"""Hypervisors and services of earlier versions are shown by number."""


def index(call: Call) -> Answer:
    """List hypervisors by name and state."""
    listed = call.conductor.list_compute_nodes(call.context)
    nodes, extras = _page(call, listed)
    servers = _servers(call, nodes)
    brief = [
        _brief(call, node, listed.services.get(node.host)) | servers.get(node.uuid, {})
        for node in nodes
    ]
    return Answer({"hypervisors": brief, **extras})


def detail(call: Call) -> Answer:
    """List hypervisors with resources and usage."""
    listed = call.conductor.list_compute_nodes(call.context)
    nodes, extras = _page(call, listed)
    servers = _servers(call, nodes)
    shown = [
        _show(call, node, listed.services.get(node.host), listed.usages.get(node.uuid, {}))
        | servers.get(node.uuid, {})
        for node in nodes
    ]
    return Answer({"hypervisors": shown, **extras})


def show(call: Call) -> Answer:
    """Show a hypervisor, given by UUID, number or name, optionally with its servers."""
    found = find(call)
    shown = _show(call, found.node, found.service, found.usages)
    shown["running_vms"] = len(found.instances)
    servers = _servers_of(call, found.instances) if call.query.get("with_servers") else {}
    return Answer({"hypervisor": shown | servers})


def search(call: Call) -> Answer:
    """List hypervisors whose name contains a text."""
    nodes, listed = _named_like(call)
    return Answer(
        {"hypervisors": [_brief(call, node, listed.services.get(node.host)) for node in nodes]}
    )


def list_servers(call: Call) -> Answer:
    """List hypervisors whose name contains a text, with their servers."""
    nodes, listed = _named_like(call)
    servers = _servers_on(call, nodes)
    shown = [
        _brief(call, node, listed.services.get(node.host)) | _servers_of(call, servers[node.uuid])
        for node in nodes
    ]
    return Answer({"hypervisors": shown})


def statistics(call: Call) -> Answer:
    """Show the sums of all hypervisors."""
    listed = call.conductor.list_compute_nodes(call.context)
    shown = [
        _show(call, node, listed.services.get(node.host), listed.usages.get(node.uuid, {}))
        for node in listed.nodes
    ]
    sums = {name: sum(one[name] or 0 for one in shown) for name in SUMMED}
    return Answer({"hypervisor_statistics": {"count": len(shown), **sums}})


def uptime(call: Call) -> Answer:
    """Show how long the machine of a hypervisor has been up."""
    found = find(call)
    text = _uptime(found.node)
    if text is None:
        raise falcon.HTTPNotImplemented(
            description=f"The host of hypervisor {found.node.node} does not report its uptime."
        )
    shown = {**_brief(call, found.node, found.service), "uptime": text}
    return Answer({"hypervisor": shown})


def _named_like(call: Call) -> tuple[list[ComputeNode], ComputeNodePage]:
    """Return the nodes whose name contains the text of the path, and all. Raises NotFound."""
    text = call.path["hypervisor_id"]
    listed = call.conductor.list_compute_nodes(call.context)
    nodes = [node for node in listed.nodes if text in node.node]
    if not nodes:
        raise exception.NotFound(what=f"Hypervisor with '{text}' in its name")
    return nodes, listed


def find(call: Call) -> ComputeNodeDetails:
    """Return the hypervisor of the path. Raises ComputeNodeNotFound, Invalid.

    Versions that show UUIDs call whatever else it is not found by invalid, but not to our clients,
    for whom names are identifiers, too.
    """
    wanted = call.path["hypervisor_id"]
    if is_integer_id(wanted):
        nodes = call.conductor.list_compute_nodes(call.context).nodes
        wanted = next((n.uuid for n in nodes if integer_id(n.uuid) == int(wanted)), wanted)
    try:
        return call.conductor.get_compute_node(call.context, wanted)
    except exception.ComputeNodeNotFound:
        if call.version >= UUIDS_SINCE and not call.shows_own:
            check_uuid("hypervisor_id", wanted)
        raise


def _servers(call: Call, nodes: Sequence[ComputeNode]) -> dict[str, Document]:
    """Return node UUID -> field with its servers, if the client asked for them."""
    if not call.query.get("with_servers"):
        return {}
    return {uuid: _servers_of(call, found) for uuid, found in _servers_on(call, nodes).items()}


def _servers_on(call: Call, nodes: Sequence[ComputeNode]) -> dict[str, list[InstanceOnHost]]:
    """Return node UUID -> servers there, for each of these nodes."""
    found: dict[str, list[InstanceOnHost]] = {node.uuid: [] for node in nodes}
    on_host: dict[str, list[ComputeNode]] = defaultdict(list)
    for node in nodes:
        on_host[node.host].append(node)
    hosts = sorted(on_host)
    for start in range(0, len(hosts), HOSTS_OF_CALL_MAX):
        asked = hosts[start : start + HOSTS_OF_CALL_MAX]
        for server in call.conductor.list_servers_on_hosts(call.context, asked):
            for node in on_host[server.host]:
                if server.node in (None, node.node):
                    found[node.uuid].append(server)
    return found


def _servers_of(call: Call, servers: Sequence[Instance | InstanceOnHost]) -> Document:
    """Return the field with the servers of a node; earlier versions leave an empty list out."""
    if not servers and call.version < EMPTY_LISTS_SINCE:
        return {}
    return {"servers": [{"uuid": server.uuid, "name": server.name} for server in servers]}


def _page(call: Call, listed: ComputeNodePage) -> tuple[list[ComputeNode], Document]:
    pattern = call.query.get("hypervisor_hostname_pattern", "")
    if pattern and not call.shows_own and not call.query.keys().isdisjoint(PAGE):
        rule = "A list of hypervisors that match a pattern has no pages"
        raise invalid("hypervisor_hostname_pattern", pattern, rule)
    nodes = [node for node in listed.nodes if pattern in node.node]
    cut, marker = page(nodes, lambda node: node.uuid, call.page_size, call.query.get("marker"))
    extras: Document = {}
    if marker is not None:
        extras["hypervisors_links"] = call.links.next_page(marker)
    if listed.down_cells:
        extras["armillary:down_cells"] = listed.down_cells
    return cut, extras


def _brief(call: Call, node: ComputeNode, service: Service | None) -> Document:
    return {
        "id": _id(call, node.uuid),
        "hypervisor_hostname": node.node,
        "state": "up" if service is not None and service.up else "down",
        "status": "disabled" if service is not None and service.disabled else "enabled",
    }


def _show(
    call: Call, node: ComputeNode, service: Service | None, usages: ProviderUsages
) -> Document:
    attributes = _attributes(node)
    cpu_info, least = attributes["cpu_info"], attributes["disk_available_least"]
    return {
        **_brief(call, node, service),
        "host_ip": attributes["host_ip"] or UNKNOWN_ADDRESS,
        "hypervisor_type": attributes["hypervisor_type"],
        "hypervisor_version": attributes["hypervisor_version"],
        "cpu_info": cpu_info if call.version < CPU_INFO_PARSED_SINCE else _parsed(cpu_info),
        "service": _service(call, node, service),
        **amounts(node, usages),
        "disk_available_least": None if least == host_attributes.UNLIMITED_GB else least,
        "running_vms": attributes["num_instances"],
        "current_workload": attributes["num_io_ops"],
        "uptime": _uptime(node),
        "armillary:availability_zone": None if service is None else service.availability_zone,
        "armillary:cell_uuid": node.cell_uuid,
        "armillary:isolation": attributes["isolation"] or {},
        "armillary:traits": node.traits,
        "armillary:inventories": node.inventories,
        "armillary:usages": dict(usages),
        "armillary:updated_at": times.seconds(node.updated_at),
    }


def _uptime(node: ComputeNode) -> str | None:
    """Return the first part of what the command ``uptime`` says; None if it is not known."""
    booted_at = _attributes(node)["booted_at"]
    if not booted_at:
        return None
    now = datetime.now(UTC)
    minutes = max(0, int(now.timestamp()) - booted_at) // 60
    days, minutes = divmod(minutes, 24 * 60)
    return f" {now:%H:%M:%S} up {days} days, {minutes // 60:2}:{minutes % 60:02}"


def _id(call: Call, uuid: str) -> str | int:
    return uuid if call.version >= UUIDS_SINCE else integer_id(uuid)


def _attributes(node: ComputeNode) -> Document:
    """Return every declared attribute, with its default if the host reported none of its kind."""
    return {
        attribute.name: _value(attribute, node.attributes.get(attribute.name))
        for attribute in host_attributes.HOST_ATTRIBUTES
    }


def _value(attribute: HostAttribute, reported: Any) -> Any:
    return attribute.default if reported is None or not fits(attribute, reported) else reported


def _service(call: Call, node: ComputeNode, service: Service | None) -> Document:
    return {
        "id": None if service is None else _id(call, service.uuid),
        "host": node.host,
        "disabled_reason": None if service is None else service.disabled_reason,
    }


def amounts(node: ComputeNode, usages: ProviderUsages) -> dict[str, int]:
    """Return the sizes from placement, which includes claims in flight, else as reported."""
    attributes = _attributes(node)
    vcpus, vcpus_used, _ = _amount(
        usages.get("VCPU"), attributes["vcpus_total"], attributes["vcpus_used"]
    )
    ram = attributes["total_usable_ram_mb"]
    ram_mb, ram_mb_used, free_ram_mb = _amount(
        usages.get("MEMORY_MB"), ram, ram - attributes["free_ram_mb"]
    )
    disk_gb, disk_gb_used, free_disk_gb = _amount(
        usages.get("DISK_GB"),
        attributes["total_usable_disk_gb"],
        attributes["disk_mb_used"] // MB_PER_GB,
    )
    return {
        "vcpus": vcpus,
        "vcpus_used": vcpus_used,
        "memory_mb": ram_mb,
        "memory_mb_used": ram_mb_used,
        "free_ram_mb": free_ram_mb,
        "local_gb": disk_gb,
        "local_gb_used": disk_gb_used,
        "free_disk_gb": free_disk_gb,
    }


def _amount(usage: Mapping[str, float] | None, total: int, used: int) -> tuple[int, int, int]:
    """Return total, used by servers, and free: without overcommitment and reserved resources."""
    if usage is None:
        return total, used, total - used
    free = usage["total"] - usage["reserved"] - usage["used"]
    return int(usage["total"]), int(usage["used"]), int(free)


def _parsed(text: str) -> Document:
    """Return the object in a JSON text; an empty one if there is none."""
    try:
        parsed = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


ROUTES: Routes[Call] = {
    "/v2.1/os-hypervisors": {
        "GET": Action(index, policies.LIST, schemas.INDEX_ANSWER, query=schemas.INDEX_QUERY)
    },
    "/v2.1/os-hypervisors/detail": {
        "GET": Action(detail, policies.DETAIL, schemas.DETAIL_ANSWER, query=schemas.INDEX_QUERY)
    },
    "/v2.1/os-hypervisors/{hypervisor_id}": {
        "GET": Action(show, policies.SHOW, schemas.SHOW_ANSWER, query=schemas.SHOW_QUERY)
    },
    "/v2.1/os-hypervisors/statistics": {
        "GET": Action(
            statistics, policies.STATISTICS, schemas.STATISTICS_ANSWER, until=schemas.SIZES_UNTIL
        )
    },
    "/v2.1/os-hypervisors/{hypervisor_id}/search": {
        "GET": Action(search, policies.SEARCH, schemas.SEARCH_ANSWER, until=schemas.SEARCH_UNTIL)
    },
    "/v2.1/os-hypervisors/{hypervisor_id}/servers": {
        "GET": Action(
            list_servers, policies.SERVERS, schemas.SERVERS_ANSWER, until=schemas.SEARCH_UNTIL
        )
    },
    "/v2.1/os-hypervisors/{hypervisor_id}/uptime": {
        "GET": Action(uptime, policies.UPTIME, schemas.UPTIME_ANSWER, until=schemas.SIZES_UNTIL)
    },
}
