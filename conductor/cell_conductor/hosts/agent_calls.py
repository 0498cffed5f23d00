"""Calls of agents that users wait for: few at a time, and none while an agent does not answer.

An agent may be stalled, or its key stolen, and any user of a server there can ask for its console
again and again. Each question keeps a thread of this process, and one of the super conductor, until
it is answered: without these bounds one host would keep a cell from serving all others.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from armillary import exception
from conductor.common.clock import Clock

OF_AGENT_MAX = 4
IN_ALL_MAX = 16
"""Of the threads that serve requests ([DEFAULT] executor_thread_pool_size, 64 by default)."""
PAUSE_SECONDS = 10.0
"""How long an agent is not asked after it did not answer."""

_SILENCE = (exception.RpcTimeout, exception.RpcUnavailable)

T = TypeVar("T")


class AgentCalls:
    """Calls of the agents of a cell by this process; thread-safe."""

    def __init__(self, monotonic: Clock = time.monotonic) -> None:
        self._monotonic = monotonic
        self._guard = threading.Lock()
        self._waiting = Counter[str]()
        self._silent_until: dict[str, float] = {}

    def ask(self, agent: str, question: Callable[[], T]) -> T:
        """Return an agent's answer. Raises what it raises; Conflict if it is not asked now.

        Raises Unavailable if it does not answer: the outcome is unknown.
        """
        self._begin(agent)
        try:
            return question()
        except _SILENCE as error:
            self._note_silence(agent)
            raise exception.Unavailable(
                reason=f"agent {agent} does not answer; outcome unknown"
            ) from error
        finally:
            self._end(agent)

    def _begin(self, agent: str) -> None:
        with self._guard:
            if self._monotonic() < self._silent_until.get(agent, 0.0):
                raise exception.Conflict(
                    "The server's host did not answer a moment ago; try again later."
                )
            if self._waiting[agent] >= OF_AGENT_MAX or self._waiting.total() >= IN_ALL_MAX:
                raise exception.Conflict(
                    "Too many requests wait for hosts to answer; try again later."
                )
            self._waiting[agent] += 1

    def _end(self, agent: str) -> None:
        with self._guard:
            self._waiting[agent] -= 1
            self._waiting += Counter()  # forgets agents without any

    def _note_silence(self, agent: str) -> None:
        with self._guard:
            now = self._monotonic()
            self._silent_until = {
                name: until for name, until in self._silent_until.items() if until > now
            }
            self._silent_until[agent] = now + PAUSE_SECONDS
