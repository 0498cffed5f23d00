"""Deletes in the database: found by instance, removed when they have ended."""

from armillary.db import Database
from conductor.common.cell_db import deletes, models
from tests.builders import A_TIME


def add(database: Database, *uuids: str) -> None:
    with database.writer() as session:
        session.add_all(
            models.InstanceDelete(
                instance_uuid=uuid, is_guest_gone=False, request_id="req", tries=0,
                created_at=A_TIME, lease_owner=None, lease_expires_at=0.0,
            )
            for uuid in uuids
        )  # fmt: skip


def test_deletes_are_found_and_locked_by_instance(database: Database) -> None:
    """Unknown ones are left out."""
    add(database, "one", "two")
    with database.writer() as session:
        assert set(deletes.ROWS.lock_all(session, ["one", "two", "three"])) == {"one", "two"}
        assert deletes.lock(session, "three") is None
    [row] = database.read(deletes.ROWS.list_by_uuids, ["two"])
    assert row.instance_uuid == "two"


def test_removed_deletes_are_gone(database: Database) -> None:
    """Removing what is gone is fine."""
    add(database, "one", "two")
    for _ in range(2):
        database.run_in_writer(deletes.remove, ["one"])
    left = database.read(deletes.ROWS.list_by_uuids, ["one", "two"])
    assert [row.instance_uuid for row in left] == ["two"]
