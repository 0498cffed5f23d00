"""The order of work: one thing at a time for an instance, a bound for each host."""

import logging
import threading
from collections.abc import Callable, Iterator

import pytest

from armillary import exception
from compute_agent.work.work_queue import Key, WorkQueue

SECONDS_MAX = 60.0


class Gate:
    """Work that says that it began, and ends when the test lets it."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.begun: list[str] = []
        self.ended: list[str] = []
        self._open: set[str] = set()

    def work(self, name: str) -> Callable[[], None]:
        def run() -> None:
            with self.changed:
                self.begun.append(name)
                self.changed.notify_all()
                self.changed.wait_for(lambda: name in self._open, SECONDS_MAX)
                self.ended.append(name)
                self.changed.notify_all()

        return run

    def open(self, *names: str) -> None:
        with self.changed:
            self._open.update(names)
            self.changed.notify_all()

    def wait_begun(self, *names: str) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: set(names) <= set(self.begun), SECONDS_MAX)

    def wait_ended(self, *names: str) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: set(names) <= set(self.ended), SECONDS_MAX)


def key(name: str, host: str = "host1") -> Key:
    return host, name


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Return the work's gate; all of it is let go in the end."""
    gate = Gate()
    yield gate
    gate.open(*gate.begun)


@pytest.fixture
def make_queue() -> Iterator[Callable[..., WorkQueue]]:
    """Return a function that makes a queue of some size and limit for each host."""
    made: list[WorkQueue] = []

    def make(size: int = 10, limit: int = 2, copies: int = 1) -> WorkQueue:
        made.append(
            WorkQueue(
                size=size, name="test",
                builds_per_host_max=lambda: limit, copies_per_host_max=lambda: copies,
            )
        )  # fmt: skip
        return made[-1]

    yield make
    for queue in made:
        queue.shutdown(0.0)


def test_a_host_builds_so_many_at_a_time(make_queue: Callable[..., WorkQueue], gate: Gate) -> None:
    """The third build waits for one of the first two; another host does not."""
    queue = make_queue(limit=2)
    for name in ("a", "b", "c"):
        queue.build(key(name), gate.work(name))
    queue.build(key("d", "host2"), gate.work("d"))
    gate.wait_begun("a", "b", "d")
    assert "c" not in gate.begun
    gate.open("a")
    gate.wait_begun("c")


def test_no_limit_is_that_of_the_agent(make_queue: Callable[..., WorkQueue], gate: Gate) -> None:
    """With 0 for each host all threads of the agent may build on one."""
    queue = make_queue(size=3, limit=0)
    for name in ("a", "b", "c", "d"):
        queue.build(key(name), gate.work(name))
    gate.wait_begun("a", "b", "c")
    assert "d" not in gate.begun


def test_hosts_take_turns(make_queue: Callable[..., WorkQueue], gate: Gate) -> None:
    """A host with many builds does not keep the others waiting."""
    queue = make_queue(size=1, limit=5)
    for name in ("a", "b", "c"):
        queue.build(key(name), gate.work(name))
    queue.build(key("d", "host2"), gate.work("d"))
    gate.open("a", "b", "c", "d")
    gate.wait_ended("a", "b", "c", "d")
    assert gate.begun.index("d") < gate.begun.index("c")


def test_one_thing_at_a_time_for_an_instance(
    make_queue: Callable[..., WorkQueue], gate: Gate
) -> None:
    """The delete waits for the build that it overtakes."""
    queue = make_queue()
    queue.build(key("a"), gate.work("build"))
    queue.operation(key("a"), gate.work("delete"))
    gate.wait_begun("build")
    assert gate.begun == ["build"]
    gate.open("build", "delete")
    gate.wait_ended("delete")
    assert gate.ended == ["build", "delete"]


def test_deletes_do_not_wait_for_other_instances_builds(
    make_queue: Callable[..., WorkQueue], gate: Gate
) -> None:
    """All threads are building."""
    queue = make_queue(size=1, limit=1)
    queue.build(key("a"), gate.work("a"))
    gate.wait_begun("a")
    queue.operation(key("b"), gate.work("b"))
    gate.wait_begun("b")


def test_a_host_copies_so_many_at_a_time(make_queue: Callable[..., WorkQueue], gate: Gate) -> None:
    """The second copy waits for the first; another host does not."""
    queue = make_queue(copies=1)
    for name, host in (("a", "host1"), ("b", "host1"), ("c", "host2")):
        queue.copy(key(name, host), gate.work(name))
    gate.wait_begun("a", "c")
    assert "b" not in gate.begun
    gate.open("a")
    gate.wait_begun("b")


