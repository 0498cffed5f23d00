"""Tasks: works under leases, whatever breaks."""

import logging

import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.common.cell_db import models
from conductor.common.leased_work import Release
from tests.fixtures.cell import Cell, a_build_request


def test_works_left_to_recovery_are_taken_up_immediately(cell: Cell) -> None:
    """No room here: no need to wait for the lease to run out."""
    cell.add_agent("a")
    leases = cell.build.store(admin_context(), [a_build_request("a")])
    assert cell.take_free(cell.build) == []
    cell.build.release([Release(lease) for lease in leases])
    assert len(cell.take_free(cell.build)) == 1


def test_no_more_works_are_taken_than_asked_for(cell: Cell) -> None:
    """A batch has a bound; the rest waits."""
    cell.add_agent("a")
    requests = [a_build_request("a") for _ in range(5)]
    cell.build.store(admin_context(), requests)
    cell.clock.advance(31)
    assert len(cell.take_free(cell.build, 3)) == 3
    assert len(cell.take_free(cell.build, 3)) == 2


def test_works_that_are_done_are_not_run(cell: Cell) -> None:
    """A lease outlives its row: nothing happens."""
    cell.add_agent("a")
    request = a_build_request("a")
    leases = cell.build.store(admin_context(), [request])
    cell.build.run(admin_context(), leases)
    cell.settle()
    cell.build.run(admin_context(), leases)
    assert cell.agents["a"].commands == []


def test_a_database_that_goes_away_ends_a_run_and_nothing_else(
    cell: Cell, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said once, without a traceback, and recovery goes on when the database is back."""
    cell.add_agent("a")
    leases = cell.build.store(admin_context(), [a_build_request("a")])
    monkeypatch.setattr(cell.database, "reader", _unavailable)
    with caplog.at_level(logging.WARNING):
        cell.build.run(admin_context(), leases)
    (said,) = caplog.records
    assert (said.levelno, said.exc_info) == (logging.WARNING, None)
    assert "left to recovery; instances: 1" in said.getMessage()
    monkeypatch.undo()
    cell.clock.advance(31)
    cell.agents["a"].heartbeat()
    assert cell.recovery.run() == 1
    assert len(cell.agents["a"].commands) == 1


def test_an_unexpected_error_is_tried_again_later(cell: Cell) -> None:
    """Placement answers nonsense: logged, put off, not lost."""
    cell.add_agent("a")
    cell.add_agent("b")
    cell.failing["a"] = True
    request = a_build_request("a", "b")
    cell.hand_over(request)
    cell.top_bus.fail("claim_batch", exception.Invalid(reason="nonsense"))
    cell.agents["a"].work()
    [row] = cell.rows(models.InstanceBuild)
    assert row.tries == 1
    cell.settle()
    cell.check(request.instance_uuid, "active", "b")


def _unavailable() -> None:
    raise exception.DatabaseUnavailable(name="cell", reason="it restarts")
