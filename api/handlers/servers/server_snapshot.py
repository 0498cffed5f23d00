"""Snapshots of servers: images made of them, and backups, of which the newest are kept."""

import contextlib

from api.call import Call
from api.policies.images import image_service
from armillary import exception
from armillary.http.call import Answer, Document
from objects.images.image_meta import PROGRAM_PROPERTIES
from objects.images.image_record import (
    BACKUP,
    BACKUP_TYPE,
    IMAGE_TYPE,
    INSTANCE_UUID,
    ImageRecord,
    NewSnapshot,
)
from objects.instances.operation_rules import SNAPSHOT_STATES, check_state, check_unlocked

METADATA_ITEMS_MAX = 128
ID_SINCE = (2, 45)
"""In earlier versions the place of the image is in a header, and nothing in the body."""


def create_image(call: Call) -> Answer:
    """Make an image of the server; it is active when the host has stored its data."""
    wanted = call.body["createImage"]
    return _created(call, _snapshot(call, wanted, {}))


def create_backup(call: Call) -> Answer:
    """Make an image of the server, and delete older backups of the type beyond ``rotation``.

    A rotation of 0 keeps none: all are deleted, and no disk is copied for one more.
    """
    wanted = call.body["createBackup"]
    kind, rotation = wanted["backup_type"], int(wanted["rotation"])
    if rotation == 0:
        server = call.conductor.get_server(call.context, call.path["server_id"])
        check_unlocked(call.context, server)
        check_state(server, "backup", SNAPSHOT_STATES)
        _rotate(call, kind, server.project_id, 0)
        return Answer()
    made = _snapshot(call, wanted, {IMAGE_TYPE: BACKUP, BACKUP_TYPE: kind})
    _rotate(call, kind, made.owner, rotation)
    return _created(call, made)


def _rotate(call: Call, kind: str, owner: str | None, kept: int) -> None:
    for old in _backups(call, kind, owner)[kept:]:
        with contextlib.suppress(exception.ImageProtected, exception.ImageNotFound):
            call.site.images.delete(call.context, old)


def _snapshot(call: Call, wanted: Document, more: dict[str, str]) -> ImageRecord:
    metadata = wanted.get("metadata", {})
    if len(metadata) > METADATA_ITEMS_MAX:
        raise exception.Forbidden(
            reason=f"an image may have {METADATA_ITEMS_MAX} metadata items, not {len(metadata)}"
        )
    if not metadata.keys().isdisjoint(PROGRAM_PROPERTIES):
        call.authorize(image_service.SET_PROGRAM)
    if not call.site.images.takes_data_of_zones:
        _check_zone(call)
    snapshot = NewSnapshot(wanted["name"], {**metadata, **more}, call.site.images_per_project_max)
    made = call.conductor.create_snapshot(call.context, call.path["server_id"], snapshot)
    call.site.images.announce(made)
    return made


def _check_zone(call: Call) -> None:
    """Raise InstanceInvalidState for a server whose host cannot send its data here."""
    server = call.conductor.get_server(call.context, call.path["server_id"])
    if server.zone is not None:
        raise exception.InstanceInvalidState(
            instance_uuid=server.uuid,
            operation="be stored as an image",
            reason="it is in another zone, whose hosts cannot store data in this zone's image "
            "service; that takes a Glance that both use",
        )


def _backups(call: Call, kind: str, owner: str | None) -> list[ImageRecord]:
    """Return the backups of the server, newest first; other projects' images are none."""
    server_id = call.path["server_id"]
    existing = {image.id for image in call.site.images.list(call.context)}
    found = [
        record
        for record in call.conductor.list_images(call.context)
        if record.image.id in existing
        and record.owner == owner
        and record.image.properties.get(INSTANCE_UUID) == server_id
        and record.image.properties.get(IMAGE_TYPE) == BACKUP
        and record.image.properties.get(BACKUP_TYPE) == kind
    ]
    found.sort(key=lambda record: (str(record.image.created_at), record.image.id), reverse=True)
    return found


def _created(call: Call, made: ImageRecord) -> Answer:
    image_id = made.image.id
    if call.version >= ID_SINCE:
        return Answer({"image_id": image_id})
    (link, *_) = call.links.of("images", image_id)
    return Answer(headers={"Location": link["href"]})