def test_copies_keep_nothing_else_from_its_turn(
    make_queue: Callable[..., WorkQueue], gate: Gate
) -> None:
    """They take all threads that there are for them, and only those."""
    queue = make_queue(size=1, copies=0)
    for name in ("a", "b"):
        queue.copy(key(name), gate.work(name))
    queue.build(key("c"), gate.work("c"))
    queue.operation(key("d"), gate.work("d"))
    gate.wait_begun("a", "c", "d")
    assert "b" not in gate.begun


def test_a_copy_that_is_let_through_waits_no_longer(
    make_queue: Callable[..., WorkQueue], gate: Gate
) -> None:
    """Its room is not taken: the one behind it still waits; one that runs is left alone."""
    queue = make_queue(copies=1)
    for name in ("a", "b", "c"):
        queue.copy(key(name), gate.work(name))
    gate.wait_begun("a")
    queue.lift_limit(key("a"))
    queue.lift_limit(key("b"))
    queue.lift_limit(key("unknown"))
    gate.wait_begun("b")
    assert "c" not in gate.begun
    gate.open("a")
    gate.wait_begun("c")


def test_a_copy_that_has_to_wait_for_its_instance_can_be_let_through_before(
    make_queue: Callable[..., WorkQueue], gate: Gate
) -> None:
    """When its turn comes it waits for no room."""
    queue = make_queue(copies=1)
    queue.copy(key("a"), gate.work("a"))
    queue.operation(key("b"), gate.work("before"))
    queue.copy(key("b"), gate.work("b"))
    queue.lift_limit(key("b"))
    gate.wait_begun("a", "before")
    gate.open("before")
    gate.wait_begun("b")


def test_what_comes_later_does_not_wait_for_room_for_a_copy(
    make_queue: Callable[..., WorkQueue], gate: Gate
) -> None:
    """A delete overtakes it: the copy finds nothing to do, and the delete follows."""
    queue = make_queue(copies=1)
    for name in ("a", "b"):
        queue.copy(key(name), gate.work(name))
    gate.wait_begun("a")
    queue.operation(key("b"), gate.work("delete"))
    gate.open("b", "delete")
    gate.wait_ended("b", "delete")
    assert "a" not in gate.ended


def test_work_that_breaks_gives_its_place_free(
    make_queue: Callable[..., WorkQueue], gate: Gate
) -> None:
    """The next one runs; the instance is free again."""
    queue = make_queue(size=1, limit=1)

    def broken() -> None:
        raise RuntimeError("broken")

    queue.build(key("a"), broken)
    queue.build(key("b"), gate.work("b"))
    gate.wait_begun("b")
    assert (queue.has_task(key("a")), queue.has_task(key("b"))) == (False, True)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        pytest.param(exception.JournalUnwritable(path="j", reason="full"), [], id="journal"),
        pytest.param(
            exception.OperationFailed(
                operation="Deletion", instance_uuid="1", host="h", reason="no daemon"
            ),
            [("WARNING", False)],
            id="driver",
        ),
        pytest.param(ValueError("a bug"), [("ERROR", True)], id="unexpected"),
    ],
)
def test_work_that_fails_is_said_with_a_traceback_only_if_it_is_unexpected(
    make_queue: Callable[..., WorkQueue],
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    said: list[tuple[str, bool]],
) -> None:
    """What is repeated while the disk is full says nothing: the journal has said it once."""
    caplog.set_level(logging.INFO, "compute_agent")
    queue = make_queue()
    was_run = threading.Event()

    def fail() -> None:
        raise error

    queue.operation(key("a"), fail)
    queue.operation(key("a"), was_run.set)  # begins when the former has ended
    assert was_run.wait(SECONDS_MAX)
    assert [(each.levelname, each.exc_info is not None) for each in caplog.records] == said


def test_what_has_not_begun_does_not_begin_after_the_shutdown(
    make_queue: Callable[..., WorkQueue], gate: Gate
) -> None:
    """It is in the journal; what runs is waited for."""
    queue = make_queue(limit=1)
    queue.build(key("a"), gate.work("a"))
    queue.build(key("b"), gate.work("b"))
    gate.wait_begun("a")
    assert not queue.shutdown(0.01)
    gate.open("a")
    gate.wait_ended("a")
    assert queue.shutdown(SECONDS_MAX)
    queue.build(key("c"), gate.work("c"))
    assert gate.begun == ["a"]


def test_thousands_come_through(make_queue: Callable[..., WorkQueue]) -> None:
    """A burst is worked off, however small the pools are."""
    queue = make_queue(size=4, limit=2)
    left = threading.Semaphore(0)
    for number in range(2000):
        start = queue.build if number % 2 else queue.operation
        start(key(f"i-{number}", f"host-{number % 7}"), left.release)
    for _ in range(2000):
        assert left.acquire(timeout=SECONDS_MAX)
