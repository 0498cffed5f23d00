"""Deadlines: a handler's own calls fail before its caller gives up."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from armillary import exception
from armillary.context import RequestContext, admin_context
from rpc import deadlines
from rpc.callers import API, CONDUCTOR
from rpc.interface import Interface, call
from rpc.transport import Bus
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.messages.interfaces import an_rpc_server

WAIT_SECONDS = 30.0


class DeskAPI(Interface):
    """A desk that asks the stacks for each book."""

    TOPIC = "desk"
    SERVED_BY = "conductor"

    @call(API)
    def lend(self, context: RequestContext, title: str) -> str:
        """Lend a book."""  # fmt: skip


class StacksAPI(Interface):
    """Where the books are."""

    TOPIC = "stacks"
    SERVED_BY = "placement"

    @call(CONDUCTOR)
    def fetch(self, context: RequestContext, title: str) -> str:
        """Fetch a book."""  # fmt: skip


class Desk:
    """Asks the stacks in the thread that handles the message."""

    def __init__(self, bus: Bus) -> None:
        self._stacks = StacksAPI(bus, timeout_seconds=WAIT_SECONDS)

    def lend(self, context: RequestContext, title: str) -> str:
        return self._stacks.fetch(context, title)


class Stacks:
    """Answers when it is let."""

    def __init__(self) -> None:
        self.opened = threading.Event()

    def fetch(self, context: RequestContext, title: str) -> str:
        assert self.opened.wait(WAIT_SECONDS)
        return title


@pytest.fixture
def stacks() -> Stacks:
    return Stacks()


@pytest.fixture
def desk(stacks: Stacks) -> Iterator[DeskAPI]:
    """Return a client of the desk, with both services on one broker."""
    bus = Bus(messaging_conf(), f"kombu+memory:////{uuid.uuid4()}")
    servers = [
        an_rpc_server(bus, DeskAPI, "here", Desk(bus)),
        an_rpc_server(bus, StacksAPI, "here", stacks),
    ]
    for server in servers:
        server.start()
    yield DeskAPI(bus, timeout_seconds=WAIT_SECONDS)
    stacks.opened.set()
    for server in servers:
        server.stop()
        server.wait()
    bus.close()


def test_the_caller_is_told_which_inner_call_was_not_answered(
    desk: DeskAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though by itself the inner call would wait as long."""
    monkeypatch.setattr(deadlines, "SHARE", 1 / WAIT_SECONDS)
    with pytest.raises(exception.RpcTimeout, match="No answer to fetch on stacks within"):
        desk.lend(admin_context(), "Almagest")


def test_an_inner_call_that_is_answered_has_no_other_answer(desk: DeskAPI, stacks: Stacks) -> None:
    """A deadline changes only when a call fails."""
    stacks.opened.set()
    assert desk.lend(admin_context(), "Almagest") == "Almagest"


def limits(within: object, *inner: float) -> list[float]:
    """Return the time limits of the inner calls of a message whose caller waits so long."""
    measure: Callable[[Any], Any] = deadlines.kept(
        lambda _incoming: [deadlines.shortened(seconds) for seconds in inner]
    )
    context = {} if within is None else {deadlines.ANSWER_WITHIN: within}
    found: list[float] = measure(SimpleNamespace(ctxt=context))
    return found


def test_an_inner_call_gets_less_time_than_the_outer_one() -> None:
    """One that would wait a shorter time by itself is left as it is."""
    long, short = limits(60.0, 60.0, 5.0)
    assert 50 < long < 60 * deadlines.SHARE + 0.1
    assert short == 5.0


@pytest.mark.parametrize("within", [None, 0.0, -5, 1e308, "soon", [60], float("nan")], ids=repr)
def test_a_call_whose_caller_has_no_deadline_or_has_gone_keeps_its_time(within: object) -> None:
    """As work that goes on after its request; an older peer says nothing."""
    assert limits(within, 60.0) == [60.0]


def test_a_deadline_that_no_clock_can_add_is_ignored() -> None:
    """It would make each message of its sender an error."""
    assert limits(10**400, 60.0) == [60.0]


def test_a_call_shortly_before_the_deadline_has_a_minimum_of_time() -> None:
    """The last call of a handler has a chance, too."""
    assert limits(0.05, 60.0) == [deadlines.SECONDS_MIN]


def test_a_thread_that_works_for_a_message_has_its_deadline() -> None:
    """As those in which schedulers decide."""

    def dispatch(_incoming: Any) -> float:
        with ThreadPoolExecutor(1) as pool:
            work = deadlines.carried(lambda: deadlines.shortened(60.0))
            return pool.submit(work).result()

    incoming = SimpleNamespace(ctxt={deadlines.ANSWER_WITHIN: 10.0})
    assert deadlines.kept(dispatch)(incoming) < 10.0


def test_the_deadline_ends_with_the_message() -> None:
    """A thread handles messages of many callers, and other work."""
    limits(10.0, 60.0)
    assert deadlines.shortened(60.0) == 60.0
