"""Images that are to be deleted with their data: an API process deletes the data, then the record.

Their users deleted them, or their servers were unshelved or deleted.
"""

import contextlib
from collections.abc import Callable

from armillary import exception
from armillary.context import admin_context
from conductor.super_conductor.interface import SuperConductorAPI
from objects.images.image_record import ImageRecord


def delete(conductor: SuperConductorAPI, delete_data: Callable[[ImageRecord], None]) -> None:
    """Delete the data of images that conductors do not need any more, then the images.

    Any number of processes may do it at the same time.
    """
    for record in conductor.list_images_to_delete(admin_context()):
        delete_with_data(conductor, record, delete_data)


def delete_with_data(
    conductor: SuperConductorAPI, record: ImageRecord, delete_data: Callable[[ImageRecord], None]
) -> None:
    """Delete the data of an image that is to be deleted, then its record."""
    delete_data(record)
    with contextlib.suppress(exception.NotFound):  # it had none, or another process was first
        conductor.delete_image(admin_context(), record.image.id)
