"""Servers: instances in the Compute API's format."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from api.call import Call
from api.handlers.servers import server_list
from api.handlers.servers.block_devices import check_devices
from api.handlers.servers.guest_settings import guest_settings
from api.handlers.servers.once_scheduled import wait_until_scheduled
from api.handlers.servers.server_request import (
    REFERENCES,
    authorize_targets,
    check_networks,
    check_node,
    request_of,
    settings_in,
    unknown_reference,
    with_image,
)
from api.handlers.servers.server_view import (
    COLLECTION,
    NO_SETTINGS,
    SECURITY_GROUPS,
    brief,
    changed,
    shows_unknown,
    unknown_with,
    view,
    views,
)
from api.policies.servers import server as policies
from api.schemas.servers import server as schemas
from api.schemas.servers.server_list import INDEX_QUERY
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes
from armillary.http.validation import Versioned
from objects.instance import UNKNOWN, Instance
from objects.instances.operation_arguments import OperationArguments
from objects.instances.operation_rules import check_unlocked
from objects.instances.server_answers import CreatedServers
from objects.instances.server_changes import ServerChanges


def load(call: Call) -> Instance:
    """Return the server of the path; raise ``InstanceNotFound``."""
    return call.conductor.get_server(call.context, call.path["server_id"])


def load_for_display(call: Call) -> Instance:
    """Return the server of the path, or what is known of it; raise ``InstanceNotFound``."""
    shown = shows_unknown(call)
    return call.conductor.get_server(call.context, call.path["server_id"], for_display=shown)


def load_for_change(call: Call) -> Instance:
    """As ``load``; if the cell or zone is silent, return a server in the state ``UNKNOWN``.

    Some changes of it, such as a delete, are accepted and made later.
    """
    return call.conductor.get_server(call.context, call.path["server_id"], for_display=True)


def index(call: Call) -> Answer:
    """List servers by id and name."""
    listed = server_list.list_servers(call, policies.INDEX_ALL_PROJECTS)
    return server_list.answer(call, listed, [brief(call, server) for server in listed.instances])


def detail(call: Call) -> Answer:
    """List servers with details."""
    listed = server_list.list_servers(call, policies.DETAIL_ALL_PROJECTS)
    return server_list.answer(call, listed, views(call, listed.instances))


def show(call: Call) -> Answer:
    """Show a server."""
    return Answer({"server": view(call, call.subject)})


def create(call: Call) -> Answer:
    """Create one or several servers; they are built after this response."""
    wanted = call.body["server"]
    check_networks(call)
    authorize_targets(call, wanted)
    given, password = guest_settings(call, "server", wanted)
    request = replace(
        request_of(call.body, given), needs_root_disk=not call.allows(policies.ZERO_DISK_FLAVOR)
    )
    try:
        check_node(call, wanted)
        check_devices(call, wanted)
        accepted = call.conductor.create_servers(call.context, with_image(call, request))
    except tuple(REFERENCES) as error:
        raise unknown_reference(error, call.body) from error
    if wanted.get("return_reservation_id", False):
        return _reservation(accepted)
    return _created(call, accepted, password)


def delete(call: Call) -> Answer:
    """Delete a server, even while it is being built, or its cell is silent."""
    if call.subject.vm_state == UNKNOWN:
        arguments = OperationArguments()
        call.conductor.operate_server(call.context, call.subject.uuid, "delete", arguments)
        return Answer()
    check_unlocked(call.context, call.subject)
    call.conductor.delete_server(call.context, call.path["server_id"])
    return Answer()


def update(call: Call) -> Answer:
    """Change the name, the description and other settings of a server."""
    wanted = call.body["server"]
    changes = ServerChanges(name=wanted.get("name"), settings=settings_in(wanted))
    return Answer({"server": changed(call, change(call, changes))})


def change(call: Call, changes: ServerChanges) -> Instance:
    """Change the server of the path, and return it.

    One that is being scheduled is changed once a cell has it. An ``UNKNOWN`` one is changed later;
    of that, return what was asked for.
    """
    server_id = call.path["server_id"]
    arguments = OperationArguments(changes=changes)
    wait_until_scheduled(call, call.subject)
    call.conductor.operate_server(call.context, server_id, "update", arguments)
    if call.subject.vm_state == UNKNOWN:
        return unknown_with(call.subject, changes)
    return load_for_display(call)


def _reservation(accepted: CreatedServers) -> Answer:
    servers = {"armillary:servers": accepted.instance_uuids}
    return Answer({"reservation_id": accepted.reservation_id, **servers})


def _created(call: Call, accepted: CreatedServers, password: str) -> Answer:
    wanted = call.body["server"]
    body: Document = {"armillary:servers": accepted.instance_uuids}
    if call.shows_own:
        body["reservation_id"] = accepted.reservation_id
    first = accepted.instance_uuids[0]
    links = call.links.of(COLLECTION, first)
    made = {
        "id": first,
        "links": links,
        "OS-DCF:diskConfig": wanted.get("OS-DCF:diskConfig", NO_SETTINGS.disk_config),
        "adminPass": password,
        "security_groups": wanted.get("security_groups", SECURITY_GROUPS),
    }
    return Answer({"server": made, **body}, headers={"Location": links[0]["href"]})


def action(
    handler: Callable[[Call], Answer], rule: str, answer: Versioned | None = None, **more: Any
) -> Action[Call]:
    """Return an action on what a server has: the server is loaded for the policy."""
    return Action(handler, rule, answer, subject=load, **more)


ROUTES: Routes[Call] = {
    "/v2.1/servers": {
        "GET": Action(index, policies.INDEX, schemas.INDEX_ANSWER, query=INDEX_QUERY),
        "POST": Action(
            create, policies.CREATE, schemas.CREATE_ANSWER, body=schemas.CREATE, status=202
        ),
    },
    "/v2.1/servers/detail": {
        "GET": Action(detail, policies.DETAIL, schemas.DETAIL_ANSWER, query=INDEX_QUERY)
    },
    "/v2.1/servers/{server_id}": {
        "GET": Action(show, policies.SHOW, schemas.SHOW_ANSWER, subject=load_for_display),
        "PUT": Action(
            update,
            policies.UPDATE,
            schemas.UPDATE_ANSWER,
            body=schemas.UPDATE,
            subject=load_for_display,
        ),
        "DELETE": Action(delete, policies.DELETE, status=204, subject=load_for_change),
    },
}
