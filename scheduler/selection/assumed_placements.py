"""Assumed placements: selections of this process that are not claimed yet."""

import dataclasses
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping

from objects.allocations.allocation_candidates import AllocationRequest

Amounts = Mapping[str, int]


@dataclasses.dataclass(eq=False, slots=True)
class AssumedPlacement:
    """An instance, its selected host, and the allocation request to be claimed.

    ``since`` and ``until`` are event numbers; ``until`` is None until the selection is settled.
    """

    instance_uuid: str
    node_uuid: str
    request: AllocationRequest
    since: int = 0
    until: int | None = None

    @property
    def amounts(self) -> Amounts:
        """Amounts used of the host's own provider."""
        return self.request.get(self.node_uuid, {}).get("resources", {})


@dataclasses.dataclass(eq=False, slots=True)
class AssumedPlacementsView:
    """One decision's position in the sequence of events."""

    start: int


class AssumedPlacements:
    """Selections with pending claims. Thread-safe.

    A selection is settled when its claim was answered, whatever the result. A decision that queried
    placement before that may miss it in the response, so it still counts the selection. At worst, a
    host looks fuller than it is for a moment.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0
        self._latest: dict[str, AssumedPlacement] = {}  # the latest by instance
        self._settled: list[AssumedPlacement] = []
        self._views: set[AssumedPlacementsView] = set()

    def begin(self) -> AssumedPlacementsView:
        """Start to keep settled selections for a new decision."""
        with self._changed:
            view = AssumedPlacementsView(self._count)
            self._views.add(view)
            return view

    def end(self, view: AssumedPlacementsView) -> None:
        """Drop selections that were kept only for this decision."""
        with self._changed:
            self._views.discard(view)
            first = min((each.start for each in self._views), default=self._count)
            self._settled = [each for each in self._settled if (each.until or 0) > first]

    def add(self, placements: Iterable[AssumedPlacement]) -> None:
        """Add selections; an earlier one of the same instance is settled."""
        with self._changed:
            for placement in placements:
                self._settle(placement.instance_uuid)
                self._count += 1
                placement.since = self._count
                self._latest[placement.instance_uuid] = placement

    def settle(self, instance_uuids: Iterable[str]) -> None:
        """Record that claims for these instances were answered, or will not be made."""
        with self._changed:
            for uuid in instance_uuids:
                self._settle(uuid)
            self._changed.notify_all()

    def news(self, view: AssumedPlacementsView) -> list[AssumedPlacement]:
        """Return selections new to a decision that placement's response may not include."""
        with self._changed:
            known = view.start
            view.start = self._count
            live = [each for each in self._latest.values() if each.since > known]
            return [*live, *(each for each in self._settled if each.since > known)]

    def amounts_for(self, view: AssumedPlacementsView) -> dict[str, dict[str, int]]:
        """Return node -> class -> amount of what placement's response may not include."""
        with self._changed:
            settled = [each for each in self._settled if (each.until or 0) > view.start]
            view.start = self._count
            placements = [*self._latest.values(), *settled]
        found: dict[str, dict[str, int]] = defaultdict(dict)
        for placement in placements:
            of_node = found[placement.node_uuid]
            for name, amount in placement.amounts.items():
                of_node[name] = of_node.get(name, 0) + amount
        return found

    def wait_until_settled(self, seconds: float) -> None:
        """Wait until all currently unclaimed selections are settled, at most ``seconds``."""
        until = time.monotonic() + seconds
        with self._changed:
            present = list(self._latest.values())
            while any(each.until is None for each in present):
                if not self._changed.wait(until - time.monotonic()):
                    return

    def _settle(self, instance_uuid: str) -> None:
        placement = self._latest.pop(instance_uuid, None)
        if placement is not None:
            self._count += 1
            placement.until = self._count
            if self._views:
                self._settled.append(placement)
