"""A wish that comes again when it was fulfilled is late: nothing is done once more."""

from __future__ import annotations

import pytest

from armillary import exception
from armillary.context import RequestContext, admin_context
from tests.fixtures.operated_cell import OperatedCell
from tests.fixtures.operation_stories import MOVE, STORIES, Stage


def ask(cell: OperatedCell, context: RequestContext, operation: str, **arguments: object) -> None:
    """Do what begin_operation does, and what follows."""
    stored = cell.operations.store(context, cell.uuid, operation, arguments)
    cell.operations.run(context, stored.leases)
    cell.settle()


def test_a_stop_that_comes_again_does_not_stop_what_was_started_since(stage: Stage) -> None:
    """Its answer was lost, and whoever asked asked again."""
    cell = stage.set(STORIES["stop"])
    context = admin_context()
    ask(cell, context, "stop")
    ask(cell, admin_context(), "start")
    with pytest.raises(exception.InstanceInvalidState, match="for it is over"):
        ask(cell, context, "stop")
    assert cell.row(cell.uuid).vm_state == "active"


def test_an_unshelve_that_comes_again_does_not_begin_for_ever(stage: Stage) -> None:
    """Nobody looks for hosts a second time, so it would wait without an end."""
    cell = stage.set(STORIES["unshelve"])
    context = admin_context()
    ask(cell, context, "unshelve", migration_uuid=MOVE)
    cell.schedule(cell.uuid, MOVE, "b")
    cell.settle()
    for again in ("shelve", "shelve_offload"):
        ask(cell, admin_context(), again)
    with pytest.raises(exception.InstanceInvalidState, match="for it is over"):
        ask(cell, context, "unshelve", migration_uuid=MOVE)
    assert cell.operation is None
