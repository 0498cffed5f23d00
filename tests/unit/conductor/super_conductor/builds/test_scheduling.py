"""Builds that wait for a scheduler share a message; each gets its own answer."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from armillary import exception
from armillary.context import RequestContext, admin_context
from conductor.super_conductor.builds.scheduling import Scheduling
from objects.destinations import Destinations
from objects.packed.scheduling_batch import BatchedRequest, SchedulingAnswers, SchedulingBatch
from objects.traces.decision_trace import DecisionTrace
from tests.builders import a_uuid
from tests.fixtures.asking import wait_for
from tests.fleets import a_request_spec

SECONDS_MAX = 60.0


def some_destinations() -> Destinations:
    return Destinations.from_values(choices=np.full((1, 1), -1), trace=DecisionTrace.from_values())


class Scheduler:
    """Answers like a scheduler's client; the first call waits until it may go on."""

    def __init__(self) -> None:
        self.alone: list[str] = []
        self.together: list[list[str]] = []
        self.timeouts: list[float] = []
        self.answers: dict[str, Exception] = {}
        self.error: Exception | None = None
        self.began, self.go_on = threading.Event(), threading.Event()

    def select_destinations(
        self,
        context: RequestContext,
        request_spec: Any,
        instance_uuids: Sequence[str],
        *,
        fences: Sequence[int],
        timeout_seconds: float,
        takes_zones: bool = False,
    ) -> Destinations:
        self.alone.append(instance_uuids[0])
        if not self.began.is_set():
            self.began.set()
            assert self.go_on.wait(SECONDS_MAX)
        if instance_uuids[0] in self.answers:
            raise self.answers[instance_uuids[0]]
        return some_destinations()

    def select_destinations_many(
        self, context: RequestContext, batch: SchedulingBatch, *, timeout_seconds: float
    ) -> SchedulingAnswers:
        uuids = [each.instance_uuids[0] for each in batch.unpacked()]
        self.together.append(uuids)
        self.timeouts.append(timeout_seconds)
        if self.error is not None:
            raise self.error
        return SchedulingAnswers.of(self.answers.get(uuid) or some_destinations() for uuid in uuids)


def ask(scheduler: Scheduler, uuids: Sequence[str], **options: int) -> list[object]:
    """Ask for each; the first one is on its way before the others come, all at a time."""
    scheduling = Scheduling(
        scheduler,  # type: ignore[arg-type]  # as far as asked
        **{"messages_max": 1, "instances_max": 100, **options},
    )

    def one(number: int, uuid: str) -> object:
        try:
            return scheduling.select_destinations(
                admin_context(f"req-{number}"), a_request_spec(), [uuid], fences=[1000],
                timeout_seconds=10.0 + number,
            )  # fmt: skip
        except exception.ArmillaryError as error:
            return error

    with ThreadPoolExecutor(len(uuids)) as builds:
        sent = [builds.submit(one, 0, uuids[0])]
        assert scheduler.began.wait(SECONDS_MAX)
        for number, uuid in enumerate(uuids[1:], start=1):
            sent.append(builds.submit(one, number, uuid))
        _until_waiting(scheduling, len(uuids) - 1)
        scheduler.go_on.set()
        return [each.result(SECONDS_MAX) for each in sent]


def _until_waiting(scheduling: Scheduling, count: int) -> None:
    group_commit = scheduling._group_commit
    wait_for(lambda: len(group_commit._waiting) >= count, f"{count} waiting builds", 10, 0.001)


def test_a_lone_build_goes_immediately_and_those_that_come_meanwhile_go_together() -> None:
    """With the longest time that one of them has."""
    scheduler, uuids = Scheduler(), [a_uuid() for _ in range(4)]
    found = ask(scheduler, uuids)
    assert all(isinstance(each, Destinations) for each in found)
    assert scheduler.alone == uuids[:1]
    assert list(map(sorted, scheduler.together)) == [sorted(uuids[1:])]
    assert scheduler.timeouts == [13.0]


def test_each_gets_its_own_answer() -> None:
    """A no for one is none for the others."""
    scheduler, uuids = Scheduler(), [a_uuid() for _ in range(3)]
    scheduler.answers[uuids[2]] = exception.NoValidHost(reason="full")
    found = ask(scheduler, uuids)
    assert [type(each).__name__ for each in found] == ["Destinations"] * 2 + ["NoValidHost"]


def test_a_message_without_an_answer_leaves_all_in_it_unknown() -> None:
    """The one before it is not concerned."""
    scheduler, uuids = Scheduler(), [a_uuid() for _ in range(3)]
    scheduler.error = exception.RpcTimeout(method="m", topic="scheduler", timeout_seconds=1)
    found = ask(scheduler, uuids)
    assert [type(each).__name__ for each in found] == ["Destinations", "RpcTimeout", "RpcTimeout"]


def test_when_one_makes_no_sense_each_is_asked_for_alone() -> None:
    """The scheduler has done nothing for any of them then."""
    scheduler, uuids = Scheduler(), [a_uuid() for _ in range(3)]
    scheduler.error = exception.Invalid(reason="twice")
    scheduler.answers[uuids[1]] = exception.Invalid(reason="twice")
    found = ask(scheduler, uuids)
    assert [type(each).__name__ for each in found] == ["Destinations", "Invalid", "Destinations"]


def test_a_message_has_no_more_than_allowed() -> None:
    """The others wait for the next one."""
    scheduler, uuids = Scheduler(), [a_uuid() for _ in range(5)]
    ask(scheduler, uuids, instances_max=2)
    assert [len(each) for each in scheduler.together] == [2, 2]


def many(scheduler: Scheduler, uuids: Sequence[str], instances_max: int) -> list[object]:
    """Ask for requests that belong together already."""
    scheduling = Scheduling(
        scheduler,  # type: ignore[arg-type]  # as far as asked
        messages_max=1,
        instances_max=instances_max,
    )
    requests = [BatchedRequest(a_request_spec(), [uuid], [1000]) for uuid in uuids]
    return list(scheduling.select_destinations_many(requests, timeout_seconds=5.0))


def test_requests_that_belong_together_go_in_as_few_messages_as_allowed() -> None:
    """In their order; one that is left goes as a lone request does."""
    scheduler, uuids = Scheduler(), [a_uuid() for _ in range(5)]
    scheduler.began.set()
    scheduler.answers[uuids[3]] = exception.NoValidHost(reason="full")
    found = many(scheduler, uuids, instances_max=2)
    assert scheduler.together == [uuids[:2], uuids[2:4]]
    assert scheduler.alone == uuids[4:]
    names = ["Destinations"] * 3 + ["NoValidHost", "Destinations"]
    assert [type(each).__name__ for each in found] == names


def test_a_message_that_was_not_answered_is_the_answer_to_those_in_it() -> None:
    """The others have theirs."""
    scheduler, uuids = Scheduler(), [a_uuid() for _ in range(3)]
    scheduler.began.set()
    scheduler.error = exception.RpcTimeout(method="m", topic="scheduler", timeout_seconds=1)
    found = many(scheduler, uuids, instances_max=2)
    assert [type(each).__name__ for each in found] == ["RpcTimeout", "RpcTimeout", "Destinations"]
