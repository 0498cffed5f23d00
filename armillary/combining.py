"""Let callers that come at the same time share work: one of them does it for all that wait.

Nobody waits for company. As long as there is a leader's place free, a caller leads at once, alone;
whoever comes while all places are taken queues up, and the first of the queue leads the next group.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar, cast

from armillary import exception

Work = TypeVar("Work")
Outcome = TypeVar("Outcome")


class _Turn(Generic[Work, Outcome]):
    """A caller's place in the queue: it wakes up with an outcome, an error, or as leader."""

    __slots__ = ("_gate", "error", "group", "outcome", "weight", "work")

    def __init__(self, work: Work, weight: int) -> None:
        self.work = work
        self.weight = weight
        self._gate = threading.Lock()  # far less work than an event, and opened only once
        self._gate.acquire()
        self.group: list[_Turn[Work, Outcome]] = []
        """Those that it is to lead, itself the first."""
        self.outcome: Outcome | None = None
        self.error: Exception | None = None

    def wait(self) -> None:
        """Wait until somebody wakes this one up."""
        self._gate.acquire()

    def wake(self) -> None:
        """Let it go on; once."""
        self._gate.release()


class Combiner(Generic[Work, Outcome]):
    """Hands the work of concurrent callers to ``do`` in groups; each gets its own outcome.

    ``do`` gets at most ``weight_max`` of weight, or one work that alone is heavier, and returns an
    outcome for each. What it raises, all callers of that group get. At most ``leaders_max`` groups
    are worked on at a time; more than ``waiting_max`` waiting callers are not let in.
    """

    def __init__(
        self,
        do: Callable[[Sequence[Work]], Sequence[Outcome]],
        *,
        weight_max: int,
        waiting_max: int,
        leaders_max: int = 1,
    ) -> None:
        self._do = do
        self._weight_max = weight_max
        self._waiting_max = waiting_max
        self._leaders_max = leaders_max
        self._lock = threading.Lock()
        self._waiting: deque[_Turn[Work, Outcome]] = deque()
        self._leaders = 0

    def submit(self, work: Work, weight: int = 1) -> Outcome:
        """Return the outcome of the work. Raises ``Unavailable`` when too many wait already."""
        turn = _Turn[Work, Outcome](work, weight)
        if not self._enter(turn):
            turn.wait()
        if turn.group:
            self._lead(turn.group)
        if turn.error is not None:
            raise turn.error
        return cast("Outcome", turn.outcome)

    def _enter(self, turn: _Turn[Work, Outcome]) -> bool:
        """Lead at once, and return True, or queue up."""
        with self._lock:
            if self._leaders < self._leaders_max:
                self._leaders += 1
                turn.group = [turn]
                return True
            if len(self._waiting) >= self._waiting_max:
                raise exception.Unavailable(
                    reason=f"{self._waiting_max} calls wait already; try again later"
                )
            self._waiting.append(turn)
            return False

    def _lead(self, group: list[_Turn[Work, Outcome]]) -> None:
        interrupted: Exception = exception.Unavailable(
            reason="the work was interrupted; its outcome is unknown"
        )
        for turn in group:
            turn.error = interrupted
        try:
            self._do_for(group)
        finally:
            self._leave(group)

    def _do_for(self, group: list[_Turn[Work, Outcome]]) -> None:
        try:
            outcomes = self._do([turn.work for turn in group])
        except Exception as error:
            for turn in group:
                turn.error = error
            return
        for turn, outcome in zip(group, outcomes, strict=True):
            turn.outcome, turn.error = outcome, None

    def _leave(self, group: list[_Turn[Work, Outcome]]) -> None:
        """Hand over to the first that waits; it leads all that wait by now."""
        leader, *others = group
        with self._lock:
            following = self._next_group()
            if following:
                following[0].group = following
            else:
                self._leaders -= 1
        leader.group = []
        for turn in others:
            turn.wake()
        if following:
            following[0].wake()

    def _next_group(self) -> list[_Turn[Work, Outcome]]:
        group: list[_Turn[Work, Outcome]] = []
        weight = 0
        while self._waiting and (not group or weight + self._waiting[0].weight <= self._weight_max):
            group.append(self._waiting.popleft())
            weight += group[-1].weight
        return group


class KeyedCombiner(Generic[Work, Outcome]):
    """A combiner for each key, as long as somebody uses it: work of one key is shared."""

    def __init__(
        self,
        do: Callable[[Sequence[Work]], Sequence[Outcome]],
        *,
        weight_max: int,
        waiting_max: int,
    ) -> None:
        self._do = do
        self._weight_max = weight_max
        self._waiting_max = waiting_max
        self._lock = threading.Lock()
        self._combiners: dict[Hashable, Combiner[Work, Outcome]] = {}
        self._users: dict[Hashable, int] = {}

    def submit(self, key: Hashable, work: Work, weight: int = 1) -> Outcome:
        """Return the outcome of the work; raise as ``Combiner.submit`` does."""
        with self._lock:
            if key not in self._combiners:
                self._combiners[key] = Combiner(
                    self._do, weight_max=self._weight_max, waiting_max=self._waiting_max
                )
            combiner = self._combiners[key]
            self._users[key] = self._users.get(key, 0) + 1
        try:
            return combiner.submit(work, weight)
        finally:
            with self._lock:
                self._users[key] -= 1
                if not self._users[key]:
                    del self._users[key], self._combiners[key]
