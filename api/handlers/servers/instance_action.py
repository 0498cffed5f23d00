"""Instance actions: operations on a server, and their outcome."""

from datetime import datetime

from api.call import Call
from api.formats import links, times
from api.handlers.servers import server
from api.policies.servers import instance_action as policies
from api.schemas.servers import instance_action as schemas
from armillary import exception
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes
from objects.instance import Instance
from objects.instances.instance_action import InstanceAction, InstanceActionEvent
from objects.instances.server_filters import DELETED, ServerFilters

OF_DELETED_SINCE = (2, 21)
"""Since this version the actions of deleted servers are shown."""

EVENTS_FOR_ALL_SINCE = (2, 51)
"""In earlier versions events are for administrators."""

NOVA_NAMES = {
    "backup": "createBackup",
    "change_password": "changePassword",
    "snapshot": "createImage",
    "confirm_resize": "confirmResize",
    "force_delete": "delete",
    "live_migrate": "live-migration",
    "revert_resize": "revertResize",
    "shelve_offload": "shelveOffload",
    "soft_delete": "delete",
    "unshelve_here": "unshelve",
}
"""Operation -> the name under which clients know it; the others have the same."""


def load(call: Call) -> Instance:
    """Return the server of the path, deleted or not; raise ``InstanceNotFound``."""
    try:
        return server.load(call)
    except exception.InstanceNotFound:
        if call.version < OF_DELETED_SINCE:
            raise
        filters = ServerFilters(
            uuid=call.path["server_id"], all_projects=bool(call.context.is_admin), existence=DELETED
        )
        page = call.conductor.list_servers(call.context, filters=filters, limit=1, marker=None)
        if not page.instances:
            raise
        return page.instances[0]


def index(call: Call) -> Answer:
    """List the actions on a server, newest first."""
    since, before = times.asked_changes(call.query)
    found = [
        action
        for action in _list(call)
        if (changed := _changed_at(action)) is None
        or ((since is None or changed >= since) and (before is None or changed <= before))
    ]
    cut, marker = links.page(
        found, lambda action: action.request_id, call.page_size, call.query.get("marker")
    )
    body: Document = {"instanceActions": [_brief(action) for action in cut]}
    if marker is not None:
        body["links"] = call.links.next_page(marker)
    return Answer(body)


def show(call: Call) -> Answer:
    """Show one action, given by its request id, with its events."""
    request_id = call.path["request_id"]
    for action in _list(call):
        if action.request_id == request_id:
            return Answer({"instanceAction": _show(call, action)})
    server_id = call.path["server_id"]
    raise exception.NotFound(what=f"Action {request_id} of server {server_id}")


def _list(call: Call) -> list[InstanceAction]:
    return call.conductor.list_server_actions(call.context, call.path["server_id"])


def _changed_at(action: InstanceAction) -> datetime | None:
    return action.finish_time or action.start_time


def _brief(action: InstanceAction) -> Document:
    return {
        "action": NOVA_NAMES.get(action.action, action.action),
        "instance_uuid": action.instance_uuid,
        "request_id": action.request_id,
        "project_id": action.project_id,
        "user_id": action.user_id,
        "start_time": times.microseconds(action.start_time),
        "updated_at": times.microseconds(_changed_at(action)),
        "message": action.message,
    }


def _show(call: Call, action: InstanceAction) -> Document:
    shows_details = call.allows(policies.EVENT_DETAILS)
    project = call.subject.project_id
    events = [_event(call, event, project, shows_details=shows_details) for event in action.events]
    if not shows_details and call.version < EVENTS_FOR_ALL_SINCE and not call.shows_own:
        return _brief(action)
    return {**_brief(action), "events": events}


def _event(
    call: Call, event: InstanceActionEvent, project: str, *, shows_details: bool
) -> Document:
    shown = {
        "event": event.event,
        "start_time": times.microseconds(event.start_time),
        "finish_time": times.microseconds(event.finish_time),
        "result": event.result,
        "hostId": call.host_id(project, event.host),
        "armillary:attempt": event.attempt,
    }
    if shows_details:
        # a traceback would show the code of a service, which its log has
        shown |= {"host": event.host, "details": event.details, "traceback": None}
    return shown


ROUTES: Routes[Call] = {
    "/v2.1/servers/{server_id}/os-instance-actions": {
        "GET": Action(
            index,
            policies.LIST,
            schemas.INDEX_ANSWER,
            query=schemas.INDEX_QUERY,
            refuses_unknown_since=(2, 58),
            subject=load,
        )
    },
    "/v2.1/servers/{server_id}/os-instance-actions/{request_id}": {
        "GET": Action(show, policies.SHOW, schemas.SHOW_ANSWER, subject=load)
    },
}
