"""Instances that wait for a cell share a message; each caller learns how it went."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from armillary import exception
from armillary.context import RequestContext, admin_context
from conductor.super_conductor.builds.cell_handover import HandoverBatcher
from objects.instances.build_request import BuildRequest
from tests.fixtures.asking import wait_for
from tests.fixtures.cell import a_build_request

SECONDS_MAX = 60.0
CELL, OTHER_CELL = "cell-1", "cell-2"


class CellConductor:
    """Takes instances like a cell's conductor; the first message waits until it may go on."""

    def __init__(self) -> None:
        self.messages: list[list[str]] = []
        self.contexts: list[RequestContext] = []
        self.timeouts: list[float] = []
        self.error: Exception | None = None
        self.began, self.go_on = threading.Event(), threading.Event()

    def build_instances(
        self,
        context: RequestContext,
        build_requests: Sequence[BuildRequest],
        *,
        timeout_seconds: float,
    ) -> None:
        self.messages.append([request.instance_uuid for request in build_requests])
        self.contexts.append(context)
        self.timeouts.append(timeout_seconds)
        if not self.began.is_set():
            self.began.set()
            assert self.go_on.wait(SECONDS_MAX)
        elif self.error is not None:
            raise self.error


def hand_over_meanwhile(cell: CellConductor, count: int, instances_max: int) -> list[Future[None]]:
    """Hand over one instance, and ``count`` more while its message is under way."""
    batcher = HandoverBatcher(instances_max=instances_max)

    def hand_over(number: int) -> None:
        batcher.build_instances(
            RequestContext(request_id=f"req-{number}"), CELL, cell, [a_build_request("a")],  # type: ignore[arg-type]  # as far as asked
            timeout_seconds=float(number),
        )  # fmt: skip

    with ThreadPoolExecutor(count + 1) as pool:
        asked = [pool.submit(hand_over, 0)]
        assert cell.began.wait(SECONDS_MAX)
        asked += [pool.submit(hand_over, number) for number in range(1, count + 1)]
        group_commit = batcher._group_commit._by_key[CELL]
        wait_for(lambda: len(group_commit._waiting) >= count, f"{count} waiting", 10, 0.001)
        cell.go_on.set()
    return asked


def test_what_waits_for_a_cell_goes_in_one_message() -> None:
    """The first alone, in its own context; the others together, with the longest patience."""
    cell = CellConductor()
    for asked in hand_over_meanwhile(cell, 3, instances_max=100):
        asked.result()
    assert [len(message) for message in cell.messages] == [1, 3]
    assert cell.contexts[0].request_id == "req-0"
    assert cell.timeouts == [0.0, 3.0]


def test_a_message_is_no_longer_than_allowed() -> None:
    """The rest goes in the next one."""
    cell = CellConductor()
    hand_over_meanwhile(cell, 3, instances_max=2)
    assert [len(message) for message in cell.messages] == [1, 2, 1]


def test_all_of_a_message_that_was_not_answered_learn_of_it() -> None:
    """None of them knows whether it was taken; one that was answered before is not touched."""
    cell = CellConductor()
    cell.error = exception.RpcTimeout(method="build_instances", topic="cell", timeout_seconds=1)
    first, *others = hand_over_meanwhile(cell, 2, instances_max=100)
    assert first.exception() is None
    for other in others:
        with pytest.raises(exception.RpcTimeout):
            other.result()


def test_cells_do_not_wait_for_each_other() -> None:
    """A message to one is under way, the other is told immediately."""
    slow, quick = CellConductor(), CellConductor()
    quick.began.set()
    batcher = HandoverBatcher(instances_max=100)

    def hand_over(cell_uuid: str, cell: CellConductor) -> None:
        batcher.build_instances(
            admin_context(), cell_uuid, cell, [a_build_request("a")],  # type: ignore[arg-type]  # as far as asked
            timeout_seconds=1.0,
        )  # fmt: skip

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(hand_over, CELL, slow)
        assert slow.began.wait(SECONDS_MAX)
        hand_over(OTHER_CELL, quick)
        slow.go_on.set()
        waiting.result()
    assert [len(quick.messages), len(slow.messages)] == [1, 1]
