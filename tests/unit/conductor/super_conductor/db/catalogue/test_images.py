"""Tests of storing images."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import admin_context
from armillary.db import Database
from conductor.super_conductor.db.catalogue import images
from objects.images.image_meta import ImageMeta
from objects.images.image_record import ImageRecord
from tests import builders
from tests.fixtures.control_plane import NOW


@pytest.fixture
def session(api_database: Database) -> Iterator[Session]:
    with api_database.writer() as session:
        yield session


def create(session: Session, name: str = "loop", **values: Any) -> ImageMeta:
    record = ImageRecord(builders.an_image(name, **values), owner="p1")
    return images.create_record(session, record, now=NOW).image


def test_an_image_is_found_by_id_and_by_name(session: Session) -> None:
    """It comes back as it was stored."""
    made = create(session, properties={"process_command": "sleep 1"}, size_bytes=2**40)
    for name in (made.id, "loop"):
        found = images.get_image(session, name, admin_context())
        assert (found.id, found.properties, found.size_bytes) == (
            made.id, {"process_command": "sleep 1"}, 2**40,
        )  # fmt: skip


def test_an_ambiguous_name_is_refused(session: Session) -> None:
    """Each is found by its id."""
    made = [create(session) for _ in range(2)]
    with pytest.raises(exception.Invalid, match="several images"):
        images.get_image(session, "loop", admin_context())
    assert images.get_image(session, made[0].id, admin_context()).id == made[0].id


def test_an_id_is_taken_once(session: Session) -> None:
    """The caller chose it."""
    made = create(session)
    with pytest.raises(exception.ImageExists):
        create(session, "other", id=made.id)


def test_images_are_listed_by_name_and_id(session: Session) -> None:
    """So that pages are stable."""
    made = [create(session, name) for name in ("b", "a", "a")]
    found = [record.image for record in images.list_records(session, admin_context())]
    assert [(one.name, one.id) for one in found] == sorted((one.name, one.id) for one in made)


def test_a_deleted_image_is_unknown(session: Session) -> None:
    """And cannot be deleted again."""
    create(session)
    images.delete_image(session, "loop", admin_context(), now=NOW)
    with pytest.raises(exception.ImageNotFound):
        images.delete_image(session, "loop", admin_context(), now=NOW)
