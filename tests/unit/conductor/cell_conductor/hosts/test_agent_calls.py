"""Calls of agents that users wait for: one that does not answer keeps no others from theirs."""

import threading
from collections.abc import Iterator

import pytest

from armillary import exception
from conductor.cell_conductor.hosts.agent_calls import (
    IN_ALL_MAX,
    OF_AGENT_MAX,
    PAUSE_SECONDS,
    AgentCalls,
)
from tests.fixtures.stand_ins.clock import Clock
from tests.fixtures.waiting import seconds

SECONDS_MAX = 60.0


class Silence:
    """Agents that do not answer before the end of the test; questions to them in threads."""

    def __init__(self, calls: AgentCalls) -> None:
        self._calls = calls
        self._end = threading.Event()
        self._threads: list[threading.Thread] = []

    def ask(self, agent: str) -> None:
        """Ask an agent, and return when the question is on its way."""
        asked = threading.Event()

        def question() -> bool:
            asked.set()
            return self._end.wait(seconds(SECONDS_MAX))

        thread = threading.Thread(target=self._calls.ask, args=(agent, question))
        thread.start()
        self._threads.append(thread)
        assert asked.wait(seconds(SECONDS_MAX))

    def end(self) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def calls(clock: Clock) -> AgentCalls:
    return AgentCalls(clock)


@pytest.fixture
def silence(calls: AgentCalls) -> Iterator[Silence]:
    made = Silence(calls)
    yield made
    made.end()


def test_few_questions_wait_for_an_agent(calls: AgentCalls, silence: Silence) -> None:
    """Others are refused immediately, and other agents are asked."""
    for _ in range(OF_AGENT_MAX):
        silence.ask("stalled")
    with pytest.raises(exception.Conflict, match="Too many requests"):
        calls.ask("stalled", lambda: "never asked")
    assert calls.ask("other", lambda: "answer") == "answer"
    silence.end()
    assert calls.ask("stalled", lambda: "answer") == "answer"


def test_few_questions_wait_for_all_agents(calls: AgentCalls, silence: Silence) -> None:
    """So that a rack of stalled ones keeps no thread from what agents report."""
    for number in range(IN_ALL_MAX):
        silence.ask(f"agent-{number // OF_AGENT_MAX}")
    with pytest.raises(exception.Conflict, match="Too many requests"):
        calls.ask("other", lambda: "never asked")


def test_an_agent_that_did_not_answer_is_asked_after_a_pause(
    calls: AgentCalls, clock: Clock
) -> None:
    def no_answer() -> str:
        raise exception.RpcTimeout(method="m", topic="compute", timeout_seconds=4)

    with pytest.raises(exception.Unavailable, match="outcome unknown"):
        calls.ask("stalled", no_answer)
    with pytest.raises(exception.Conflict, match="a moment ago"):
        calls.ask("stalled", lambda: "never asked")
    clock.now += PAUSE_SECONDS
    assert calls.ask("stalled", lambda: "answer") == "answer"


def test_what_an_agent_refuses_is_an_answer(calls: AgentCalls) -> None:
    def refuse() -> str:
        raise exception.OperationUnsupported(host="h", operation="dump", reason="no")

    for _ in range(2 * OF_AGENT_MAX):
        with pytest.raises(exception.OperationUnsupported):
            calls.ask("agent", refuse)
