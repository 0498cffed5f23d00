"""Before an evacuation: the host is down for certain, and powered off where that is possible."""

import logging
import traceback
from datetime import timedelta
from pathlib import Path

import pytest

from armillary import exception
from armillary.context import admin_context
from armillary.service_history import CURRENT_VERSION
from conductor.cell_conductor.operations.fencing import Fencing
from conductor.common.cell_db import services
from conductor.common.clock import moment
from objects.hosts.agent_run import AgentRun
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
    (service,) = cell.services.list_services(admin_context())
    cell.services.update_service(admin_context(), service.uuid, ServiceChanges(forced_down=True))


def test_a_host_that_is_back_is_not_evacuated(cell: Cell, fencing: Fencing) -> None:
    """Its servers run there."""
    assert "is back" in str(fencing.fence("a", "a"))
    silence(cell)
    assert fencing.fence("a", "a") is None


def test_a_host_whose_agent_is_back_but_has_not_settled_it_is_not_evacuated(
    cell: Cell, fencing: Fencing
) -> None:
    """It was told that its guests are its own."""
    silence(cell)
    run = AgentRun("run-1", is_settled=False)
    cell.services.report("a", ["a"], {}, version=CURRENT_VERSION, run=run)
    assert not cell.services.list_services(admin_context())[0].up
    assert "is back" in str(fencing.fence("a", "a"))


def test_the_command_is_called_once_for_each_time_that_a_host_is_down(
    cell: Cell, fencing: Fencing, tmp_path: Path
) -> None:
    """However many of its servers are evacuated; the host and the node are in its arguments."""
    script = tmp_path / "fence"
    script.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n')
    script.chmod(0o700)
    set_command(cell, f"{script} --off '{{host}} of {{node}}'")
    silence(cell)
    for _ in range(3):  # by several conductors of the cell
        assert Fencing(cell.conf, cell.database, cell.clock).fence("a", "node-a") is None
    assert (tmp_path / "calls").read_text() == "--off a of node-a\n"
    cell.add_agent("a")
    silence(cell)
    assert fencing.fence("a", "node-a") is None
    assert len((tmp_path / "calls").read_text().splitlines()) == 2
    events = cell.services.list_host_events(admin_context(), "a", limit=100, marker=None)
    assert [one.event for one in events].count("fenced") == 2


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
    events = cell.services.list_host_events(admin_context(), "a", limit=100, marker=None)
    assert "fenced" not in [one.event for one in events]


@pytest.mark.parametrize(
    "command",
    ["sh -c 'exit 3' x", "/nowhere/fence", "sh -c 'exec sleep 300' x"],
    ids=["fails", "missing", "hangs"],
)
def test_passwords_in_the_command_are_in_no_log_and_no_fault(
    cell: Cell, fencing: Fencing, command: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Such as that of a power controller: users are shown why a move of theirs failed."""
    set_command(cell, f"{command} -p hunter2")
    cell.conf.set_override("fencing_timeout_seconds", 1.0, group="cell")
    silence(cell)
    with caplog.at_level(logging.DEBUG), pytest.raises(exception.Unavailable) as failed:
        fencing.fence("a", "a")
    told = "".join(traceback.format_exception(failed.value))
    assert "hunter2" not in caplog.text + told


def test_one_conductor_at_a_time_calls_the_command(
    cell: Cell, fencing: Fencing, tmp_path: Path
) -> None:
    """Another one waits for its outcome, until its time is over."""
    marker = tmp_path / "called"
    set_command(cell, f"touch {marker}")
    silence(cell)
    now = moment(cell.clock())
    with cell.database.writer() as session:
        assert services.begin_fencing(session, "a", now=now, until=now + timedelta(seconds=70))
    with pytest.raises(exception.HostNotFencedYet, match="another conductor is fencing it"):
        fencing.fence("a", "a")
    assert not marker.exists()
    cell.clock.advance(71)
    assert fencing.fence("a", "a") is None
    assert marker.exists()


def test_braces_that_are_not_placeholders_stay(
    cell: Cell, fencing: Fencing, tmp_path: Path
) -> None:
    """Redfish is asked in JSON."""
    script = tmp_path / "fence"
    script.write_text(f'#!/bin/sh\nprintf %s "$*" > {tmp_path}/call\n')
    script.chmod(0o700)
    set_command(cell, f'{script} -d \'{{"ResetType":"ForceOff"}}\' https://{{host}}-bmc/%{{code}}')
    silence(cell)
    assert fencing.fence("a", "a") is None
    expected = '-d {"ResetType":"ForceOff"} https://a-bmc/%{code}'
    assert (tmp_path / "call").read_text() == expected


@pytest.mark.parametrize("command", ["fence 'a", " "])
def test_what_is_not_a_command_is_refused_where_it_is_read(cell: Cell, command: str) -> None:
    """Not when the first host is down."""
    with pytest.raises(ValueError, match="command"):
        set_command(cell, command)


@pytest.mark.parametrize("command", [None, "false"], ids=["no-command", "fails"])
def test_a_host_that_is_forced_down_is_waited_for_until_it_holds_its_guests(
    cell: Cell, fencing: Fencing, command: str | None
) -> None:
    """Its agent may only be stalled; then an operator's word counts, though the command fails."""
    if command:
        set_command(cell, command)
    cell.clock.advance(20)
    force_down(cell)
    with pytest.raises(exception.HostNotFencedYet) as raised:
        fencing.fence("a", "a")
    assert raised.value.kwargs["seconds"] == cell.conf.service_down_time - 20
    cell.add_agent("a")  # it is alive; the operator was told
    cell.clock.advance(cell.conf.service_down_time)
    cell.add_agent("a")
    assert fencing.fence("a", "a") is None


def test_a_host_that_is_forced_down_and_fenced_is_not_waited_for(
    cell: Cell, fencing: Fencing
) -> None:
    """Its power is off."""
    set_command(cell, "true")
    force_down(cell)
    assert fencing.fence("a", "a") is None
