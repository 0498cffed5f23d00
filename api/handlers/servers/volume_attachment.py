"""Volumes of a server: the one that it boots from, if it does; none is attached later."""

import uuid

from api.call import Call
from api.handlers.servers import server
from api.policies.servers import volume_attachment as policies
from api.schemas.servers import volume_attachment as schemas
from armillary import exception
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Routes
from objects.instance import Instance

ROOT_DEVICE = "/dev/vda"
ONE_AT_MOST = (
    "without a volume service a server has the volume that it was created to boot from, or none"
)


def index(call: Call) -> Answer:
    """List the volumes of a server: the one that it boots from, if it does."""
    volume = _root_of(call.subject)
    shown = [_shown(call, volume)] if volume else []
    start = call.query.get("offset", 0)
    return Answer({"volumeAttachments": shown[start : start + call.page_size]})


def show(call: Call) -> Answer:
    """Show the volume that a server boots from."""
    return Answer({"volumeAttachment": _shown(call, _find(call))})


def attach(call: Call) -> Answer:
    """Refuse to attach a volume: no volume service knows it."""
    volume = call.body["volumeAttachment"]["volumeId"]
    if volume.lower() == _root_of(call.subject):
        raise exception.Invalid(f"Volume {volume} is attached to the server already.")
    raise exception.NotFound(f"Volume {volume} could not be found: {ONE_AT_MOST}.")


def swap(call: Call) -> Answer:
    """Refuse to replace the volume that a server boots from."""
    raise exception.Invalid(f"Volume {_find(call)} cannot be replaced: {ONE_AT_MOST}.")


def detach(call: Call) -> Answer:
    """Refuse to detach the volume that a server boots from."""
    raise exception.Forbidden(f"Volume {_find(call)} cannot be detached: the server boots from it.")


def _root_of(instance: Instance) -> str | None:
    settings = instance.settings
    return None if settings is None else settings.root_volume


def _find(call: Call) -> str:
    """Return the volume of the path. Raises NotFound unless the server boots from it."""
    wanted, volume = call.path["volume_id"], _root_of(call.subject)
    if volume is None or wanted.lower() != volume:
        raise exception.NotFound(
            f"Volume {wanted} is not attached to server {call.subject.uuid}: {ONE_AT_MOST}."
        )
    return volume


def _shown(call: Call, volume: str) -> Document:
    return {
        "id": volume,
        "volumeId": volume,
        "serverId": call.subject.uuid,
        "device": ROOT_DEVICE,
        "tag": None,
        "delete_on_termination": False,
        "attachment_id": str(uuid.uuid5(uuid.UUID(volume), call.subject.uuid)),
        "bdm_uuid": volume,
    }


ROUTES: Routes[Call] = {
    "/v2.1/servers/{server_id}/os-volume_attachments": {
        "GET": server.action(
            index, policies.INDEX, schemas.INDEX_ANSWER, query=schemas.INDEX_QUERY
        ),
        "POST": server.action(attach, policies.CREATE, body=schemas.CREATE),
    },
    "/v2.1/servers/{server_id}/os-volume_attachments/{volume_id}": {
        "GET": server.action(show, policies.SHOW, schemas.SHOW_ANSWER),
        "PUT": server.action(swap, policies.SWAP, body=schemas.UPDATE, status=202),
        "DELETE": server.action(detach, policies.DELETE, status=202),
    },
}
