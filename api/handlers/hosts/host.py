"""Hosts, as versions until 2.42 show them: services by host, and resources of one host."""

from collections.abc import Sequence

import falcon

from api.call import Call
from api.handlers.hosts import hypervisor
from api.handlers.hosts.service import INTERNAL_ZONE
from api.policies.hosts import host as policies
from api.schemas.hosts import host as schemas
from armillary import exception
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes
from objects.hosts.host_answers import ServiceChanges
from objects.instance import Instance

POWER_ACTIONS = ("startup", "shutdown", "reboot")
COMPUTE_BINARY = "armillary-compute"


def index(call: Call) -> Answer:
    """List services by host."""
    zone = call.query.get("zone")
    hosts = [
        {
            "host_name": service.host,
            "service": service.binary.rpartition("-")[2],
            "zone": service.availability_zone or INTERNAL_ZONE,
        }
        for service in call.conductor.list_services(call.context).services
    ]
    return Answer({"hosts": [host for host in hosts if zone in (None, "", host["zone"])]})


def show(call: Call) -> Answer:
    """Show the resources of a host, how much is used, and what servers' flavors have together."""
    host = call.path["host"]
    listed = call.conductor.list_compute_nodes(call.context)
    nodes = [node for node in listed.nodes if node.host == host]
    if not nodes:
        raise exception.HostNotFound(host=host)
    sizes = [hypervisor.amounts(node, listed.usages.get(node.uuid, {})) for node in nodes]
    total = {name: sum(size[name] for size in sizes) for name in sizes[0]}
    servers = [
        server
        for node in nodes
        for server in call.conductor.get_compute_node(call.context, node.uuid).instances
    ]
    rows = [
        _resource(host, "(total)", total, ""),
        _resource(host, "(used_now)", total, "_used"),
        _resource(host, "(used_max)", _sizes(servers), ""),
    ]
    for project in sorted({server.project_id for server in servers}):
        own = [server for server in servers if server.project_id == project]
        rows.append(_resource(host, project, _sizes(own), ""))
    return Answer({"host": rows})


def update(call: Call) -> Answer:
    """Enable or disable a host; no driver has a maintenance mode."""
    host, wanted = call.path["host"], {name: str(value) for name, value in call.body.items()}
    service = next(
        (
            each
            for each in call.conductor.list_services(call.context).services
            if (each.host, each.binary) == (host, COMPUTE_BINARY)
        ),
        None,
    )
    if service is None:
        raise exception.HostNotFound(host=host)
    if "maintenance_mode" in wanted:
        raise _unsupported(host, "a maintenance mode")
    changes = ServiceChanges(disabled=wanted["status"].lower() == "disable")
    changed = call.conductor.update_service(call.context, service.uuid, changes)
    return Answer({"host": host, "status": "disabled" if changed.disabled else "enabled"})


def change_power(call: Call) -> Answer:
    """Refuse to start, shut down or reboot a host: no driver does that."""
    action = call.path["power_action"]
    if action not in POWER_ACTIONS:
        raise exception.NotFound(what=f"Action {action} of hosts")
    show(call)
    raise _unsupported(call.path["host"], "starting, shutting down or rebooting it")


def _unsupported(host: str, what: str) -> falcon.HTTPNotImplemented:
    return falcon.HTTPNotImplemented(
        description=f"The driver of host {host} does not support {what}."
    )


def _sizes(servers: Sequence[Instance]) -> dict[str, int]:
    """Return what the flavors of servers have together."""
    return {
        "vcpus": sum(server.flavor.vcpus for server in servers),
        "memory_mb": sum(server.flavor.memory_mb for server in servers),
        "local_gb": sum(server.disk_gb for server in servers),
    }


def _resource(host: str, project: str, total: dict[str, int], ending: str) -> Document:
    resource = {
        "host": host,
        "project": project,
        "cpu": total[f"vcpus{ending}"],
        "memory_mb": total[f"memory_mb{ending}"],
        "disk_gb": total[f"local_gb{ending}"],
    }
    return {"resource": resource}


ROUTES: Routes[Call] = {
    "/v2.1/os-hosts": {
        "GET": Action(
            index,
            policies.LIST,
            schemas.INDEX_ANSWER,
            until=schemas.UNTIL,
            query=schemas.INDEX_QUERY,
        )
    },
    "/v2.1/os-hosts/{host}": {
        "GET": Action(show, policies.SHOW, schemas.SHOW_ANSWER, until=schemas.UNTIL),
        "PUT": Action(
            update, policies.UPDATE, schemas.UPDATE_ANSWER, until=schemas.UNTIL, body=schemas.UPDATE
        ),
    },
    "/v2.1/os-hosts/{host}/{power_action}": {
        "GET": Action(
            change_power, policies.CHANGE_POWER, schemas.POWER_ANSWER, until=schemas.UNTIL
        )
    },
}
