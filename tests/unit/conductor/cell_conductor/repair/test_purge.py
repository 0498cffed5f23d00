"""Tests of the purge of instances that were deleted long ago."""

from conductor.common.cell_db import models
from objects.instances.migration import MigrationStatus, MigrationType
from tests import builders
from tests.fixtures.cell import Cell, a_build_request

DAY = 86400


def test_instances_are_removed_some_days_after_they_were_deleted(cell: Cell) -> None:
    """With their faults, actions, events and migrations; the living stay."""
    cell.conf.set_override("instance_keep_deleted_days", 3, group="cell")
    cell.add_agent("a")
    cell.add_agent("b")
    cell.failing["a"] = True
    old, living = a_build_request("a", "b"), a_build_request("b")
    cell.hand_over(old, living)
    cell.settle()
    for request in (old, living):
        _note_a_migration(cell, request.instance_uuid)
    cell.ask_delete(old.instance_uuid)
    cell.settle()
    cell.clock.advance(3 * DAY - 1)
    assert cell.purge() == 0
    cell.clock.advance(2)
    assert cell.purge() == 1
    assert [row.uuid for row in cell.rows(models.Instance)] == [living.instance_uuid]
    assert cell.rows(models.InstanceFault) == []
    assert [row.action for row in cell.rows(models.InstanceAction)] == ["create"]
    assert len(cell.rows(models.InstanceActionEvent)) == 1
    moved = [row.instance_uuid for row in cell.rows(models.Migration)]
    assert moved == [living.instance_uuid]


def _note_a_migration(cell: Cell, instance_uuid: str) -> None:
    with cell.database.writer() as session:
        session.add(
            models.Migration(
                uuid=builders.a_uuid(), instance_uuid=instance_uuid, created_at=builders.A_TIME,
                migration_type=MigrationType.RESIZE, status=MigrationStatus.CONFIRMED,
                flow_state={},
            )
        )  # fmt: skip


def test_more_than_a_batch_is_removed_in_one_look(cell: Cell) -> None:
    """In several transactions, none of them long."""
    cell.conf.set_override("instance_keep_deleted_days", 0, group="cell")
    cell.add_agent("a")
    cell.hand_over(*(a_build_request("a") for _ in range(501)))
    with cell.database.writer() as session:
        session.query(models.Instance).update({"deleted_at": models.Instance.created_at})
    assert cell.purge() == 501
