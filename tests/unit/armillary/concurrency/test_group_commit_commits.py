"""Combining commits under one leader: who leads, who follows, and who gets what."""

import threading
from collections.abc import Callable, Sequence

import pytest

from armillary import exception
from armillary.concurrency.group_commit import GroupCommit

WAIT_SECONDS_MAX = 60


class Commits:
    """Takes groups down, and holds each until it may go on.

    The database fails a group with a negative work, and one with a zero is interrupted.
    """

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.begun = threading.Semaphore(0)
        self.may_go_on = threading.Semaphore(0)

    def __call__(self, group: Sequence[int]) -> list[int]:
        self.groups.append(list(group))
        self.begun.release()
        assert self.may_go_on.acquire(timeout=WAIT_SECONDS_MAX)
        if min(group) < 0:
            raise exception.DatabaseUnavailable(name="placement", reason="gone")
        if 0 in group:
            raise SystemExit
        return [work * 10 for work in group]


class Caller(threading.Thread):
    """Submits one piece of work and keeps what came of it."""

    def __init__(self, submit: Callable[[int], int], work: int) -> None:
        super().__init__(daemon=True)
        self.outcome: int | BaseException | None = None
        self._submit = submit
        self._work = work
        self.start()

    def run(self) -> None:
        try:
            self.outcome = self._submit(self._work)
        except BaseException as error:
            self.outcome = error

    def answer(self) -> int | BaseException | None:
        self.join(WAIT_SECONDS_MAX)
        assert not self.is_alive()
        return self.outcome


@pytest.fixture
def commits() -> Commits:
    return Commits()


def wait_for_queue(group_commit: GroupCommit[int, int], length: int) -> None:
    condition = threading.Event()
    for _ in range(WAIT_SECONDS_MAX * 100):
        if len(group_commit._waiting) == length:
            return
        condition.wait(0.01)
    raise AssertionError(f"{len(group_commit._waiting)} wait, not {length}")


def begin(commits: Commits, group_commit: GroupCommit[int, int], works: list[int]) -> list[Caller]:
    """Start a leader, and let the others queue up in their order behind its commit."""
    callers = [Caller(group_commit.submit, works[0])]
    assert commits.begun.acquire(timeout=WAIT_SECONDS_MAX)
    for number, work in enumerate(works[1:], start=1):
        callers.append(Caller(group_commit.submit, work))
        wait_for_queue(group_commit, number)
    return callers


def test_who_comes_during_a_commit_shares_the_next_one(commits: Commits) -> None:
    """Five calls are two transactions, and each gets its own outcome."""
    group_commit = GroupCommit(commits, weight_max=100, waiting_max=100)
    callers = begin(commits, group_commit, [1, 2, 3, 4, 5])
    commits.may_go_on.release(2)
    assert [caller.answer() for caller in callers] == [10, 20, 30, 40, 50]
    assert commits.groups == [[1], [2, 3, 4, 5]]


def test_a_group_is_bounded(commits: Commits) -> None:
    """What does not fit any more goes with the next leader."""
    group_commit = GroupCommit(commits, weight_max=2, waiting_max=100)
    callers = begin(commits, group_commit, [1, 2, 3, 4])
    commits.may_go_on.release(3)
    assert [caller.answer() for caller in callers] == [10, 20, 30, 40]
    assert commits.groups == [[1], [2, 3], [4]]


def test_a_work_heavier_than_the_bound_goes_alone(commits: Commits) -> None:
    """No caller starves for being big."""
    group_commit = GroupCommit(commits, weight_max=2, waiting_max=100)
    commits.may_go_on.release()
    assert group_commit.submit(7, weight=5) == 70


def test_a_failed_commit_is_everybodys_error_in_its_group_only(commits: Commits) -> None:
    """Before and after it, work continues."""
    group_commit = GroupCommit(commits, weight_max=2, waiting_max=100)
    callers = begin(commits, group_commit, [1, -2, 3, 4])
    commits.may_go_on.release(3)
    outcomes = [caller.answer() for caller in callers]
    assert (outcomes[0], outcomes[3]) == (10, 40)
    assert all(isinstance(item, exception.DatabaseUnavailable) for item in outcomes[1:3])


def test_too_many_callers_are_turned_away(commits: Commits) -> None:
    """They learn immediately that nothing was done."""
    group_commit = GroupCommit(commits, weight_max=100, waiting_max=1)
    callers = begin(commits, group_commit, [1, 2])
    with pytest.raises(exception.Unavailable, match="1 calls are waiting"):
        group_commit.submit(3)
    commits.may_go_on.release(2)
    assert [caller.answer() for caller in callers] == [10, 20]


def test_a_leader_that_is_interrupted_hands_over(commits: Commits) -> None:
    """Its group learns that the outcome is unknown; those behind it are committed."""
    group_commit = GroupCommit(commits, weight_max=2, waiting_max=100)
    callers = begin(commits, group_commit, [1, 0, 3, 4])
    commits.may_go_on.release(3)
    outcomes = [caller.answer() for caller in callers]
    assert (outcomes[0], outcomes[3]) == (10, 40)
    assert isinstance(outcomes[1], SystemExit)
    assert isinstance(outcomes[2], exception.Unavailable)
