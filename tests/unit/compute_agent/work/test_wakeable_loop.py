"""A loop that is woken, waits for its time, and survives its failures."""

import queue
import threading
from collections.abc import Iterator

import pytest

from compute_agent.work import wakeable_loop
from compute_agent.work.wakeable_loop import WakeableLoop

SECONDS_MAX = 60.0


class Step:
    """A step whose results a test gives, and whose calls it sees."""

    def __init__(self) -> None:
        self.calls: queue.Queue[int] = queue.Queue()
        self.results: queue.Queue[float | Exception | None] = queue.Queue()
        self.count = 0

    def __call__(self) -> float | None:
        self.count += 1
        self.calls.put(self.count)
        result = self.results.get(timeout=SECONDS_MAX)
        if isinstance(result, Exception):
            raise result
        return result

    def called(self) -> int:
        return self.calls.get(timeout=SECONDS_MAX)


@pytest.fixture
def step() -> Step:
    """Return the step of the loop."""
    return Step()


@pytest.fixture
def loop(step: Step) -> Iterator[WakeableLoop]:
    """Return a loop that was started."""
    loop = WakeableLoop("a-loop", step)
    loop.start()
    yield loop
    step.results.put(None)
    assert loop.stop(SECONDS_MAX)


def test_it_begins_immediately_and_then_waits_to_be_woken(loop: WakeableLoop, step: Step) -> None:
    """A step that wants no time is called when it is woken."""
    assert step.called() == 1
    step.results.put(None)
    loop.wake()
    assert step.called() == 2


def test_it_comes_back_when_the_step_wanted_it(loop: WakeableLoop, step: Step) -> None:
    """Without being woken."""
    step.called()
    step.results.put(0.001)
    assert step.called() == 2


def test_what_wakes_it_during_a_step_calls_for_another(loop: WakeableLoop, step: Step) -> None:
    """Nothing that came in meanwhile is overlooked."""
    step.called()
    loop.wake()
    step.results.put(None)
    assert step.called() == 2


def test_a_failure_is_not_its_end(
    loop: WakeableLoop, step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is called again after a pause."""
    monkeypatch.setattr(wakeable_loop, "FAILURE_PAUSE_SECONDS", 0.001)
    step.called()
    step.results.put(RuntimeError("broken"))
    assert step.called() == 2


def test_stopping_does_not_wait_longer_than_allowed(step: Step) -> None:
    """A step that hangs is left to end with the process."""
    loop = WakeableLoop("a-loop", step)
    loop.start()
    step.called()
    assert not loop.stop(0.01)
    step.results.put(None)
    assert loop.stop(SECONDS_MAX)


def test_stopping_what_never_began_is_fine() -> None:
    """A service may be stopped at any time."""
    assert WakeableLoop("a-loop", lambda: None).stop(SECONDS_MAX)
    assert "a-loop" not in {thread.name for thread in threading.enumerate()}
