"""Images of shelved servers: once these are offloaded, some have their root disk nowhere else."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from conductor.cell_conductor.operations import snapshot
from conductor.cell_conductor.operations.flow import OwnStage, OwnWork, Stage
from conductor.cell_conductor.operations.rows import Rows
from conductor.common.cell_db import models
from conductor.common.cell_db.flow_states import Snapshot
from conductor.common.cell_db.instances import OFFLOAD_FAILED
from conductor.common.cell_db.stored_object import StoredObject
from objects.images.image_meta import PRIVATE_PROPERTIES, ImageMeta
from objects.images.image_record import (
    IMAGE_TYPE,
    INSTANCE_UUID,
    OF_OTHER_DATA,
    SAVING,
    SHELVED,
    StoredImage,
)
from objects.instances.instance_command import NEEDS_SOURCE, SHELVED_IMAGE
from objects.instances.operation_arguments import CellOperation

CREATE = "create_image"
STORE = "store_image"
PUBLISH = "publish_image"
DISCARD = "discard_image"

STORED = "shelved_image_data"
"""Key of a payload: what was stored as the image's data (``StoredImage``)."""

Payload = Mapping[str, Any] | None


def needs_source(payload: Payload) -> bool:
    """Return whether a guest cannot be taken over without its host, except by its disk's image."""
    return bool((payload or {}).get(NEEDS_SOURCE))


def is_needed(payload: Payload) -> bool:
    """Return whether only the host has the disk of a guest, which no image has."""
    return find(payload) is None and needs_source(payload)


def is_there(work: OwnWork, payload: Payload) -> bool:
    """Return whether the image of a shelved server exists: its user may have deleted it."""
    image, stored = find(payload), (payload or {}).get(STORED)
    if image is None or stored is None:
        return False
    return snapshot.end_image(work, _loaded(image), StoredImage(**stored))


def find(payload: Payload) -> Mapping[str, Any] | None:
    """Return the image (a versioned object) of a shelved server, or None."""
    found: Mapping[str, Any] | None = (payload or {}).get(SHELVED_IMAGE)
    return found


def for_driver(payload: Payload) -> dict[str, Any]:
    """Return a payload as the driver of the source gave it."""
    ours = (SHELVED_IMAGE, STORED, OFFLOAD_FAILED)
    return {name: value for name, value in (payload or {}).items() if name not in ours}


def forget(work: OwnWork, payload: Payload) -> None:
    """Delete the image of a server that was shelved; a missing one is ignored."""
    image = find(payload)
    if image is not None:
        snapshot.end_image(work, _loaded(image), None)


def drop_missing(rows: Rows) -> None:
    """Record that no image has the disk of a shelved server."""
    rows.instance.migration_payload = for_driver(rows.instance.migration_payload)


def choose_id(rows: Rows, _arguments: CellOperation) -> None:
    """Store the record of the image that may be made, so that a repeat makes the same one."""
    snapshot.set_image(rows, _image_of(rows.instance))


def stages(stored: str, *, failed: str) -> dict[str, Stage]:
    """Return the stages that store the disk as an image; ``stored`` or ``failed`` follows them."""

    def create(work: OwnWork) -> str:
        return STORE if _is_created(work) else failed

    def discard(work: OwnWork) -> str:
        snapshot.discard(work)
        return failed

    return {
        CREATE: OwnStage(create, leads_to=(STORE, failed)),
        STORE: snapshot.storing(then=PUBLISH, undo=DISCARD, down=DISCARD),
        PUBLISH: OwnStage(
            lambda work: stored if snapshot.publish(work) else DISCARD,
            leads_to=(stored, DISCARD), done=_note_published,
        ),
        DISCARD: OwnStage(discard, leads_to=(failed,)),
    }  # fmt: skip


def _image_of(instance: models.Instance) -> ImageMeta:
    base = None if instance.image is None else instance.image.load()
    hidden = OF_OTHER_DATA | PRIVATE_PROPERTIES
    inherited = {} if base is None else dict(base.properties)
    properties = {name: value for name, value in inherited.items() if name not in hidden}
    return ImageMeta.from_values(
        id=str(uuid.uuid4()),
        name=f"{instance.name}-shelved"[-255:],
        status=SAVING,
        disk_format=(None if base is None else base.disk_format) or "raw",
        min_ram_mb=0 if base is None else base.min_ram_mb,
        min_disk_gb=0,
        properties={**properties, IMAGE_TYPE: SHELVED, INSTANCE_UUID: instance.uuid},
    )


def _is_created(work: OwnWork) -> bool:
    context = work.context.for_instance(work.instance.uuid)
    return work.snapshots.create(context, work.instance.uuid, snapshot.image_of(work.operation))


def _note_published(rows: Rows, following: str) -> None:
    """Keep the image with the server: its guest may have to be built from it again."""
    state = Snapshot.of(rows.operation)
    if following != DISCARD and state.image is not None:
        payload = rows.instance.migration_payload or {}
        kept = {SHELVED_IMAGE: state.image.primitive, STORED: dict(state.stored_image or {})}
        rows.instance.migration_payload = {**payload, **kept}


def _loaded(image: Mapping[str, Any]) -> ImageMeta:
    stored: StoredObject[ImageMeta] = StoredObject(dict(image))
    return stored.load()
