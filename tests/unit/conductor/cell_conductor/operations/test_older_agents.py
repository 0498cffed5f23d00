"""Agents of a release before orders: operations on them are refused, moves go elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from armillary import exception
from armillary.service_history import CURRENT_VERSION
from tests import builders
from tests.fixtures.operated_cell import OperatedCell

MOVE = builders.a_uuid()


@pytest.fixture
def cell(tmp_path: Path) -> Iterator[OperatedCell]:
    """Return a cell of hosts a, b and c with one instance on a."""
    made = OperatedCell(tmp_path)
    yield made
    made.close()


def report(cell: OperatedCell, host: str, version: int) -> None:
    cell.agents[host].version = version
    cell.agents[host].heartbeat()


def test_an_operation_is_refused_until_the_agent_is_upgraded(cell: OperatedCell) -> None:
    """By the name of its host, and nothing of it is left; afterwards it works."""
    report(cell, "a", 2)
    with pytest.raises(exception.HostTooOld, match=r"stop requires .* version 3 .* run on a;"):
        cell.operate(cell.uuid, "stop")
    assert cell.operation is None
    assert cell.get(cell.uuid).task_state is None
    report(cell, "a", CURRENT_VERSION)
    cell.operate(cell.uuid, "stop")
    cell.settle()
    assert cell.get(cell.uuid).vm_state == "stopped"


def test_a_level_below_orders_refuses_them_everywhere(cell: OperatedCell) -> None:
    """The operator said that nothing newer is to be sent."""
    cell.conf.set_override("compute", "1.0", group="upgrade_levels")
    with pytest.raises(exception.HostTooOld):
        cell.operate(cell.uuid, "stop")


def test_a_destination_that_is_too_old_is_left_for_the_next(cell: OperatedCell) -> None:
    """It is not told; the alternate takes the instance."""
    report(cell, "b", 2)
    cell.operate(cell.uuid, "migrate", migration_uuid=MOVE, migration_type="migration")
    cell.schedule(cell.uuid, MOVE, "b", "c")
    cell.settle()
    assert (cell.get(cell.uuid).host, cell.get(cell.uuid).vm_state) == ("c", "resized")
    assert "b" not in {host for _verb, host in cell.steps}


def test_an_agent_that_becomes_too_old_meanwhile_is_waited_for(cell: OperatedCell) -> None:
    """Somebody took the upgrade back: its guest is there, nothing is given up."""
    cell.operate(cell.uuid, "shelve")
    cell.settle()
    held = dict(cell.placement.held)
    report(cell, "a", 2)
    cell.operate(cell.uuid, "shelve_offload")
    for _round in range(3):
        cell.recover()
    assert cell.get(cell.uuid).vm_state == "shelved"
    assert cell.placement.held == held
    report(cell, "a", CURRENT_VERSION)
    cell.settle()
    assert cell.get(cell.uuid).vm_state == "shelved_offloaded"
