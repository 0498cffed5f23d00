"""One host: its service, providers, NUMA cells, devices, servers and migrations."""

import json

from api.call import Call
from api.formats import times
from api.handlers.servers.instance_action import NOVA_NAMES
from api.handlers.servers.server_view import status_of
from api.policies.console import fleet as policies
from api.schemas.console import fleet_host as schemas
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes
from objects.hosts.compute_node import ComputeNode
from objects.hosts.fleet import DISABLED, DOWN, DRAINING, HOST_STATES, UP
from objects.hosts.host_details import HostDetails, ProviderDetails
from objects.hosts.host_event import PAGE_SIZE, HostEvent
from objects.hosts.service import Service
from objects.instance import Instance
from objects.instances.migration import Migration

NOT_KEPT = {"Cache-Control": "private, no-store"}


def show(call: Call) -> Answer:
    """Show a host, given by its name."""
    found = call.conductor.get_host(call.context, call.path["host_name"])
    return Answer(_shown(found), headers=NOT_KEPT)


def events(call: Call) -> Answer:
    """List what happened on a host, newest first, in pages."""
    page = call.conductor.get_host_events(
        call.context,
        call.path["host_name"],
        limit=call.query.get("limit", PAGE_SIZE),
        marker=call.query.get("marker"),
    )
    shown = {"events": [_event(each) for each in page.events], "next_marker": page.next_marker}
    return Answer(shown, headers=NOT_KEPT)


def shown_service(service: Service) -> Document:
    """Return a service, by our own names of programs."""
    return {
        "id": service.uuid,
        "binary": service.binary,
        "host": service.host,
        "zone": service.availability_zone,
        "status": "disabled" if service.disabled else "enabled",
        "state": "up" if service.up else "down",
        "updated_at": times.seconds(service.last_seen_up),
        "disabled_reason": service.disabled_reason,
        "forced_down": service.forced_down,
        "version": service.version,
    }


def _shown(found: HostDetails) -> Document:
    service = found.records.service
    return {
        "name": service.host,
        "state": HOST_STATES[_state(service, found.servers)],
        "cell": found.cell,
        "zone": service.availability_zone,
        "service": shown_service(service),
        "nodes": [_node(node) for node in found.records.nodes],
        "providers": [_provider(provider) for provider in found.providers],
        "aggregates": found.aggregates,
        "servers": [_server(server) for server in found.servers],
        "migrations": [_migration(move) for move in found.migrations],
    }


def _state(service: Service, servers: list[Instance]) -> int:
    if not service.up:
        return DOWN
    if service.disabled:
        return DRAINING if servers else DISABLED
    return UP


def _node(node: ComputeNode) -> Document:
    attributes = node.attributes
    return {
        "uuid": node.uuid,
        "name": node.node,
        "hypervisor_type": attributes.get("hypervisor_type"),
        "numa": attributes.get("numa_topology"),
        "devices": _devices(attributes.get("pci_stats"), attributes.get("pci_reserved")),
        "updated_at": times.seconds(node.updated_at),
    }


def _devices(free: list[Document] | None, reserved: list[Document] | None) -> list[Document]:
    """Return the pools of equal devices, each with how many are free (``count``) and reserved."""
    found: dict[str, Document] = {}
    for name, pools in (("count", free), ("reserved", reserved)):
        for pool in pools or ():
            kind = {key: value for key, value in pool.items() if key != "count"}
            key = json.dumps(kind, sort_keys=True)
            found.setdefault(key, {**kind, "count": 0, "reserved": 0})[name] = pool["count"]
    return list(found.values())


def _provider(provider: ProviderDetails) -> Document:
    return {
        "uuid": provider.uuid,
        "name": provider.name,
        "parent_uuid": provider.parent_uuid,
        "inventories": provider.inventories,
        "traits": provider.traits,
        "aggregates": provider.aggregates,
    }


def _server(server: Instance) -> Document:
    return {
        "id": server.uuid,
        "name": server.name,
        "status": status_of(server),
        "flavor": server.flavor.name,
        "project_id": server.project_id,
        "node": server.node,
        "created_at": times.seconds(server.created_at),
    }


def _migration(move: Migration) -> Document:
    return {
        "uuid": move.uuid,
        "server_id": move.instance_uuid,
        "type": move.migration_type,
        "status": move.status,
        "source_host": move.source_host,
        "dest_host": move.dest_host,
        "created_at": times.seconds(move.created_at),
        "updated_at": times.seconds(move.updated_at),
    }


def _event(event: HostEvent) -> Document:
    action = event.action
    return {
        "at": times.microseconds(event.at),
        "ended_at": times.microseconds(event.ended_at),
        "event": event.event,
        "result": event.result,
        "details": event.details,
        "action": None if action is None else NOVA_NAMES.get(action, action),
        "server_id": event.instance_uuid,
        "server_name": event.instance_name,
        "request_id": event.request_id,
        "project_id": event.project_id,
        "user_id": event.user_id,
    }


ROUTES: Routes[Call] = {
    "/v2.1/armillary/hosts/{host_name}": {
        "GET": Action(show, policies.SHOW_HOST, schemas.SHOW_ANSWER)
    },
    "/v2.1/armillary/hosts/{host_name}/events": {
        "GET": Action(
            events, policies.HOST_EVENTS, schemas.EVENTS_ANSWER, query=schemas.EVENTS_QUERY
        )
    },
}
