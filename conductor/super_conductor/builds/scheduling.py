"""Batched scheduling: concurrent requests of many builds share messages to the schedulers."""

import dataclasses
from collections.abc import Iterator, Sequence

from armillary import exception
from armillary.concurrency.group_commit import GroupCommit
from armillary.context import RequestContext, admin_context
from objects.destinations import Destinations
from objects.packed.scheduling_batch import Answer, BatchedRequest, SchedulingBatch
from objects.request_spec import RequestSpec
from scheduler.interface import SchedulerAPI

_WAITING_MAX = 100_000


@dataclasses.dataclass(frozen=True, slots=True)
class _Asked:
    context: RequestContext
    request: BatchedRequest
    timeout_seconds: float


class Scheduling:
    """Selects destinations for concurrent callers; each gets its own answer.

    While fewer than ``messages_max`` messages are in progress, a request is sent immediately and
    alone. Further requests wait and are sent together, up to ``instances_max`` instances in a
    message. Nothing is kept between calls.
    """

    def __init__(self, scheduler: SchedulerAPI, *, messages_max: int, instances_max: int) -> None:
        self._scheduler = scheduler
        self._instances_max = instances_max
        self._group_commit = GroupCommit[_Asked, Answer](
            self._ask, weight_max=instances_max, waiting_max=_WAITING_MAX, leaders_max=messages_max
        )

    def select_destinations(
        self,
        context: RequestContext,
        request_spec: RequestSpec,
        instance_uuids: Sequence[str],
        *,
        fences: Sequence[int],
        timeout_seconds: float,
    ) -> Destinations:
        """Do what ``SchedulerAPI.select_destinations`` does, and raise what it raises.

        A message waits as long as the longest timeout of its requests. After a timeout the outcome
        of all its requests is unknown: each raises RpcTimeout.
        """
        request = BatchedRequest(request_spec, instance_uuids, fences, context.request_id)
        asked = _Asked(context, request, timeout_seconds)
        answer = self._group_commit.submit(asked, len(instance_uuids))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def select_destinations_many(
        self, requests: Sequence[BatchedRequest], *, timeout_seconds: float
    ) -> list[Answer]:
        """Return for each request the answer, or the error that a separate call would raise.

        The requests form messages of their own and wait for no other message.
        """
        asked = [
            _Asked(admin_context(request.request_id), request, timeout_seconds)
            for request in requests
        ]
        return [answer for group in self._groups(asked) for answer in self._ask_or_fail(group)]

    def _groups(self, asked: Sequence[_Asked]) -> Iterator[list[_Asked]]:
        group: list[_Asked] = []
        instances = 0
        for each in asked:
            count = len(each.request.instance_uuids)
            if group and instances + count > self._instances_max:
                yield group
                group, instances = [], 0
            group.append(each)
            instances += count
        if group:
            yield group

    def _ask_or_fail(self, group: Sequence[_Asked]) -> list[Answer]:
        try:
            return self._ask(group)
        except exception.ArmillaryError as error:
            return [error] * len(group)

    def _ask(self, group: Sequence[_Asked]) -> list[Answer]:
        if len(group) == 1:
            return [self._ask_alone(group[0])]
        try:
            answers = self._scheduler.select_destinations_many(
                admin_context(),
                SchedulingBatch.of(each.request for each in group),
                timeout_seconds=max(each.timeout_seconds for each in group),
            )
        except exception.Invalid:
            return [self._ask_alone(each) for each in group]  # one of them is invalid
        return answers.unpacked()

    def _ask_alone(self, asked: _Asked) -> Answer:
        request = asked.request
        try:
            return self._scheduler.select_destinations(
                asked.context,
                request.request_spec,
                request.instance_uuids,
                fences=request.fences,
                takes_zones=request.takes_zones,
                timeout_seconds=asked.timeout_seconds,
            )
        except exception.ArmillaryError as error:
            return error
