"""Concurrent callers share work; none waits for others; each gets its own outcome."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from armillary import exception
from armillary.concurrency.group_commit import GroupCommit, KeyedGroupCommit
from tests.fixtures.asking import wait_for

SECONDS_MAX = 60.0


class Doubling:
    """Doubles numbers, in groups; the first groups wait until they may go on."""

    def __init__(self, gated: int = 1) -> None:
        self.groups: list[list[int]] = []
        self.begun = threading.Semaphore(0)
        self.go_on = threading.Event()
        self._gated = gated

    def __call__(self, group: Sequence[int]) -> list[int]:
        self.groups.append(list(group))
        self.begun.release()
        if len(self.groups) <= self._gated:
            assert self.go_on.wait(SECONDS_MAX)
        if 13 in group:
            raise ValueError("13")
        return [2 * number for number in group]

    def wait_for(self, groups: int) -> None:
        for _ in range(groups):
            assert self.begun.acquire(timeout=SECONDS_MAX)


def submit_behind(
    group_commit: GroupCommit[int, int], work: Doubling, numbers: Sequence[int], leaders: int = 1
) -> list[object]:
    """Let the first numbers lead, the others queue up behind them; return all outcomes."""

    def submit(number: int) -> object:
        try:
            return group_commit.submit(number)
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(numbers)) as callers:
        first = [callers.submit(submit, number) for number in numbers[:leaders]]
        work.wait_for(leaders)
        waiting = []
        for count, number in enumerate(numbers[leaders:], start=1):
            waiting.append(callers.submit(submit, number))
            until_queued(group_commit, count)
        work.go_on.set()
        return [each.result(SECONDS_MAX) for each in (*first, *waiting)]


def until_queued(group_commit: GroupCommit[int, int], count: int) -> None:
    wait_for(lambda: len(group_commit._waiting) == count, f"{count} waiting callers", 10, 0.001)


def a_group_commit(work: Doubling, **options: int) -> GroupCommit[int, int]:
    return GroupCommit(work, **{"weight_max": 100, "waiting_max": 100, **options})


def test_a_lone_caller_works_immediately_and_alone() -> None:
    """Twice in a row, too."""
    work = Doubling(gated=0)
    group_commit = a_group_commit(work)
    assert [group_commit.submit(1), group_commit.submit(2)] == [2, 4]
    assert work.groups == [[1], [2]]


def test_those_that_come_meanwhile_are_the_next_group() -> None:
    """In their order, each with its own outcome."""
    work = Doubling()
    assert submit_behind(a_group_commit(work), work, [1, 2, 3, 4]) == [2, 4, 6, 8]
    assert work.groups == [[1], [2, 3, 4]]


def test_a_group_is_not_heavier_than_allowed() -> None:
    """Those left over are the next one."""
    work = Doubling()
    assert submit_behind(a_group_commit(work, weight_max=2), work, [1, 2, 3, 4]) == [2, 4, 6, 8]
    assert work.groups == [[1], [2, 3], [4]]


def test_several_may_lead_at_a_time() -> None:
    """Then the next ones wait for either; every place is used again."""
    work = Doubling(gated=2)
    group_commit = a_group_commit(work, leaders_max=2)
    assert submit_behind(group_commit, work, [1, 2, 3], leaders=2) == [2, 4, 6]
    assert sorted(work.groups[:2]) == [[1], [2]]
    assert work.groups[2] == [3]
    assert group_commit._leaders == 0


def test_an_error_is_that_of_its_group_alone() -> None:
    """The group before and the callers after are fine."""
    work = Doubling()
    group_commit = a_group_commit(work)
    first, second, third = submit_behind(group_commit, work, [1, 13, 2])
    assert first == 2
    assert isinstance(second, ValueError)
    assert second is third
    assert group_commit.submit(4) == 8


def test_an_interrupted_leader_leaves_no_caller_waiting() -> None:
    """Those of its group get an error, and its place is free again."""

    class Interrupted(BaseException):
        pass

    def work(group: Sequence[int]) -> list[int]:
        raise Interrupted

    group_commit = GroupCommit[int, int](work, weight_max=9, waiting_max=9)
    with pytest.raises(Interrupted):
        group_commit.submit(1)
    assert group_commit._leaders == 0


def test_too_many_are_not_let_in() -> None:
    """They are told so immediately."""
    work = Doubling()
    found = submit_behind(a_group_commit(work, waiting_max=1), work, [1, 2])
    assert found == [2, 4]
    work = Doubling()
    group_commit = a_group_commit(work, waiting_max=0)
    with ThreadPoolExecutor(1) as callers:
        first = callers.submit(group_commit.submit, 1)
        work.wait_for(1)
        with pytest.raises(exception.Unavailable, match="0 calls are waiting already"):
            group_commit.submit(2)
        work.go_on.set()
        assert first.result(SECONDS_MAX) == 2


def test_work_of_other_keys_is_apart() -> None:
    """And an unused key is forgotten."""
    work = Doubling()
    group_commit = KeyedGroupCommit[int, int](work, weight_max=9, waiting_max=9)
    with ThreadPoolExecutor(1) as callers:
        first = callers.submit(group_commit.submit, "a", 1)
        work.wait_for(1)
        assert group_commit.submit("b", 2) == 4
        work.go_on.set()
        assert first.result(SECONDS_MAX) == 2
    assert not group_commit._by_key
    assert not group_commit._users
