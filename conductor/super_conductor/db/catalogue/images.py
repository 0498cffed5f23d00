"""Queries on images: create, get, list, change, delete; who sees which.

An image that is to be deleted with its data, which an API does, is shown to no user.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from conductor.super_conductor.db import models
from conductor.super_conductor.db.catalogue.quotas import lock_owner
from conductor.super_conductor.db.statements import raise_if_duplicate
from objects.images.image_meta import PRIVATE_PROPERTIES, ImageMeta
from objects.images.image_record import (
    ACCEPTED,
    COMMUNITY,
    PENDING_DELETE,
    PUBLIC,
    SAVING,
    SHARED,
    ImageRecord,
)

_COLUMNS = (
    "id", "name", "status", "disk_format", "min_ram_mb", "min_disk_gb", "size_bytes", "properties",
    "created_at", "updated_at",
)  # fmt: skip
_RECORD_COLUMNS = (
    "owner", "visibility", "is_protected", "is_hidden", "container_format", "checksum", "sha512",
    "virtual_size_bytes", "tags", "members", "generation",
)  # fmt: skip

OF_OWNER_CHARACTERS_MAX = 4 * 1024**2
"""Of the properties, tags and members of a project's images, in JSON: a list has them all."""

_IS_KEPT = models.Image.status != PENDING_DELETE


def create_record(
    session: Session, record: ImageRecord, *, now: datetime, of_owner_max: int | None = None
) -> ImageRecord:
    """Store an image under its own id, unless its owner has the maximum already.

    Raises ImageExists, also for the id of a deleted one, QuotaExceeded.
    """
    image = record.image
    if any(session.get(each, image.id) for each in (models.Image, models.DeletedImage)):
        raise exception.ImageExists(image=image.id)
    if of_owner_max is not None:
        lock_owner(session, record.owner or "")
        owned = sa.select(sa.func.count()).where(models.Image.owner == record.owner, _IS_KEPT)
        count = session.scalar(owned) or 0
        if count >= of_owner_max:
            raise exception.QuotaExceeded(
                resource="images", requested=1, used=count, limit=of_owner_max
            )
        _require_room(session, record, before=None)
    row = models.Image(**{**_values(record), "created_at": now, "updated_at": None})
    with raise_if_duplicate(session, exception.ImageExists(image=image.id)):
        session.add(row)
    return _to_record(row)


def get_image(session: Session, image: str, context: RequestContext) -> ImageMeta:
    """Find an image that a user may use by id, else by name, with all properties.

    A name is that of an own, public or accepted image.

    Raises ImageNotFound, and Invalid for an ambiguous name.
    """
    return _to_image(_get_row(session, image, context))


def get_record(session: Session, image: str, context: RequestContext) -> ImageRecord:
    """Find a record as ``get_image`` does, with the properties that a user may see."""
    return _shown(_get_row(session, image, context), context)


def list_records(
    session: Session, context: RequestContext, *, nameable_only: bool = False
) -> list[ImageRecord]:
    """Return the records that a user may use, or only those that a user may name.

    They are ordered by name and id. Others can be used by their ids: no project puts its images
    into the lists of all others.
    """
    is_listed = _is_trusted if nameable_only and not context.is_admin else _may_use
    return [_shown(row, context) for row in session.scalars(_in_order()) if is_listed(row, context)]


def list_pending_delete(session: Session) -> list[ImageRecord]:
    """Return the images that are to be deleted with their data."""
    rows = session.scalars(sa.select(models.Image).where(~_IS_KEPT).order_by(models.Image.id))
    return [_to_record(row) for row in rows]


def list_saving(session: Session, *, created_before: datetime) -> list[ImageRecord]:
    """Return the older images that wait for their data."""
    image = models.Image
    waiting = sa.select(image).where(image.status == SAVING, image.created_at < created_before)
    return [_to_record(row) for row in session.scalars(waiting.order_by(image.id))]


def update_record(session: Session, record: ImageRecord, *, now: datetime) -> ImageRecord:
    """Replace a record of the same generation.

    Raises ImageNotFound, ImageChanged, QuotaExceeded if it grew beyond what its owner may have.
    """
    row = session.get(models.Image, record.image.id)
    if row is None:
        raise exception.ImageNotFound(image=record.image.id)
    _require_room(session, record, before=_to_record(row))
    values = _values(record)
    values |= {"created_at": row.created_at, "updated_at": now}
    values["generation"] = record.generation + 1
    changed = session.execute(
        sa.update(models.Image)
        .where(models.Image.id == record.image.id, models.Image.generation == record.generation)
        .values(values)
    )
    if not changed.rowcount:  # type: ignore[attr-defined]
        raise exception.ImageChanged(image=record.image.id)
    session.refresh(row)
    return _to_record(row)


def answer_sharing(
    session: Session, image: str, member: str, status: str, *, now: datetime
) -> ImageRecord:
    """Store whether a project accepts an image that is shared with it.

    Raises ImageNotFound, also if it is not shared with that project, and ImageChanged.
    """
    row = session.get(models.Image, image)
    if row is None or row.visibility != SHARED or member not in row.members:
        raise exception.ImageNotFound(image=image)
    record = _to_record(row)
    return update_record(
        session, replace(record, members={**record.members, member: status}), now=now
    )


def find_record(session: Session, image_id: str) -> ImageRecord | None:
    """Return an image of any owner, with all its properties, or None."""
    row = session.get(models.Image, image_id)
    return None if row is None else _to_record(row)


def get_any_record(session: Session, image_id: str) -> ImageRecord:
    """Return an image of any owner, with all its properties. Raises ImageNotFound."""
    record = find_record(session, image_id)
    if record is None:
        raise exception.ImageNotFound(image=image_id)
    return record


