"""Unsigned parts of a message: where its answer goes, and how it is wrapped."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from oslo_messaging import MessageUndeliverable

from rpc import incoming
from rpc.incoming import IncomingMessage, QueueRefused
from tests.fixtures.asking import wait_for
from tests.fixtures.waiting import seconds

THREADS = 4


class Broker:
    """Takes the place of a driver: some queues of callers are there, others have gone."""

    missing_destination_retry_timeout = 3600

    def __init__(self) -> None:
        self.gone: set[Any] = set()
        self.foreign: set[Any] = set()
        self.tries = 0
        self.sent: list[Any] = []
        self.refused = threading.Semaphore(0)

    @contextlib.contextmanager
    def _get_connection(self, purpose: str) -> Iterator[Broker]:
        yield self

    def direct_send(self, queue: Any, message: Any) -> None:
        self.tries += 1
        if queue in self.foreign:
            raise QueueRefused
        if queue in self.gone:
            self.refused.release()
            raise MessageUndeliverable(None, "replies", queue, message)
        self.sent.append(queue)


class Calls:
    """Makes calls whose answers go to some queue."""

    def __init__(self, broker: Broker) -> None:
        self._kind = incoming.message_class(THREADS)
        self._listener = SimpleNamespace(driver=broker)
        self._valid = SimpleNamespace(reply_q_valid=lambda _queue, _call: True)

    def of(self, queue: Any, call: str = "call") -> IncomingMessage:
        return self._kind(self._listener, {}, {}, "u", call, queue, None, self._valid, None)


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    monkeypatch.setattr(incoming, "PAUSE_SECONDS", 0.001)
    return Broker()


@pytest.fixture
def calls(broker: Broker) -> Calls:
    return Calls(broker)


def test_an_answer_waits_for_a_caller_that_connects_again(broker: Broker, calls: Calls) -> None:
    broker.gone.add("here")
    answering = threading.Thread(target=calls.of("here").reply)
    answering.start()
    assert broker.refused.acquire(timeout=seconds(10))
    broker.gone.clear()
    answering.join(seconds(10))
    assert broker.sent == ["here"]


def test_callers_that_have_gone_keep_half_of_the_threads(
    broker: Broker, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers beyond them wait no longer than it takes to send one; others are sent."""
    monkeypatch.setattr(incoming, "WAIT_SECONDS_MAX", 3600.0)
    broker.gone = {f"gone-{number}" for number in range(3 * THREADS)}
    threads = [threading.Thread(target=calls.of(queue).reply, daemon=True) for queue in broker.gone]
    for each in threads:
        each.start()
    ended = len(threads) - THREADS // 2
    _wait_until_alive(threads, THREADS // 2)
    assert sum(not each.is_alive() for each in threads) == ended
    calls.of("here").reply()
    assert broker.sent == ["here"]
    broker.gone.clear()
    _wait_until_alive(threads, 0)


def _wait_until_alive(threads: list[threading.Thread], count: int) -> None:
    wait_for(lambda: sum(each.is_alive() for each in threads) <= count, f"{count} wait", 10)


def test_a_caller_that_does_not_come_back_is_given_up(
    broker: Broker, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incoming, "WAIT_SECONDS_MAX", 0.01)
    broker.gone.add("gone")
    calls.of("gone").reply()
    calls.of("here").reply()
    assert broker.sent == ["here"]


def test_an_answer_to_a_queue_that_is_refused_is_dropped_immediately(
    broker: Broker, calls: Calls
) -> None:
    """It will never be allowed: nothing is tried again."""
    broker.foreign.add("another's")
    calls.of("another's").reply()
    assert (broker.tries, broker.sent) == (1, [])


@pytest.mark.parametrize("queue", [None, "", 7, ["q"], {"q": 1}, "x" * 256, "\ud800"], ids=ascii)
def test_what_is_not_the_name_of_a_queue_gets_no_answer(
    queue: Any, broker: Broker, calls: Calls
) -> None:
    """It would break the connection that other answers are sent by."""
    calls.of(queue).reply()
    assert broker.sent == []


def test_a_cast_is_not_answered(broker: Broker, calls: Calls) -> None:
    calls.of("here", call="").reply()
    assert broker.sent == []


def test_a_message_that_cannot_be_read_is_ignored() -> None:
    """Its connection stays, on which all others come."""

    def take(message: Any) -> None:
        raise TypeError("it names an argument twice")

    incoming.guarded(take)({})
