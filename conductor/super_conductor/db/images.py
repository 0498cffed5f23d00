"""Queries on images: create, get, list, delete."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import raise_if_duplicate
from objects.image_meta import PRIVATE_PROPERTIES, ImageMeta

_COLUMNS = (
    "id", "name", "status", "disk_format", "min_ram_mb", "min_disk_gb", "size_bytes", "properties",
    "created_at", "updated_at",
)  # fmt: skip


def create_image(
    session: Session, image: ImageMeta, *, owner: str | None = None, now: datetime
) -> ImageMeta:
    """Store an image of a project under its own id. Raises ImageExists, Invalid."""
    if not image.name.strip():
        raise exception.Invalid(reason="the name of an image must not be empty")
    if session.get(models.Image, image.id) is not None:
        raise exception.ImageExists(image=image.id)
    values = {name: getattr(image, name) for name in _COLUMNS}
    row = models.Image(**{**values, "owner": owner, "created_at": now, "updated_at": None})
    with raise_if_duplicate(session, exception.ImageExists(image=image.id)):
        session.add(row)
    return _to_object(row)


def get_image(session: Session, image: str) -> ImageMeta:
    """Find by id, else by name. Raises ImageNotFound, and Invalid for an ambiguous name."""
    return _to_object(_get_row(session, image))


def show_image(session: Session, image: str, context: RequestContext) -> ImageMeta:
    """Find an image as ``get_image`` does, with the properties that a user may see."""
    return _visible(_get_row(session, image), context)


def list_images(session: Session, context: RequestContext) -> list[ImageMeta]:
    """Return all images ordered by name and id, with the properties that a user may see."""
    rows = session.scalars(sa.select(models.Image).order_by(models.Image.name, models.Image.id))
    return [_visible(row, context) for row in rows]


def delete_image(session: Session, image: str) -> None:
    """Delete an image; instances keep their copy. Raises ImageNotFound, Invalid."""
    session.delete(_get_row(session, image))
    session.flush()


def _get_row(session: Session, image: str) -> models.Image:
    by_id = session.get(models.Image, image)
    if by_id is not None:
        return by_id
    by_name = session.scalars(
        sa.select(models.Image).where(models.Image.name == image).limit(2)
    ).all()
    if not by_name:
        raise exception.ImageNotFound(image=image)
    if len(by_name) > 1:
        raise exception.Invalid(
            reason=f"several images have the name {image}; use the id of one of them"
        )
    return by_name[0]


def _visible(row: models.Image, context: RequestContext) -> ImageMeta:
    """Return an image without private properties unless the user may see them.

    Those are administrators, and users of the project that owns the image.
    """
    image = _to_object(row)
    if context.is_admin or (row.owner is not None and row.owner == context.project_id):
        return image
    shown = {
        name: value for name, value in image.properties.items() if name not in PRIVATE_PROPERTIES
    }
    return image.with_values(properties=shown)


def _to_object(row: models.Image) -> ImageMeta:
    return ImageMeta.from_values({name: getattr(row, name) for name in _COLUMNS})
