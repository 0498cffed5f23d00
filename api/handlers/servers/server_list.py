"""Lists of servers: filters, pages and cells that are down."""

from __future__ import annotations

from api import times
from api.call import Call
from api.handlers.servers.server_view import shows_unknown
from api.policies.servers import server as policies
from armillary.http.call import Answer, Document
from objects.instances.server_answers import ServerPage
from objects.instances.server_filters import ALIVE, ANY, DELETED, ServerFilters

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


def list_servers(call: Call, all_projects_rule: str) -> ServerPage:
    """Return the page of servers that the query asks for; all projects need their own rule."""
    return call.conductor.list_servers(
        call.context,
        filters=_filters(call, all_projects_rule),
        limit=call.page_size,
        marker=call.query.get("marker"),
        for_display=shows_unknown(call),
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


def answer(call: Call, listed: ServerPage, servers: list[Document]) -> Answer:
    """Return the response with the link to the next page; it says whether cells were down."""
    body: Document = {"servers": servers}
    if servers and len(servers) == call.page_size:
        body["servers_links"] = call.links.next_page(listed.instances[-1].uuid)
    if listed.down_cells:
        body["armillary:partial"] = True
        if call.context.is_admin:
            body["armillary:down_cells"] = listed.down_cells
    return Answer(body)
