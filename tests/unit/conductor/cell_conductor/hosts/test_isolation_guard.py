"""A conductor that hears nothing must not take others for dead."""

import pytest

from armillary import exception
from conductor.cell_conductor.hosts.isolation_guard import IsolationGuard

DOWN_TIME = 60.0


class Ear:
    """An isolation guard on a clock and a broker of the test's own."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.is_cut_off = False
        self.guard = IsolationGuard(
            self._call, down_time_seconds=DOWN_TIME, monotonic=lambda: self.time
        )

    def _call(self, timeout_seconds: float) -> None:
        if self.is_cut_off:
            self.time += timeout_seconds
            raise exception.RpcTimeout(method="ping", topic="t", timeout_seconds=timeout_seconds)

    def listen_for(self, seconds: float) -> None:
        """Listen as often as one should."""
        end = self.time + seconds
        while self.time < end:
            self.guard.listen()
            self.time += self.guard.interval_seconds


@pytest.fixture
def ear() -> Ear:
    return Ear()


def test_no_host_is_marked_down_before_all_had_the_time_to_report(ear: Ear) -> None:
    assert not ear.guard.may_mark_down()
    ear.listen_for(DOWN_TIME - 10)
    assert not ear.guard.may_mark_down()
    ear.listen_for(DOWN_TIME)
    assert ear.guard.may_mark_down()


def test_no_host_is_marked_down_while_the_broker_is_away(ear: Ear) -> None:
    ear.listen_for(2 * DOWN_TIME)
    ear.is_cut_off = True
    ear.guard.listen()
    assert not ear.guard.may_mark_down()
    ear.listen_for(10 * DOWN_TIME)
    assert not ear.guard.may_mark_down()


def test_after_an_outage_all_get_the_time_to_speak_again(ear: Ear) -> None:
    ear.listen_for(2 * DOWN_TIME)
    ear.is_cut_off = True
    ear.guard.listen()
    ear.is_cut_off = False
    ear.listen_for(DOWN_TIME - 10)
    assert not ear.guard.may_mark_down()
    ear.listen_for(DOWN_TIME)
    assert ear.guard.may_mark_down()


def test_a_conductor_that_stood_still_was_deaf(ear: Ear) -> None:
    """As one whose machine was suspended: the hosts may have spoken meanwhile."""
    ear.listen_for(2 * DOWN_TIME)
    ear.time += DOWN_TIME
    assert not ear.guard.may_mark_down()
    ear.guard.listen()
    assert not ear.guard.may_mark_down()


@pytest.mark.parametrize("down_time", [6.0, 60.0, 3600.0])
def test_it_listens_several_times_in_the_down_time(down_time: float) -> None:
    guard = IsolationGuard(lambda _: None, down_time_seconds=down_time, monotonic=lambda: 0.0)
    assert guard.interval_seconds <= down_time / 6
