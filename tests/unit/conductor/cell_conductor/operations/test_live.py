"""Live migration: the status that it shows while the source's agent lets it wait."""

import uuid

import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.common.cell_db import models
from objects.instances.instance_command import CommandId
from objects.instances.migration import MigrationStatus, MigrationType
from tests.fixtures.cell import Cell, a_build_request

MOVE = str(uuid.UUID(int=8))


def copying(cell: Cell) -> str:
    """Have an instance whose source was told to copy it, and return its UUID."""
    for host in ("a", "b"):
        cell.add_agent(host)
    request = a_build_request("a")
    cell.hand_over(request)
    cell.settle()
    made = request.instance_uuid
    cell.operate(
        made, "live_migrate", migration_uuid=MOVE, migration_type=MigrationType.LIVE_MIGRATION
    )
    cell.schedule(made, MOVE, "b")
    while stage(cell) != "copy":
        for agent in cell.agents.values():
            agent.work()
    return made


def stage(cell: Cell) -> str:
    [row] = cell.rows(models.InstanceOperation)
    return str(row.stage)


def status(cell: Cell) -> str:
    [row] = cell.rows(models.Migration)
    return str(row.status)


def progress(cell: Cell, made: str, *, agent: str = "a", sequence: int = 0) -> None:
    [row] = cell.rows(models.InstanceOperation)
    cell.operations.answers.migration_progress(
        admin_context(),
        agent,
        CommandId("a", made, sequence or row.sequence),
        total_mb=512,
        remaining_mb=512,
    )


def test_it_is_queued_until_its_source_tells_of_progress(cell: Cell) -> None:
    """The agent lets it wait until there is room; then it runs."""
    made = copying(cell)
    assert status(cell) == MigrationStatus.QUEUED
    progress(cell, made, agent="b")
    progress(cell, made, sequence=99)
    assert status(cell) == MigrationStatus.QUEUED
    progress(cell, made)
    assert status(cell) == MigrationStatus.RUNNING


def test_all_is_copied_once_it_arrived(cell: Cell) -> None:
    """Its last report was of a moment before."""
    made = copying(cell)
    progress(cell, made)
    cell.settle()
    [row] = cell.rows(models.Migration)
    assert (row.status, row.memory_total_mb) == (MigrationStatus.COMPLETED, 512)
    assert row.memory_remaining_mb == 0


def test_a_copy_is_forced_to_complete_by_its_source(cell: Cell) -> None:
    """And nothing else is."""
    made = copying(cell)
    [row] = cell.rows(models.InstanceOperation)
    cell.operations.answers.force_migration(admin_context(), made, MOVE)
    assert [agent.forced for agent in cell.agents.values()] == [[(made, "a", row.sequence)], []]
    cell.settle()
    with pytest.raises(exception.InstanceInvalidState, match="not being copied"):
        cell.operations.answers.force_migration(admin_context(), made, MOVE)


def test_a_queued_one_can_be_aborted(cell: Cell) -> None:
    """Its agent answers that it did not begin, and the instance stays where it is."""
    made = copying(cell)
    cell.operations.answers.abort_migration(admin_context(), made, MOVE)
    cell.settle()
    assert status(cell) == MigrationStatus.CANCELLED
    cell.check(made, "active", "a")


@pytest.mark.parametrize("signal", ["abort", "force"])
def test_a_command_that_is_sent_again_says_what_it_was_told(cell: Cell, signal: str) -> None:
    """The agent may have lost the message that aborts it, or completes it immediately."""
    made = copying(cell)
    getattr(cell.operations.answers, f"{signal}_migration")(admin_context(), made, MOVE)
    cell.recover()
    steps = [each.step for each in cell.agents["a"].commands if each.step is not None]
    told = [(step.arguments.get("is_aborted"), step.arguments.get("is_forced")) for step in steps]
    assert told == [(None, None), (True, None) if signal == "abort" else (None, True)]
