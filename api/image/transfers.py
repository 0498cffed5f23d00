"""Data of images for hosts, which come with a ticket instead of a user's token.

A ticket is for one image, and expires soon. The super conductor issues it for a host that needs the
image, and says whether one that a host shows is valid.
"""

import re

import falcon

from api.image.call import Call
from api.image.store import HOSTS
from armillary import exception
from armillary.context import admin_context
from armillary.http.call import Answer
from objects.images.image_record import SAVING, ImageRecord
from objects.images.image_ticket import DIGEST_HEADER, HEADER, READ, WRITE

_RANGE = re.compile(r"bytes=(\d{1,18})-")


def read(call: Call) -> Answer:
    """Send an image's data, from the byte on that the host asks for."""
    record = _redeemed(call, READ)
    size = record.image.size_bytes
    start = _first_byte(call, size)
    try:
        pieces = call.site.store.read(record, project_id=HOSTS, start=start)
    except FileNotFoundError as error:
        raise exception.NotFound(
            f"The data of image {record.image.id} is not in the store of this API."
        ) from error
    headers = {"Content-Length": str(size - start)}
    if start:
        headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
    return Answer(stream=pieces, status=206 if start else 200, headers=headers)


def write(call: Call) -> Answer:
    """Store the data of a snapshot; its record becomes active when the host has reported it."""
    image_id, store = _redeemed(call, WRITE).image.id, call.site.store
    stored = store.write(image_id, call.data, size_bytes=call.data_bytes, project_id=HOSTS)
    if stored.sha512 != call.header(DIGEST_HEADER):
        store.discard(image_id, stored)
        raise exception.Invalid(f"The data has another SHA-512 digest than {DIGEST_HEADER} says.")
    if _is_wanted(call, image_id):
        store.publish(image_id, stored)
        if not store.is_deletion_noted(image_id):
            return Answer()
        store.forget(image_id)
    store.discard(image_id, stored)
    raise exception.ImageNotFound(image=image_id)


def _redeemed(call: Call, access: str) -> ImageRecord:
    """Return the image. Raises Unauthorized without a valid ticket, ImageNotFound."""
    return call.conductor.redeem_image_ticket(
        call.context, call.header(HEADER) or "", call.path["image_id"], access
    )


def _is_wanted(call: Call, image_id: str) -> bool:
    """Return whether the image still waits for its data; an upload may take long."""
    try:
        record = call.conductor.get_image(admin_context(), image_id)
    except exception.NotFound:
        return False
    return record.image.id == image_id and record.image.status == SAVING


def _first_byte(call: Call, size: int) -> int:
    """Return where the data is to begin. Raises status 416 for what it does not have."""
    given = call.header("Range")
    if given is None:
        return 0
    found = _RANGE.fullmatch(given)
    start = int(found[1]) if found else size
    if start >= size:
        raise falcon.HTTPRangeNotSatisfiable(size)
    return start
