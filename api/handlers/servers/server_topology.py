"""NUMA topology of servers."""

from api.call import Call
from api.handlers.servers import server
from api.policies.servers import server_topology as policies
from api.schemas.servers import server_topology as schemas
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Routes
from objects.instances.server_topology import TopologyCell


def show(call: Call) -> Answer:
    """Show the NUMA topology of a server; what it has of its host to administrators only."""
    found = call.conductor.get_topology(call.context, call.path["server_id"])
    shows_host = call.allows(policies.HOST)
    nodes = [_node(cell, shows_host=shows_host) for cell in found.cells]
    return Answer({"nodes": nodes, "pagesize_kb": found.page_size_kb})


def _node(cell: TopologyCell, *, shows_host: bool) -> Document:
    of_host = {"host_node": cell.host_cell, "cpu_pinning": cell.pinning} if shows_host else {}
    return {"vcpu_set": cell.vcpus, "memory_mb": cell.memory_mb, "siblings": [], **of_host}


ROUTES: Routes[Call] = {
    "/v2.1/servers/{server_id}/topology": {
        "GET": server.action(show, policies.SHOW, schemas.SHOW_ANSWER, since=(2, 78))
    }
}
