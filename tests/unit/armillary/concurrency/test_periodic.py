"""Periodic tasks come when they should, one at a time, whatever happens in them."""

import logging
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from armillary import exception
from armillary.concurrency.periodic import PeriodicRunner, PeriodicTask

WAIT_SECONDS_MAX = 60


class FakeClock:
    """Time that passes only by waiting for it; notes the waits, and stops at the last."""

    def __init__(self, waits: int) -> None:
        self.now = 0.0
        self.waits: list[float] = []
        self._left = waits
        self.done = threading.Event()

    def monotonic(self) -> float:
        return self.now

    def wait(self, event: threading.Event, timeout_seconds: float) -> bool:
        if event.is_set() or self._left == 0:
            self.done.set()
            return True
        self._left -= 1
        self.waits.append(timeout_seconds)
        self.now += timeout_seconds
        return False


def run(task: PeriodicTask, clock: FakeClock, rng: random.Random | None = None) -> None:
    runner = PeriodicRunner([task], clock=clock, rng=rng)
    runner.start()
    assert clock.done.wait(WAIT_SECONDS_MAX)
    assert runner.stop(WAIT_SECONDS_MAX)


def task(fn: Callable[[], object], **facts: Any) -> PeriodicTask:
    return PeriodicTask("test", facts.pop("interval_seconds", 10.0), fn, **facts)


def test_the_first_call_comes_after_an_interval() -> None:
    """Then one an interval."""
    calls: list[float] = []
    clock = FakeClock(3)
    run(task(lambda: calls.append(clock.now)), clock)
    assert calls == [10, 20, 30]


def test_the_first_call_may_come_immediately() -> None:
    """An initial delay of zero is kept."""
    clock = FakeClock(2)
    run(task(int, initial_delay_seconds=0), clock)
    assert clock.waits == [0, 10]


def test_the_first_call_is_spread_by_the_jitter() -> None:
    """Only the first: the rest keeps its distance."""
    rng = random.Random(1)
    expected = random.Random(1).uniform(0, 5)
    clock = FakeClock(2)
    run(task(int, initial_delay_seconds=1, jitter_seconds=5), clock, rng)
    assert clock.waits == [1 + expected, 10]


def test_the_interval_counts_from_start_to_start() -> None:
    """A call of 4 s is followed by the next 6 s later."""
    clock = FakeClock(2)

    def work() -> None:
        clock.now += 4

    run(task(work), clock)
    assert clock.waits == [10, 6]


def test_missed_calls_are_not_made_up_for() -> None:
    """After a call of 35 s there is one call immediately, then the usual distance."""
    clock = FakeClock(3)
    durations = iter([35, 0, 0])

    def work() -> None:
        clock.now += next(durations)

    run(task(work), clock)
    assert clock.waits == [10, 0, 10]


def test_an_error_is_logged_once_a_minute_and_the_task_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It fails every ten seconds, and names each attempt."""
    calls: list[None] = []

    def fail() -> None:
        calls.append(None)
        raise ZeroDivisionError(f"attempt {len(calls)}")

    run(task(fail), FakeClock(13))
    assert len(calls) == 13
    assert [record.exc_info is not None for record in caplog.records] == [True] * 3
    assert {record.levelno for record in caplog.records} == {logging.ERROR}


def test_another_error_is_logged_immediately(caplog: pytest.LogCaptureFixture) -> None:
    """It is news, also while the former one is repeated."""
    errors = iter([ValueError("a"), ValueError("a"), ValueError("b"), ValueError("b")])
    run(task(lambda: _raise(next(errors))), FakeClock(4))
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["a", "b"]


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        (exception.DatabaseUnavailable(name="api", reason="refused"), 0),
        (exception.RpcUnavailable(method="m", topic="t", reason="away"), 1),
    ],
    ids=["a database logs its outage itself", "another service"],
)
def test_what_is_away_is_not_a_traceback(
    caplog: pytest.LogCaptureFixture, error: Exception, lines: int
) -> None:
    """A service that is unreachable is not a fault of the task."""
    caplog.set_level(logging.INFO)
    run(task(lambda: _raise(error)), FakeClock(3))
    assert [record.exc_info for record in caplog.records] == [None] * lines


def _raise(error: Exception) -> None:
    raise error


@pytest.mark.parametrize("interval_seconds", [-1.0, 0.0])
def test_a_task_without_interval_is_off(interval_seconds: float) -> None:
    """Operators turn a task off with a negative number."""
    runner = PeriodicRunner([task(int, interval_seconds=interval_seconds)])
    runner.start()
    assert not [thread for thread in threading.enumerate() if thread.name == "periodic-test"]


def test_a_slow_task_does_not_hold_up_another() -> None:
    """Each has a thread of its own."""
    other_ran = threading.Event()
    slow = task(lambda: other_ran.wait(WAIT_SECONDS_MAX), interval_seconds=0.01)
    runner = PeriodicRunner([slow, task(other_ran.set, interval_seconds=0.02)])
    runner.start()
    assert other_ran.wait(WAIT_SECONDS_MAX)
    assert runner.stop(WAIT_SECONDS_MAX)


def test_stop_tells_when_a_call_is_still_under_way() -> None:
    """It waits no longer than it was told."""
    started, go_on = threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        go_on.wait(WAIT_SECONDS_MAX)

    runner = PeriodicRunner([task(work, initial_delay_seconds=0)])
    runner.start()
    assert started.wait(WAIT_SECONDS_MAX)
    assert not runner.stop(0.01)
    go_on.set()
    assert runner.stop(WAIT_SECONDS_MAX)


def test_a_call_that_may_be_broken_off_is_not_waited_for() -> None:
    """Nothing is half-done when the process ends in the middle of it."""
    started = threading.Event()
    end = threading.Event()

    def call() -> None:
        started.set()
        end.wait(WAIT_SECONDS_MAX)

    sign = PeriodicTask("sign", 10.0, call, initial_delay_seconds=0.0, is_waited_for=False)
    runner = PeriodicRunner([sign])
    runner.start()
    assert started.wait(WAIT_SECONDS_MAX)
    assert runner.stop()
    end.set()
