"""Tags of a server: short words to find it by."""

from urllib.parse import quote

from api.call import Call
from api.handlers.servers import server
from api.handlers.servers.server import change
from api.handlers.servers.server_view import settings_of
from api.policies.servers import server_tag as policies
from api.schemas.servers import server_tag as schemas
from api.schemas.servers.server import TAG
from api.validation import Check
from armillary import exception
from armillary.http.call import Answer
from armillary.http.dispatch import Action, Routes
from objects.instance import UNKNOWN, Instance
from objects.instances.server_changes import ServerChanges

UNCHANGED = 204

_CHECK = Check({"type": "object", "properties": {"tag": TAG}})


def index(call: Call) -> Answer:
    """List the tags of a server."""
    return Answer({"tags": _tags(call.subject)})


def update_all(call: Call) -> Answer:
    """Replace the tags of a server."""
    server = change(call, ServerChanges(tags_added=call.body["tags"], replaces_tags=True))
    return Answer({"tags": _tags(server)})


def delete_all(call: Call) -> Answer:
    """Remove all tags of a server."""
    change(call, ServerChanges(replaces_tags=True))
    return Answer()


def show(call: Call) -> Answer:
    """Check that a server has a tag."""
    _require(call)
    return Answer()


def update(call: Call) -> Answer:
    """Add a tag to a server."""
    tag = call.path["tag"]
    _CHECK.body({"tag": tag})
    if tag in _tags(call.subject):
        return Answer(status=UNCHANGED)
    change(call, ServerChanges(tags_added=[tag]))
    links = call.links.of("servers", call.path["server_id"])
    return Answer(headers={"Location": f"{links[0]['href']}/tags/{quote(tag, safe='')}"})


def delete(call: Call) -> Answer:
    """Remove a tag from a server."""
    if call.subject.vm_state != UNKNOWN:
        _require(call)
    change(call, ServerChanges(tags_removed=[call.path["tag"]]))
    return Answer()


def _require(call: Call) -> None:
    if call.path["tag"] not in _tags(call.subject):
        where = f"Tag {call.path['tag']} of server {call.path['server_id']}"
        raise exception.NotFound(what=where)


def _tags(server: Instance) -> list[str]:
    return list(settings_of(server).tags)


ROUTES: Routes[Call] = {
    "/v2.1/servers/{server_id}/tags": {
        "GET": server.action(index, policies.INDEX, schemas.ANSWER, since=(2, 26)),
        "PUT": Action(
            update_all,
            policies.UPDATE_ALL,
            schemas.ANSWER,
            since=(2, 26),
            body=schemas.ALL,
            subject=server.load_for_change,
        ),
        "DELETE": Action(
            delete_all,
            policies.DELETE_ALL,
            since=(2, 26),
            status=204,
            subject=server.load_for_change,
        ),
    },
    "/v2.1/servers/{server_id}/tags/{tag}": {
        "GET": server.action(show, policies.SHOW, since=(2, 26), status=204),
        "PUT": Action(
            update, policies.UPDATE, since=(2, 26), status=201, subject=server.load_for_change
        ),
        "DELETE": Action(
            delete, policies.DELETE, since=(2, 26), status=204, subject=server.load_for_change
        ),
    },
}
