"""Group commit: calls that come at the same time share one transaction.

The first caller leads: it commits its work at once. Those who come meanwhile queue up, and when the
leader is done, the first of them leads the next group, with all that wait in it, up to a bound.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, cast

from armillary import exception

Work = TypeVar("Work")
Outcome = TypeVar("Outcome")


class _Turn(Generic[Work, Outcome]):
    """A caller's place in the queue: it wakes up with an outcome, an error, or as leader."""

    def __init__(self, work: Work, weight: int) -> None:
        self.work = work
        self.weight = weight
        self.woken = threading.Event()
        self.is_done = False
        self.outcome: Outcome | None = None
        self.error: Exception | None = None


class GroupCommit(Generic[Work, Outcome]):
    """Hand work of concurrent callers to ``commit`` in groups; each caller gets its own outcome.

    ``commit`` gets at most ``weight_max`` of weight, or one work that alone is heavier, and returns
    an outcome for each. What it raises, all callers of that group get. More than ``waiting_max``
    callers are not let in.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Work]], Sequence[Outcome]],
        *,
        weight_max: int,
        waiting_max: int,
    ) -> None:
        self._commit = commit
        self._weight_max = weight_max
        self._waiting_max = waiting_max
        self._lock = threading.Lock()
        self._waiting: deque[_Turn[Work, Outcome]] = deque()
        self._has_leader = False

    def submit(self, work: Work, weight: int = 1) -> Outcome:
        """Return the outcome when it is committed. Raises ``Unavailable`` when too many wait."""
        turn = _Turn[Work, Outcome](work, weight)
        if not self._enter(turn):
            turn.woken.wait()
        if not turn.is_done:
            self._lead()
        if turn.error is not None:
            raise turn.error
        return cast("Outcome", turn.outcome)

    def _enter(self, turn: _Turn[Work, Outcome]) -> bool:
        """Queue up; return whether this caller leads."""
        with self._lock:
            if len(self._waiting) >= self._waiting_max:
                raise exception.Unavailable(
                    reason=f"{self._waiting_max} calls wait to be committed; try again later"
                )
            self._waiting.append(turn)
            is_leader = not self._has_leader
            self._has_leader = True
            return is_leader

    def _lead(self) -> None:
        group = self._next_group()
        interrupted: Exception = exception.Unavailable(
            reason="the commit was interrupted; its outcome is unknown"
        )
        for turn in group:
            turn.error = interrupted
        try:
            self._commit_group(group)
        finally:
            self._leave(group)

    def _commit_group(self, group: list[_Turn[Work, Outcome]]) -> None:
        try:
            outcomes = self._commit([turn.work for turn in group])
        except Exception as error:
            for turn in group:
                turn.error = error
            return
        for turn, outcome in zip(group, outcomes, strict=True):
            turn.outcome, turn.error = outcome, None

    def _next_group(self) -> list[_Turn[Work, Outcome]]:
        """Take from the front of the queue, where the leader itself is."""
        with self._lock:
            group = [self._waiting.popleft()]
            weight = group[0].weight
            while self._waiting and weight + self._waiting[0].weight <= self._weight_max:
                group.append(self._waiting.popleft())
                weight += group[-1].weight
            return group

    def _leave(self, group: list[_Turn[Work, Outcome]]) -> None:
        with self._lock:
            self._has_leader = bool(self._waiting)
            successor = self._waiting[0] if self._waiting else None
        for turn in group:
            turn.is_done = True
            turn.woken.set()
        if successor is not None:
            successor.woken.set()
