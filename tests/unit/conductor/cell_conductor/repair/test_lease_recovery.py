"""Recovery: what was left lying is taken up, what was deleted long ago is removed."""

from __future__ import annotations

from armillary.metrics import process_metrics
from conductor.common.cell_db import models
from objects.migration import MigrationStatus, MigrationType
from tests import builders
from tests.fixtures.cell import Cell, a_build_request

DAY = 86400


def test_a_look_takes_up_a_batch_of_each_task(cell: Cell) -> None:
    """``recovery_batch_size_max`` builds and as many deletes."""
    cell.conf.set_override("recovery_batch_size_max", 2, group="conductor")
    cell.add_agent("a")
    cell.hand_over(*(a_build_request("a") for _ in range(6)))
    for row in cell.rows(models.Instance)[:3]:
        cell.ask_delete(row.uuid)
    cell.agents["a"].orders.clear()
    cell.pass_time(31)
    assert cell.recovery.take_up() == 4
    kinds = sorted(order.kind for order in cell.agents["a"].orders)
    assert kinds == ["build", "build", "delete", "delete"]


def test_each_look_shows_what_had_no_holder(cell: Cell) -> None:
    """A number for each table, operations among them."""
    cell.add_agent("a")
    request = a_build_request("a")
    cell.hand_over(request)
    cell.settle()
    cell.operate(request.instance_uuid, "stop")
    cell.agents["a"].orders.clear()
    cell.pass_time(31)
    cell.recovery.take_up()
    tables = ("instance_builds", "instance_deletes", "instance_operations")
    assert [_in_recovery(table) for table in tables] == [0, 0, 1]


def _in_recovery(table: str) -> float | None:
    registry = process_metrics().registry
    return registry.get_sample_value("armillary_works_in_recovery", {"table": table})


def test_work_whose_lease_runs_is_left_alone(cell: Cell) -> None:
    """Its holder is at it."""
    cell.add_agent("a")
    cell.hand_over(a_build_request("a"))
    cell.clock.advance(29)
    assert cell.recovery.take_up() == 0


def test_a_build_whose_host_died_ends_within_lease_and_down_time(cell: Cell) -> None:
    """Nobody reports it: lease and service run out, and the alternate builds it."""
    cell.add_agent("a")
    cell.add_agent("b")
    request = a_build_request("a", "b")
    cell.hand_over(request)
    cell.silence("a")
    cell.recovery.take_up()
    cell.agents["b"].work()
    cell.check(request.instance_uuid, "active", "b")


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
    assert cell.recovery.purge() == 0
    cell.clock.advance(2)
    assert cell.recovery.purge() == 1
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
                migration_type=MigrationType.RESIZE, status=MigrationStatus.CONFIRMED, facts={},
            )
        )  # fmt: skip


def test_more_than_a_batch_is_removed_in_one_look(cell: Cell) -> None:
    """In several transactions, none of them long."""
    cell.conf.set_override("instance_keep_deleted_days", 0, group="cell")
    cell.add_agent("a")
    cell.hand_over(*(a_build_request("a") for _ in range(501)))
    with cell.database.writer() as session:
        session.query(models.Instance).update({"deleted_at": models.Instance.created_at})
    assert cell.recovery.purge() == 501
