"""Group commit: concurrent callers share work, and one of them executes it for the group.

A caller never waits for others to join. While fewer than the maximum number of groups run, a caller
becomes a leader and runs immediately, alone. Callers that arrive while all leader slots are taken
queue up, and the first of the queue leads the next group.
"""

import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar, cast

from armillary import exception

Work = TypeVar("Work")
Outcome = TypeVar("Outcome")


class _QueueEntry(Generic[Work, Outcome]):
    """A caller's entry in the queue; it is woken with an outcome, an error, or as leader."""

    __slots__ = ("_gate", "error", "group", "outcome", "weight", "work")

    def __init__(self, work: Work, weight: int) -> None:
        self.work = work
        self.weight = weight
        self._gate = threading.Lock()  # much cheaper than an Event, and released only once
        self._gate.acquire()
        self.group: list[_QueueEntry[Work, Outcome]] = []
        """The entries it is to lead, itself first."""
        self.outcome: Outcome | None = None
        self.error: Exception | None = None

    def wait(self) -> None:
        """Wait until another caller wakes this one."""
        self._gate.acquire()

    def wake(self) -> None:
        """Wake the caller; call it once."""
        self._gate.release()


class GroupCommit(Generic[Work, Outcome]):
    """Pass the work of concurrent callers to ``do`` in groups; each caller gets its own outcome.

    ``do`` gets work of at most ``weight_max`` in total, or a single item that is heavier, and
    returns one outcome per item. If it raises, all callers of the group get the error. At most
    ``leaders_max`` groups run at a time. With more than ``waiting_max`` waiting callers, further
    ones are rejected.
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
        self._waiting: deque[_QueueEntry[Work, Outcome]] = deque()
        self._leaders = 0

    def submit(self, work: Work, weight: int = 1) -> Outcome:
        """Return the outcome of the work. Raises ``Unavailable`` when too many callers wait."""
        turn = _QueueEntry[Work, Outcome](work, weight)
        if not self._enter(turn):
            turn.wait()
        if turn.group:
            self._lead(turn.group)
        if turn.error is not None:
            raise turn.error
        return cast("Outcome", turn.outcome)

    def _enter(self, turn: _QueueEntry[Work, Outcome]) -> bool:
        """Become a leader and return True, or queue up."""
        with self._lock:
            if self._leaders < self._leaders_max:
                self._leaders += 1
                turn.group = [turn]
                return True
            if len(self._waiting) >= self._waiting_max:
                raise exception.Unavailable(
                    reason=f"{self._waiting_max} calls are waiting already; try again later"
                )
            self._waiting.append(turn)
            return False

    def _lead(self, group: list[_QueueEntry[Work, Outcome]]) -> None:
        interrupted: Exception = exception.Unavailable(
            reason="the work was interrupted; its outcome is unknown"
        )
        for turn in group:
            turn.error = interrupted
        try:
            self._do_for(group)
        finally:
            self._leave(group)

    def _do_for(self, group: list[_QueueEntry[Work, Outcome]]) -> None:
        try:
            outcomes = self._do([turn.work for turn in group])
        except Exception as error:
            for turn in group:
                turn.error = error
            return
        for turn, outcome in zip(group, outcomes, strict=True):
            turn.outcome, turn.error = outcome, None

    def _leave(self, group: list[_QueueEntry[Work, Outcome]]) -> None:
        """Make the first waiting caller the leader of all that wait now."""
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

    def _next_group(self) -> list[_QueueEntry[Work, Outcome]]:
        group: list[_QueueEntry[Work, Outcome]] = []
        weight = 0
        while self._waiting and (not group or weight + self._waiting[0].weight <= self._weight_max):
            group.append(self._waiting.popleft())
            weight += group[-1].weight
        return group


class KeyedGroupCommit(Generic[Work, Outcome]):
    """One GroupCommit per key while the key is in use: only work of the same key is shared."""

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
        self._by_key: dict[Hashable, GroupCommit[Work, Outcome]] = {}
        self._users: dict[Hashable, int] = {}

    def submit(self, key: Hashable, work: Work, weight: int = 1) -> Outcome:
        """Return the outcome of the work; raise as ``GroupCommit.submit`` does."""
        with self._lock:
            if key not in self._by_key:
                self._by_key[key] = GroupCommit(
                    self._do, weight_max=self._weight_max, waiting_max=self._waiting_max
                )
            group_commit = self._by_key[key]
            self._users[key] = self._users.get(key, 0) + 1
        try:
            return group_commit.submit(work, weight)
        finally:
            with self._lock:
                self._users[key] -= 1
                if not self._users[key]:
                    del self._users[key], self._by_key[key]
