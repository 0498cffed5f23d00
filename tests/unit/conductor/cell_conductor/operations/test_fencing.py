"""Before an evacuation: the host is down for certain, and powered off where that is possible."""

from __future__ import annotations

from pathlib import Path

import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.cell_conductor.operations.fencing import Fencing
from objects.hosts.host_answers import ServiceChanges
from tests.fixtures.cell import Cell


@pytest.fixture
def fencing(cell: Cell) -> Fencing:
    """Return the fencing of a cell with host a."""
    cell.add_agent("a")
    return Fencing(cell.conf, cell.database, cell.clock)


def set_command(cell: Cell, command: str) -> None:
    cell.conf.set_override("fencing_command", command, group="cell")


def silence(cell: Cell) -> None:
    cell.clock.advance(cell.conf.service_down_time + 1)


def force_down(cell: Cell) -> None:
    (service,) = cell.services.list_all()
    cell.services.update(admin_context(), service.uuid, ServiceChanges(forced_down=True))


def test_a_host_that_is_back_is_not_evacuated(cell: Cell, fencing: Fencing) -> None:
    """Its servers run there."""
    assert "is back" in str(fencing.fence("a", "a"))
    silence(cell)
    assert fencing.fence("a", "a") is None


def test_the_command_is_called_once_for_each_time_that_a_host_is_down(
    cell: Cell, fencing: Fencing, tmp_path: Path
) -> None:
    """However many of its servers are evacuated; the host and the node are in its arguments."""
    script = tmp_path / "fence"
    script.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n')
    script.chmod(0o700)
    set_command(cell, f"{script} --off '{{host}} of {{node}}'")
    silence(cell)
    for _ in range(3):
        assert fencing.fence("a", "node-a") is None
    assert (tmp_path / "calls").read_text() == "--off a of node-a\n"
    cell.add_agent("a")
    silence(cell)
    assert fencing.fence("a", "node-a") is None
    assert len((tmp_path / "calls").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("command", "seconds", "said"),
    [
        ("sh -c 'echo no power >&2; exit 3'", 60.0, "ended with 3: no power"),
        ("/nowhere/fence", 60.0, "No such file"),
        ("sleep 300", 1.0, "timed out"),
    ],
    ids=["fails", "missing", "hangs"],
)
def test_a_host_that_cannot_be_fenced_is_tried_again(
    cell: Cell, fencing: Fencing, command: str, seconds: float, said: str
) -> None:
    """The reason has what the command said."""
    set_command(cell, command)
    cell.conf.set_override("fencing_timeout_seconds", seconds, group="cell")
    silence(cell)
    with pytest.raises(exception.Unavailable, match=said):
        fencing.fence("a", "a")


def test_an_operator_s_word_counts(cell: Cell, fencing: Fencing) -> None:
    """A host that was forced down may be evacuated although the command fails."""
    set_command(cell, "false")
    force_down(cell)
    assert fencing.fence("a", "a") is None
