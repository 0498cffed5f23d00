"""Runs of agents: of all processes with one name, one at a time is admitted."""

import dataclasses

import pytest

from armillary import exception
from armillary.context import Signer, admin_context
from armillary.service_history import CURRENT_VERSION
from objects.hosts.agent_run import AgentRun
from tests.fixtures.cell import Cell, a_node, node_uuid

FIRST, SECOND = AgentRun("run-1"), AgentRun("run-2")
SIGNER = Signer("agent", "agent", "agent")
SIGNED = pytest.mark.parametrize("signer", [None, SIGNER], ids=["unsigned", "signed"])


def report(cell: Cell, run: AgentRun | None, signer: Signer | None = None) -> None:
    cell.services.report("agent", ["agent"], {}, version=CURRENT_VERSION, run=run, signer=signer)


def answered_before(seconds: float) -> AgentRun:
    """Return what the first run says in a heartbeat so long after its last answered one."""
    return dataclasses.replace(FIRST, answered_seconds_ago=seconds)


def is_up(cell: Cell) -> bool:
    (service,) = cell.services.list_services(admin_context())
    return bool(service.up)


@SIGNED
def test_a_second_agent_of_a_name_is_refused_while_the_first_one_lives(
    cell: Cell, signer: Signer | None
) -> None:
    """Immediately, and as often as it asks; the first one goes on."""
    report(cell, FIRST, signer)
    for _ in range(2):
        with pytest.raises(exception.AgentNotAdmitted, match="another agent of this name is alive"):
            report(cell, SECOND, signer)
        cell.clock.advance(cell.conf.service_down_time - 1)
        report(cell, FIRST, signer)


@SIGNED
def test_it_is_admitted_when_the_first_one_is_dead_and_then_the_first_is_refused(
    cell: Cell, signer: Signer | None
) -> None:
    """No operator is needed, and the way back is the same."""
    report(cell, FIRST, signer)
    for dead, living in ((FIRST, SECOND), (SECOND, FIRST)):
        cell.clock.advance(cell.conf.service_down_time + 1)
        report(cell, living, signer)
        with pytest.raises(exception.AgentNotAdmitted):
            report(cell, dead, signer)


@SIGNED
def test_of_two_that_begin_while_their_host_is_down_one_is_admitted(
    cell: Cell, signer: Signer | None
) -> None:
    """Though the host stays down until the first one has settled it."""
    report(cell, FIRST, signer)
    cell.clock.advance(cell.conf.service_down_time + 1)
    begun = AgentRun("run-2", is_settled=False)
    for _ in range(3):
        report(cell, begun, signer)
        with pytest.raises(exception.AgentNotAdmitted, match="another agent of this name is alive"):
            report(cell, AgentRun("run-3", is_settled=False), signer)
        assert not is_up(cell)
        cell.clock.advance(cell.conf.service_down_time - 1)
    report(cell, SECOND, signer)
    assert is_up(cell)


def test_an_agent_of_another_name_waits_while_one_settles_its_host(cell: Cell) -> None:
    """It is alive, though the host is not up."""
    report(cell, FIRST)
    cell.clock.advance(cell.conf.service_down_time + 1)
    report(cell, AgentRun("run-2", is_settled=False))
    with pytest.raises(exception.Conflict, match="managed by agent agent, which is alive"):
        cell.services.report("other", ["agent"], {}, version=CURRENT_VERSION)


@SIGNED
def test_the_next_run_of_the_same_agent_is_admitted_immediately(
    cell: Cell, signer: Signer | None
) -> None:
    """After a kill it names the run that it follows."""
    report(cell, FIRST, signer)
    report(cell, AgentRun("run-2", ["run-0", "run-1"]), signer)
    with pytest.raises(exception.AgentNotAdmitted):  # which is over, whatever it thinks
        report(cell, FIRST, signer)


def test_after_a_good_bye_any_run_may_begin(cell: Cell) -> None:
    """Only the run at work can say it."""
    report(cell, FIRST)
    report(cell, AgentRun("run-2", is_over=True))
    with pytest.raises(exception.AgentNotAdmitted):
        report(cell, SECOND)
    report(cell, AgentRun("run-1", is_over=True))
    report(cell, SECOND)


def test_an_agent_of_an_older_release_names_no_run(cell: Cell) -> None:
    """It is treated as before, and does not hide that a run is at work."""
    report(cell, None)
    report(cell, FIRST)
    report(cell, None)
    with pytest.raises(exception.AgentNotAdmitted):
        report(cell, SECOND)


def test_a_run_with_another_identity_never_gets_the_host(cell: Cell) -> None:
    """Else the host would be locked for its own agent, whose node its record names."""
    own = AgentRun("run-1", nodes={"agent": node_uuid("agent")})
    report(cell, own)
    cell.nodes.report_compute_nodes(admin_context(), "agent", [a_node("agent")])
    cell.clock.advance(cell.conf.service_down_time + 1)
    other = AgentRun("run-2", nodes={"agent": node_uuid("another")})
    with pytest.raises(exception.AgentNotAdmitted, match=f"known as {node_uuid('agent')}, not"):
        report(cell, other)
    report(cell, own)


@SIGNED
def test_a_late_heartbeat_of_a_dead_agent_does_not_bring_its_host_back(
    cell: Cell, signer: Signer | None
) -> None:
    """It waited for a conductor that was paused; the host stays down, as long as it is silent."""
    report(cell, FIRST, signer)
    cell.clock.advance(10)
    report(cell, answered_before(10), signer)
    cell.clock.advance(cell.conf.service_down_time + 1)
    with pytest.raises(exception.HeartbeatTooLate):
        report(cell, answered_before(10), signer)
    assert not is_up(cell)


@pytest.mark.parametrize("seconds", [10, 300], ids=["in time", "after an outage of conductors"])
def test_a_heartbeat_that_was_just_sent_counts(cell: Cell, seconds: int) -> None:
    """However long ago the last one was answered: its agent says so, too."""
    report(cell, FIRST)
    cell.clock.advance(seconds)
    report(cell, answered_before(seconds))
    assert is_up(cell)


def test_an_agent_that_lives_is_heard_when_the_cell_s_records_are_older(cell: Cell) -> None:
    """Such as after a restore from a backup: it asks again without saying when it was answered."""
    report(cell, FIRST)
    cell.clock.advance(3600)
    with pytest.raises(exception.HeartbeatTooLate):
        report(cell, answered_before(10))
    report(cell, FIRST)
    assert is_up(cell)
