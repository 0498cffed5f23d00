"""A plugin that does not come back costs its own request, not the scheduler."""

import contextlib
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from armillary.context import admin_context
from scheduler.plugins import plugin_calls
from scheduler.plugins.plugin_timeouts import PluginTimedOut, PluginTimeouts
from tests.fixtures.asking import wait_for
from tests.fleets import scheduling_conf

SECONDS_MAX = 60


class SleepyFilter:
    """Answers when it is woken."""

    def __init__(self) -> None:
        self.wakes = threading.Event()
        self.is_asked = threading.Event()

    def decide(self) -> str:
        return plugin_calls.ask(self, self._wait)

    def _wait(self) -> str:
        self.is_asked.set()
        assert self.wakes.wait(SECONDS_MAX)
        return "late"


@pytest.fixture
def watch() -> Iterator[PluginTimeouts]:
    watch = PluginTimeouts(scheduling_conf(scheduler__plugin_timeout_seconds=0.1))
    yield watch
    watch.stop()


def test_a_decision_is_what_it_is_without_a_watch(watch: PluginTimeouts) -> None:
    """Its answer, or its error, also one that looks like a timeout."""
    assert watch.run(admin_context(), lambda: 1) == 1

    def fail() -> None:
        raise TimeoutError("of its own")

    with pytest.raises(TimeoutError, match="of its own"):
        watch.run(admin_context(), fail)


def test_while_a_plugin_is_stuck_everything_is_refused_immediately(
    watch: PluginTimeouts, caplog: pytest.LogCaptureFixture
) -> None:
    """With its name; where it is, is logged once; and when it answers, all is well again."""
    sleepy = SleepyFilter()
    with (
        caplog.at_level(logging.ERROR),
        pytest.raises(PluginTimedOut, match="SleepyFilter is stuck"),
    ):
        watch.run(admin_context(), sleepy.decide)
    begun: list[int] = []
    for _ in range(200):  # more than there are threads
        with pytest.raises(PluginTimedOut, match=r"SleepyFilter.*has not returned for \d+ s"):
            watch.run(admin_context(), lambda: begun.append(1))
    assert begun == []
    (record,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert "in _wait" in record.getMessage()
    sleepy.wakes.set()
    assert _first_answer(watch) == "well"


def _first_answer(watch: PluginTimeouts) -> str:
    def answer() -> str | None:
        with contextlib.suppress(PluginTimedOut):
            return watch.run(admin_context(), lambda: "well")
        return None

    answered: str = wait_for(answer, "plugins are called again", SECONDS_MAX, 0.01)
    return answered


def test_those_that_wait_behind_it_are_given_up_too(watch: PluginTimeouts) -> None:
    """No call waits for ever for a lock that the stuck one holds."""
    sleepy, lock = SleepyFilter(), threading.Lock()

    def locked() -> str:
        with lock:
            return sleepy.decide()

    def run() -> str:
        try:
            return watch.run(admin_context(), locked)
        except PluginTimedOut:
            return "refused"

    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(run) for _ in range(3)]
        assert [each.result(SECONDS_MAX) for each in waiting] == ["refused"] * 3
    sleepy.wakes.set()
