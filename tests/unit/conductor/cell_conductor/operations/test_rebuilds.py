"""A rebuild that has changed nothing on its host changes nothing in the records."""

from __future__ import annotations

import pytest
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from conductor.common.cell_db import instance_changes, instances
from objects.instances.server_changes import ServerChanges
from tests.builders import an_image
from tests.fixtures.cell.operated_cell import OperatedCell
from tests.fixtures.cell.operation_stories import STORIES, Stage

CHANGES = ServerChanges(
    name="new",
    metadata={"colour": "red"},
    settings={"description": "new", "admin_password": "secret"},
    files={"/etc/motd": "aGk="},
)


def tag(cell: OperatedCell, text: str) -> None:
    def write(session: Session) -> None:
        row = instances.lock(session, cell.uuid)
        assert row is not None
        instance_changes.apply(row, ServerChanges(tags_added=[text]), now=timeutils.utcnow())

    cell.database.run_in_writer(write)


@pytest.mark.parametrize("what", ["kept", "aside", "lost"])
def test_a_server_whose_guest_was_kept_is_as_before(stage: Stage, what: str) -> None:
    """Its new tags stay; after a loss, the new image is the one to build from.

    One that is aside is started again by a hard reboot.
    """
    cell = stage.set(STORIES["rebuild-fails"])
    before = cell.row(cell.uuid)
    cell.failing_steps = {("a", "rebuild"), ("a", what)} - {("a", "lost")}
    image = an_image("other")
    cell.operate(cell.uuid, "rebuild", image=image, changes=CHANGES)
    tag(cell, "tagged")
    cell.settle()
    row = cell.row(cell.uuid)
    assert row.settings is not None
    settings = row.settings.load()
    assert settings.tags == ["tagged"]
    assert settings.admin_password is None
    if what != "lost":
        state = "active" if what == "kept" else "error"
        assert (row.vm_state, row.name, row.image) == (state, before.name, before.image)
        assert (settings.description, settings.files) == (None, {})
        assert row.metadata_ == before.metadata_
    else:
        assert row.image is not None
        assert (row.vm_state, row.name, row.image.load().id) == ("error", "new", image.id)
