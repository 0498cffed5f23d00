"""Images of servers that were unshelved or deleted: removed with their data, by an API process."""

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
    context = admin_context()
    for record in conductor.list_images_to_delete(context):
        delete_data(record)
        with contextlib.suppress(exception.NotFound):  # another API process was first
            conductor.delete_image(context, record.image.id)
