"""What this process has chosen and not claimed yet: decisions of one moment see each other's."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping

from objects.allocation_candidates import AllocationRequest

Amounts = Mapping[str, int]


@dataclasses.dataclass(eq=False, slots=True)
class Choice:
    """An instance, the host that was chosen for it, and what it will claim there.

    ``since`` and ``until`` count what happened; until is None as long as it is not settled.
    """

    instance_uuid: str
    node_uuid: str
    request: AllocationRequest
    since: int = 0
    until: int | None = None

    @property
    def amounts(self) -> Amounts:
        """What it takes of its host itself."""
        return self.request.get(self.node_uuid, {}).get("resources", {})


@dataclasses.dataclass(eq=False, slots=True)
class Watch:
    """One decision's view: from when on it has to know of choices."""

    start: int


class Unclaimed:
    """The choices whose claims are under way. Thread-safe.

    A choice is settled when its claim was answered, however. A decision that asked placement before
    that may not have it in its answer, so it is shown the choice nevertheless: at worst a host
    looks fuller than it is for a moment.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0
        self._choices: dict[str, Choice] = {}  # by instance, the latest of each
        self._settled: list[Choice] = []
        self._watches: set[Watch] = set()

    def begin(self) -> Watch:
        """Keep what is settled from now on, for a decision that begins."""
        with self._changed:
            watch = Watch(self._count)
            self._watches.add(watch)
            return watch

    def end(self, watch: Watch) -> None:
        """Forget what was kept for a decision alone."""
        with self._changed:
            self._watches.discard(watch)
            first = min((each.start for each in self._watches), default=self._count)
            self._settled = [each for each in self._settled if (each.until or 0) > first]

    def add(self, choices: Iterable[Choice]) -> None:
        """Note choices; a former one of the same instance is settled."""
        with self._changed:
            for choice in choices:
                self._settle(choice.instance_uuid)
                self._count += 1
                choice.since = self._count
                self._choices[choice.instance_uuid] = choice

    def settle(self, instance_uuids: Iterable[str]) -> None:
        """Note that the claims of these were answered, or that there is none."""
        with self._changed:
            for uuid in instance_uuids:
                self._settle(uuid)
            self._changed.notify_all()

    def news(self, watch: Watch) -> list[Choice]:
        """Return what a decision has not been told of yet, and may not have from placement."""
        with self._changed:
            known = watch.start
            watch.start = self._count
            live = [each for each in self._choices.values() if each.since > known]
            return [*live, *(each for each in self._settled if each.since > known)]

    def all_for(self, watch: Watch) -> list[Choice]:
        """Return all that a decision may not have from placement."""
        with self._changed:
            settled = [each for each in self._settled if (each.until or 0) > watch.start]
            watch.start = self._count
            return [*self._choices.values(), *settled]

    def wait_until_settled(self, seconds: float) -> None:
        """Wait until all that is unclaimed now is settled, or so long."""
        until = time.monotonic() + seconds
        with self._changed:
            present = list(self._choices.values())
            while any(each.until is None for each in present):
                if not self._changed.wait(until - time.monotonic()):
                    return

    def _settle(self, instance_uuid: str) -> None:
        choice = self._choices.pop(instance_uuid, None)
        if choice is not None:
            self._count += 1
            choice.until = self._count
            if self._watches:
                self._settled.append(choice)


def amounts_by_node(choices: Iterable[Choice]) -> dict[str, dict[str, int]]:
    """Return host -> class -> amount."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for choice in choices:
        of_node = found[choice.node_uuid]
        for name, amount in choice.amounts.items():
            of_node[name] = of_node.get(name, 0) + amount
    return found
