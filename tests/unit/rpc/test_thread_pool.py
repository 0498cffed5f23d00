"""Thread pool: the thread that receives a message works on it, and another one receives."""

import queue
import threading
from collections.abc import Callable
from typing import Any

import pytest

from rpc import thread_pool
from rpc.thread_pool import ThreadPool

SECONDS_MAX = 60
END = None

Work = Callable[[Any], None]


class Post:
    """What is received, and which thread received it."""

    def __init__(self) -> None:
        self.messages: queue.Queue[Any] = queue.Queue()
        self.receivers: dict[Any, int] = {}

    def receive(self) -> Any:
        message = self.messages.get(timeout=SECONDS_MAX)
        self.receivers[message] = threading.get_ident()
        return message


class Desk:
    """Work that waits until it is let go."""

    def __init__(self) -> None:
        self.begun: queue.Queue[Any] = queue.Queue()
        self.done: list[Any] = []
        self.threads: dict[Any, int] = {}
        self._go = {name: threading.Event() for name in "abcde"}

    def work(self, message: str) -> None:
        self.threads[message] = threading.get_ident()
        self.begun.put(message)
        assert self._go[message].wait(SECONDS_MAX)
        self.done.append(message)

    def let_go(self, *messages: str) -> None:
        for message in messages:
            self._go[message].set()

    def begins(self) -> str:
        begun: str = self.begun.get(timeout=SECONDS_MAX)
        return begun


@pytest.fixture
def post() -> Post:
    return Post()


@pytest.fixture
def desk() -> Desk:
    return Desk()


def started(post: Post, work: Work, workers_max: int = 4) -> ThreadPool:
    pool = ThreadPool(post.receive, work, workers_max=workers_max)
    pool.start()
    return pool


def test_who_received_a_message_works_on_it_while_others_are_received(
    post: Post, desk: Desk
) -> None:
    """No message changes threads, and none waits for another one."""
    pool = started(post, desk.work)
    post.messages.put("a")
    assert desk.begins() == "a"
    post.messages.put("b")
    assert desk.begins() == "b"
    desk.let_go("a", "b")
    post.messages.put(END)
    pool.wait()
    assert desk.threads == {name: post.receivers[name] for name in "ab"}
    assert len(set(desk.threads.values())) == 2


def test_one_message_after_another_takes_two_threads(post: Post) -> None:
    """One works and one receives: the thread that became free last is taken, none is made."""
    done: queue.Queue[Any] = queue.Queue()
    pool = started(post, done.put)
    for number in range(50):
        post.messages.put(number)
        done.get(timeout=SECONDS_MAX)
        _wait_until_a_thread_is_free(pool)
    post.messages.put(END)
    pool.wait()
    assert len(set(post.receivers.values())) == 2


def test_what_comes_when_all_work_waits_in_order(post: Post, desk: Desk) -> None:
    """No more than that work together; receiving goes on, so that the broker is answered."""
    pool = started(post, desk.work, workers_max=2)
    for message in "abcde":
        post.messages.put(message)
    assert {desk.begins(), desk.begins()} == {"a", "b"}
    post.messages.put(END)
    _wait_until(lambda: post.receivers.get(END) is not None)
    assert desk.begun.empty()
    desk.let_go("a")
    assert desk.begins() == "c"
    desk.let_go("c")
    assert desk.begins() == "d"
    desk.let_go("b", "d", "e")
    pool.wait()
    assert sorted(desk.done) == list("abcde")


@pytest.mark.parametrize("limit", ["WAITING_MAX", "WAITING_BYTES_MAX"])
def test_no_more_are_received_while_many_wait(
    limit: str, post: Post, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They stay at the broker, however fast they are sent, until a thread is free."""
    monkeypatch.setattr(thread_pool, limit, 2)
    monkeypatch.setattr(thread_pool, "FULL_SECONDS", 10.0 * SECONDS_MAX)
    pool = ThreadPool(post.receive, desk.work, workers_max=1, size_of=lambda _: 1)
    pool.start()
    for message in "abcde":
        post.messages.put(message)
    post.messages.put(END)
    assert desk.begins() == "a"
    _wait_until(lambda: "c" in post.receivers)
    assert not _comes_true(lambda: "d" in post.receivers)
    for message in "abcde":
        desk.let_go(message)
    pool.wait()
    assert desk.done == list("abcde")


def test_one_is_received_now_and_then_while_many_wait(
    post: Post, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection would be closed otherwise: reading answers the broker's heartbeats."""
    monkeypatch.setattr(thread_pool, "WAITING_MAX", 1)
    monkeypatch.setattr(thread_pool, "FULL_SECONDS", 0.01)
    pool = started(post, desk.work, workers_max=1)
    for message in "abc":
        post.messages.put(message)
    post.messages.put(END)
    _wait_until(lambda: post.receivers.get(END) is not None)
    desk.let_go("a", "b", "c")
    pool.wait()
    assert desk.done == list("abc")


def test_waiting_for_a_pool_waits_for_the_work_in_progress(post: Post, desk: Desk) -> None:
    """A service that ends finishes what it took."""
    pool = started(post, desk.work)
    post.messages.put("a")
    desk.begins()
    post.messages.put(END)
    waiter = threading.Thread(target=pool.wait)
    waiter.start()
    waiter.join(0.1)
    assert waiter.is_alive()
    desk.let_go("a")
    waiter.join(SECONDS_MAX)
    assert not waiter.is_alive()
    assert desk.done == ["a"]


def test_work_that_fails_costs_no_thread(post: Post, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, and the next message is worked on."""
    done: queue.Queue[Any] = queue.Queue()

    def work(message: str) -> None:
        done.put(message)
        raise RuntimeError(message)

    pool = started(post, work, workers_max=1)
    for message in "abc":
        post.messages.put(message)
    assert [done.get(timeout=SECONDS_MAX) for _ in range(3)] == list("abc")
    post.messages.put(END)
    pool.wait()
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == list("abc")


def _wait_until_a_thread_is_free(pool: ThreadPool) -> None:
    _wait_until(lambda: bool(pool._free))


def _comes_true(is_so: Callable[[], bool]) -> bool:
    """Return whether something comes true within a moment."""
    threading.Event().wait(0.05)
    return is_so()


def _wait_until(is_so: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(SECONDS_MAX * 1000):
        if is_so():
            return
        pause.wait(0.001)
    raise AssertionError("it did not come true")
