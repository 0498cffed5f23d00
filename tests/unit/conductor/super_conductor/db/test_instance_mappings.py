"""Tests of storing where instances are, on every engine."""

from datetime import timedelta

from armillary.db import Database
from conductor.super_conductor.db import cleanups, instance_mappings
from objects.cell_mapping import CELL0_UUID
from tests.fixtures.control_plane import NOW, a_user
from tests.fixtures.super_conductor.mappings import map_instances

CELL = "c0ffee00-0000-4000-8000-000000000001"
ONE, TWO, THREE = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))


def test_instances_are_mapped_to_cells(any_api_database: Database) -> None:
    """Those that are in none are in no list of a cell's."""
    with any_api_database.writer() as session:
        map_instances(session, ONE, TWO, THREE)
        instance_mappings.map_to_cell(session, [ONE], CELL)
        instance_mappings.map_to_cell(session, [TWO], CELL0_UUID)
        assert instance_mappings.cells_of(session, [ONE, TWO, THREE]) == {
            CELL: [ONE],
            CELL0_UUID: [TWO],
        }
        assert instance_mappings.unmapped(session, [ONE, "unknown"]) == {"unknown"}


def test_a_delete_is_said_once(any_api_database: Database) -> None:
    """The first one's moment counts."""
    with any_api_database.writer() as session:
        map_instances(session, ONE)
        assert instance_mappings.queue_for_delete(session, ONE, now=NOW)
        assert not instance_mappings.queue_for_delete(session, ONE, now=NOW + timedelta(days=1))
        mapping = instance_mappings.find_mapping(session, ONE)
        assert mapping is not None
        assert mapping.queued_for_delete
        assert instance_mappings.find_mapping(session, TWO) is None


def test_what_is_done_and_old_is_forgettable(any_api_database: Database) -> None:
    """Not what lives, not what is still to be cleaned up, not what is recent."""
    with any_api_database.writer() as session:
        map_instances(session, ONE, TWO, THREE)
        for uuid in (ONE, TWO):
            instance_mappings.queue_for_delete(session, uuid, now=NOW)
        cleanups.add_releases(session, [TWO], a_user())

        def found(age_seconds: int) -> list[str]:
            before = NOW + timedelta(seconds=age_seconds)
            return instance_mappings.list_purgeable(session, deleted_before=before, limit=9)

        assert found(-1) == []
        assert found(0) == [ONE]
        instance_mappings.delete_mappings(session, [ONE])
        assert found(0) == []
