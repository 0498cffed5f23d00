"""Queries on images: create, get, list, delete."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import raise_if_duplicate
from objects.image_meta import ImageMeta

_COLUMNS = (
    "id", "name", "status", "disk_format", "min_ram_mb", "min_disk_gb", "size_bytes", "properties",
    "created_at", "updated_at",
)  # fmt: skip


def create_image(session: Session, image: ImageMeta, *, now: datetime) -> ImageMeta:
    """Store an image under its own id. Raises ImageExists, Invalid."""
    if not image.name.strip():
        raise exception.Invalid(reason="the name of an image must not be empty")
    if session.get(models.Image, image.id) is not None:
        raise exception.ImageExists(image=image.id)
    values = {name: getattr(image, name) for name in _COLUMNS}
    row = models.Image(**{**values, "created_at": now, "updated_at": None})
    with raise_if_duplicate(session, exception.ImageExists(image=image.id)):
        session.add(row)
    return _to_object(row)


def get_image(session: Session, image: str) -> ImageMeta:
    """Find by id, else by name. Raises ImageNotFound, and Invalid for an ambiguous name."""
    return _to_object(_get_row(session, image))


def list_images(session: Session) -> list[ImageMeta]:
    """Return all images ordered by name and id."""
    rows = session.scalars(sa.select(models.Image).order_by(models.Image.name, models.Image.id))
    return [_to_object(row) for row in rows]


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


def _to_object(row: models.Image) -> ImageMeta:
    return ImageMeta.from_values({name: getattr(row, name) for name in _COLUMNS})
