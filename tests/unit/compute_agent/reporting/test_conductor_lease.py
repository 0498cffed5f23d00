"""When an agent doubts what it was told: after silences that may have had it given up."""

from pathlib import Path

import pytest

from compute_agent.reporting.staleness_check import ConductorLease
from tests.fixtures.agent import agent_conf
from tests.fixtures.stand_ins.clock import Clock

DOWN_SECONDS = 60


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def conductor_lease(clock: Clock, tmp_path: Path) -> ConductorLease:
    """Return the lease of an agent that has been heard for long."""
    conf = agent_conf(tmp_path)
    conf.set_override("service_down_time", DOWN_SECONDS)
    made = ConductorLease(conf, clock)
    for _ in range(10):
        beat(made, clock)
    return made


def beat(conductor_lease: ConductorLease, clock: Clock, seconds: float = 10.0) -> None:
    """Be answered after so many seconds."""
    clock.now += seconds
    conductor_lease.answered(clock.now)


def test_an_agent_that_has_just_started_is_in_doubt(
    conductor_lease: ConductorLease, clock: Clock
) -> None:
    """It is unknown how long it was unreachable, also when it was answered once."""
    fresh = ConductorLease(conductor_lease._conf, clock)
    before = fresh.is_in_doubt()
    fresh.answered(clock.now)
    assert (before, fresh.is_in_doubt()) == (True, True)


def test_an_agent_that_is_heard_is_in_no_doubt(conductor_lease: ConductorLease) -> None:
    """As long as its heartbeats are answered, nothing of it is given up."""
    assert not conductor_lease.is_in_doubt()


def test_an_agent_doubts_before_it_is_given_up(
    conductor_lease: ConductorLease, clock: Clock
) -> None:
    """The conductor's clock may have begun earlier than the agent thinks."""
    clock.now += DOWN_SECONDS / 2 + 1
    assert conductor_lease.is_in_doubt()


def test_an_agent_doubts_for_a_while_after_a_silence(
    conductor_lease: ConductorLease, clock: Clock
) -> None:
    """What was sent before the silence may come only now."""
    beat(conductor_lease, clock, seconds=DOWN_SECONDS)
    soon = conductor_lease.is_in_doubt()
    for _ in range(7):
        beat(conductor_lease, clock)
    assert (soon, conductor_lease.is_in_doubt()) == (True, False)
