"""Data of images: upload and download."""

from __future__ import annotations

from dataclasses import replace

import falcon

from api.image import unneeded
from api.image.call import Call
from armillary import exception
from armillary.http.call import Answer
from objects.images.image_record import ACTIVE, DEACTIVATED, SAVING, ImageRecord, StoredImage

DATA = "application/octet-stream"


def upload(call: Call) -> Answer:
    """Store the data of an image, which is active from then on."""
    if call.media_type != DATA:
        raise falcon.HTTPUnsupportedMediaType(
            description=f"The data must be sent as {DATA}, not '{call.media_type[:80]}'."
        )
    _require_no_data(call.image)
    _require_formats(call.image)
    image_id, store = call.image.image.id, call.site.store
    unneeded.delete(call.conductor, store.remove)  # it may make the room that is needed
    stored = store.write(
        image_id, call.data, size_bytes=call.data_bytes, project_id=call.context.project_id
    )

    def edit(record: ImageRecord) -> ImageRecord:
        _require_no_data(record)
        _require_formats(record)
        image = record.image.with_values(status=ACTIVE, size_bytes=stored.size_bytes)
        return replace(record, image=image, checksum=stored.md5, sha512=stored.sha512)

    try:
        call.change(edit)
    except (exception.NotFound, exception.Conflict, exception.Invalid):
        _discard(call, stored)
        raise
    store.publish(image_id, stored)
    return Answer()


def download(call: Call) -> Answer:
    """Send an image's data; 204 if it has none."""
    record = call.image
    if record.image.status == DEACTIVATED and not call.context.is_admin:
        raise exception.Forbidden(reason="the image is deactivated")
    if record.sha512 is None:
        return Answer(status=204)
    try:
        pieces = call.site.store.read(record, project_id=call.context.project_id)
    except FileNotFoundError as error:
        raise exception.NotFound(
            f"The data of image {record.image.id} is not in the store of this API."
        ) from error
    headers = {"Content-MD5": record.checksum or "", "Content-Length": str(record.image.size_bytes)}
    return Answer(stream=pieces, headers=headers)


def _require_no_data(record: ImageRecord) -> None:
    """Raise Conflict for an image with data, and for one whose data is its server's to store.

    One that needs none may get some anyway.
    """
    if record.sha512 is not None or record.image.status in (DEACTIVATED, SAVING):
        raise exception.Conflict(
            f"Image {record.image.id} is {record.image.status}: data is uploaded once."
        )


def _require_formats(record: ImageRecord) -> None:
    """Raise Invalid for an image that does not say what its data is."""
    for name, value in (
        ("disk_format", record.image.disk_format),
        ("container_format", record.container_format),
    ):
        if value is None:
            raise exception.Invalid(f"Set {name} before data is uploaded.")


def _discard(call: Call, stored: StoredImage) -> None:
    """Remove data that lost, unless another upload stored the same."""
    try:
        record = call.conductor.get_image(call.context, call.image.image.id)
    except exception.NotFound:
        record = None
    if record is None or record.sha512 != stored.sha512:
        call.site.store.discard(call.image.image.id, stored)