def is_usable_by(record: ImageRecord, project_id: str) -> bool:
    """Return whether ordinary users of a project may use an image."""
    if record.visibility in (PUBLIC, COMMUNITY) or record.owner == project_id:
        return True
    return record.visibility == SHARED and project_id in record.members


def list_usable_by(session: Session, project_id: str) -> Iterator[ImageRecord]:
    """Yield the images that ordinary users of a project may use, with all their properties."""
    records = map(_to_record, session.scalars(_in_order()))
    return (record for record in records if is_usable_by(record, project_id))


def delete_record(session: Session, image_id: str) -> None:
    """Delete an image without a check of its owner; a missing one is ignored."""
    session.execute(sa.delete(models.Image).where(models.Image.id == image_id))


def give_up(session: Session, record: ImageRecord, *, now: datetime) -> None:
    """Have an API delete an image of a server, with what a host may have stored of its data."""
    image = record.image.with_values(status=PENDING_DELETE)
    update_record(session, replace(record, image=image, is_hidden=True), now=now)


def delete_image(session: Session, image: str, context: RequestContext, *, now: datetime) -> None:
    """Delete an image; instances keep their copy.

    One with data is ``pending_delete``, until its data is deleted and this is called once more by
    an API. Raises ImageNotFound, Invalid, ImageProtected.
    """
    pending = _find_pending(session, image, context)
    row = pending or _get_row(session, image, context)
    if row.is_protected:
        raise exception.ImageProtected(image=row.id)
    if pending is None and (row.sha512 is not None or row.status == SAVING):
        row.status, row.is_hidden, row.generation = PENDING_DELETE, True, row.generation + 1
        return
    session.delete(row)
    session.add(models.DeletedImage(id=row.id, deleted_at=now))
    session.flush()


def _require_room(session: Session, record: ImageRecord, before: ImageRecord | None) -> None:
    """Raise QuotaExceeded for a new or longer record if its owner's are too long together."""
    added = _characters(record)
    if before is not None and before.owner == record.owner:
        added -= _characters(before)
    if added <= 0 or record.owner is None:
        return
    lock_owner(session, record.owner)
    image = models.Image
    columns = (image.properties, image.tags, image.members)
    length = sum(sa.func.length(sa.cast(each, sa.Text)) for each in columns)
    owned = sa.select(sa.func.sum(length)).where(image.owner == record.owner)
    used = int(session.scalar(owned) or 0)
    if used + added > OF_OWNER_CHARACTERS_MAX:
        raise exception.QuotaExceeded(
            resource="characters of properties, tags and members of images",
            requested=added, used=used, limit=OF_OWNER_CHARACTERS_MAX,
        )  # fmt: skip


def _characters(record: ImageRecord) -> int:
    return len(json.dumps([record.image.properties, record.tags, list(record.members)]))


def _in_order() -> sa.Select[models.Image]:
    kept = sa.select(models.Image).where(_IS_KEPT)
    return kept.order_by(models.Image.name, models.Image.id)


def _get_row(session: Session, image: str, context: RequestContext) -> models.Image:
    by_id = session.get(models.Image, image)
    if by_id is not None and by_id.status != PENDING_DELETE and _may_use(by_id, context):
        return by_id
    named = session.scalars(sa.select(models.Image).where(models.Image.name == image, _IS_KEPT))
    by_name = [row for row in named if _is_trusted(row, context)]
    if not by_name:
        raise exception.ImageNotFound(image=image)
    if len(by_name) > 1:
        raise exception.Invalid(
            reason=f"several images have the name {image}; use the id of one of them"
        )
    return by_name[0]


def _find_pending(session: Session, image_id: str, context: RequestContext) -> models.Image | None:
    """Return an image whose data an API has deleted, which does that as an administrator."""
    row = session.get(models.Image, image_id) if context.is_admin else None
    return row if row is not None and row.status == PENDING_DELETE else None


def _may_use(row: models.Image, context: RequestContext) -> bool:
    if row.visibility in (PUBLIC, COMMUNITY) or _is_owner(row, context):
        return True
    return row.visibility == SHARED and context.project_id in row.members


def _is_trusted(row: models.Image, context: RequestContext) -> bool:
    """Return whether a user means this image by its name: not what any project may put there.

    Those are one's own, public ones, and shared ones that one's project has accepted.
    """
    own = context.project_id
    if row.visibility == PUBLIC or (row.owner is not None and row.owner == own):
        return True
    return row.visibility == SHARED and row.members.get(own or "") == ACCEPTED


def _is_owner(row: models.Image, context: RequestContext) -> bool:
    is_own = row.owner is not None and row.owner == context.project_id
    return bool(context.is_admin) or is_own


def _shown(row: models.Image, context: RequestContext) -> ImageRecord:
    """Return a record without private properties and members unless the user may see them.

    Those are administrators, and users of the project that owns the image.
    """
    record = _to_record(row)
    if _is_owner(row, context):
        return record
    shown = {
        name: value
        for name, value in record.image.properties.items()
        if name not in PRIVATE_PROPERTIES
    }
    own = context.project_id or ""
    members = {own: row.members[own]} if own in row.members else {}
    return replace(record, image=record.image.with_values(properties=shown), members=members)


def _values(record: ImageRecord) -> dict[str, object]:
    return {
        **{name: getattr(record.image, name) for name in _COLUMNS},
        **{name: getattr(record, name) for name in _RECORD_COLUMNS},
    }


def _to_image(row: models.Image) -> ImageMeta:
    columns = {name: getattr(row, name) for name in _COLUMNS}
    return ImageMeta.from_values(columns, sha512=row.sha512)


def _to_record(row: models.Image) -> ImageRecord:
    return ImageRecord(_to_image(row), **{name: getattr(row, name) for name in _RECORD_COLUMNS})
