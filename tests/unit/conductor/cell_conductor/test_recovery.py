"""Tests of recovery in a cell: work that no conductor has is resumed."""

import prometheus_client

from conductor.common.cell_db import models
from tests.fixtures.cell import Cell, a_build_request

DAY = 86400


def test_a_look_takes_up_a_batch_of_each_task(cell: Cell) -> None:
    """``recovery_batch_size_max`` builds and as many deletes."""
    cell.conf.set_override("recovery_batch_size_max", 2, group="conductor")
    cell.add_agent("a")
    cell.hand_over(*(a_build_request("a") for _ in range(6)))
    for row in cell.rows(models.Instance)[:3]:
        cell.ask_delete(row.uuid)
    cell.agents["a"].commands.clear()
    cell.pass_time(31)
    assert cell.recovery.run() == 4
    kinds = sorted(command.kind for command in cell.agents["a"].commands)
    assert kinds == ["build", "build", "delete", "delete"]


def test_each_look_shows_what_had_no_holder(cell: Cell) -> None:
    """A number for each table, operations among them."""
    cell.add_agent("a")
    request = a_build_request("a")
    cell.hand_over(request)
    cell.settle()
    cell.operate(request.instance_uuid, "stop")
    cell.agents["a"].commands.clear()
    cell.pass_time(31)
    cell.recovery.run()
    tables = ("instance_builds", "instance_deletes", "instance_operations")
    assert [_in_recovery(table) for table in tables] == [0, 0, 1]


def _in_recovery(table: str) -> float | None:
    registry = prometheus_client.REGISTRY
    return registry.get_sample_value("armillary_tasks_in_recovery", {"table": table})


def test_work_whose_lease_runs_is_left_alone(cell: Cell) -> None:
    """Its holder is at it."""
    cell.add_agent("a")
    cell.hand_over(a_build_request("a"))
    cell.clock.advance(29)
    assert cell.recovery.run() == 0
