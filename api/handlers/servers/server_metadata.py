"""Metadata of a server, which scheduling does not read."""

from api.call import Call
from api.handlers.servers import server
from api.handlers.servers.server import change
from api.policies.servers import server_metadata as policies
from api.schemas.servers import server_metadata as schemas
from armillary import exception
from armillary.http.call import Answer
from armillary.http.dispatch import Action, Routes
from armillary.http.validation import invalid
from objects.instance import UNKNOWN
from objects.instances.server_changes import ServerChanges


def index(call: Call) -> Answer:
    """List the metadata of a server."""
    return Answer({"metadata": call.subject.metadata})


def create(call: Call) -> Answer:
    """Add metadata to a server, or change some."""
    server = change(call, ServerChanges(metadata=call.body["metadata"]))
    return Answer({"metadata": server.metadata})


def update_all(call: Call) -> Answer:
    """Replace the metadata of a server."""
    server = change(call, ServerChanges(metadata=call.body["metadata"], replaces_metadata=True))
    return Answer({"metadata": server.metadata})


def show(call: Call) -> Answer:
    """Show one item of a server's metadata."""
    return _item(call, call.subject.metadata)


def update(call: Call) -> Answer:
    """Set one item of a server's metadata."""
    item, key = call.body["meta"], call.path["key"]
    if key not in item:
        raise invalid("meta", item, f"Its only field must be {key}, as in the path")
    return _item(call, change(call, ServerChanges(metadata=item)).metadata)


def delete(call: Call) -> Answer:
    """Delete one item of a server's metadata."""
    if call.subject.vm_state != UNKNOWN:
        _item(call, call.subject.metadata)
    change(call, ServerChanges(metadata={call.path["key"]: None}))
    return Answer()


def _item(call: Call, metadata: dict[str, str]) -> Answer:
    key = call.path["key"]
    if key not in metadata:
        raise exception.NotFound(what=f"Metadata item {key} of server {call.path['server_id']}")
    return Answer({"meta": {key: metadata[key]}})


ROUTES: Routes[Call] = {
    "/v2.1/servers/{server_id}/metadata": {
        "GET": server.action(index, policies.INDEX, schemas.ANSWER),
        "POST": Action(
            create,
            policies.CREATE,
            schemas.ANSWER,
            body=schemas.ALL,
            subject=server.load_for_change,
        ),
        "PUT": Action(
            update_all,
            policies.UPDATE_ALL,
            schemas.ANSWER,
            body=schemas.ALL,
            subject=server.load_for_change,
        ),
    },
    "/v2.1/servers/{server_id}/metadata/{key}": {
        "GET": server.action(show, policies.SHOW, schemas.ITEM_ANSWER),
        "PUT": Action(
            update,
            policies.UPDATE,
            schemas.ITEM_ANSWER,
            body=schemas.ITEM,
            subject=server.load_for_change,
        ),
        "DELETE": Action(delete, policies.DELETE, status=204, subject=server.load_for_change),
    },
}
