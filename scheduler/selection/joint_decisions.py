"""Grouping of concurrent decisions: requests with equal specs are decided together."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial

from armillary import exception
from armillary.concurrency import WorkerPool
from armillary.concurrency.group_commit import KeyedGroupCommit
from scheduler.request import equal_requests
from scheduler.selection.decision import Decision
from scheduler.selection.run_concurrently import run_concurrently

_INSTANCES_MAX = 1_000
"""Maximum number of instances in requests that are decided together."""

_BATCHES_MAX = 8
"""Maximum number of distinct requests of one message that are decided concurrently."""

_WAITING_MAX = 10_000


class JointDecisions:
    """Calls ``decide_equal`` with decisions whose requests have equal specs. Thread-safe.

    Requests of concurrent callers are joined, too. ``decide_equal`` sets ``error`` of decisions
    that fail and raises nothing.
    """

    def __init__(self, decide_equal: Callable[[Sequence[Decision]], None]) -> None:
        self._decide_equal = decide_equal
        self._workers = WorkerPool(_BATCHES_MAX, "decisions", queue_size_max=_WAITING_MAX)
        self._group_commit = KeyedGroupCommit[Sequence[Decision], None](
            self._decide_groups, weight_max=_INSTANCES_MAX, waiting_max=_WAITING_MAX
        )

    def decide(self, decisions: Sequence[Decision]) -> None:
        """Return when all are decided; dry runs are decided alone."""
        shared: dict[object, list[Decision]] = {}
        keys: dict[int, Hashable] = {}  # requests that arrive together mostly share one spec
        for decision in decisions:
            spec = id(decision.spec)
            if spec not in keys:
                keys[spec] = equal_requests.rough_key(decision.spec)
            key = id(decision) if decision.is_dry_run else keys[spec]
            shared.setdefault(key, []).append(decision)
        works = [partial(self._decide_shared, key, some) for key, some in shared.items()]
        run_concurrently(self._workers, works)

    def _decide_shared(self, key: object, decisions: Sequence[Decision]) -> None:
        weight = sum(len(each.slots) for each in decisions)
        try:
            self._group_commit.submit(key, decisions, weight)
        except exception.Unavailable as error:
            for each in decisions:
                each.error = error

    def _decide_groups(self, works: Sequence[Sequence[Decision]]) -> list[None]:
        decisions = [decision for work in works for decision in work]
        for alike in equal_requests.grouped(decisions, [each.spec for each in decisions]):
            for some in _apart(alike):
                self._decide_equal(some)
        return [None] * len(works)


def _apart(decisions: Sequence[Decision]) -> list[list[Decision]]:
    """Return lists in which no instance occurs twice.

    A batch has one slot per instance. A redelivered request needs a batch of its own: placement
    then shows whether both decisions agree.
    """
    lists: list[tuple[set[str], list[Decision]]] = []
    for decision in decisions:
        instances = set(decision.request.instance_uuids)
        for known, some in lists:
            if known.isdisjoint(instances):
                known |= instances
                some.append(decision)
                break
        else:
            lists.append((instances, [decision]))
    return [some for _, some in lists]
