"""Audit of placement: consumers of our types (servers, moves, claims) that no longer exist.

``armillary-manage placement audit`` runs it for an operator; the super conductor runs it
periodically.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from armillary.context import RequestContext
from objects.allocations.allocation import ProviderAllocation
from objects.allocations.fence import FENCE_FINAL
from objects.repair_answers import OrphanSearch
from placement.interface import PlacementAPI

PAGE_SIZE = 500
SERVER = "INSTANCE"
MOVE = "MIGRATION"
CLAIM = "CLAIM"
"""Consumer types of servers, their migrations, and claims; consumers of other types belong to other
services."""

Find = Callable[[RequestContext, Mapping[str, list[str]]], OrphanSearch]
"""Given consumers and their providers, returns what ``SuperConductorAPI.find_orphans`` does."""
Show = Callable[[int, Mapping[str, int]], None]


@dataclass(frozen=True)
class AuditOptions:
    """Which consumers to check, and whether to release orphans.

    ``provider`` None: all our providers.
    """

    delete: bool
    provider: str | None
    min_age: timedelta


@dataclass(frozen=True)
class Consumer:
    """A consumer with its allocations, one for each provider."""

    uuid: str
    items: list[ProviderAllocation]

    @property
    def providers(self) -> list[str]:
        """UUIDs of the providers that it has allocations on."""
        return [item.provider_uuid for item in self.items]

    @property
    def type(self) -> str:
        """Consumer type."""
        return self.items[0].consumer_type

    def is_younger(self, moment: datetime) -> bool:
        """Return whether it changed after a moment."""
        return datetime.fromisoformat(self.items[0].updated_at) > moment

    def __str__(self) -> str:
        item = self.items[0]
        held = "; ".join(
            ", ".join(f"{name}={amount}" for name, amount in sorted(one.resources.items()))
            + f" on {one.provider_name}"
            for one in self.items
        )
        return f"{self.uuid} (project {item.project_id}, user {item.user_id}): {held}"


@dataclass
class AuditResult:
    """Result of an audit, in numbers of consumers."""

    looked_at: int = 0
    orphans: int = 0
    released: int = 0
    foreign: int = 0
    unsure: int = 0
    young: int = 0
    other_types: int = 0
    down_cells: set[str] = field(default_factory=set)


class Audit:
    """Checks all consumers page by page. ``say`` gets a line for each orphan.

    ``find`` has a function for each consumer type to check, which finds the orphans. ``tell`` gets
    a line for each consumer that was skipped, ``show`` the progress.
    """

    def __init__(
        self,
        context: RequestContext,
        placement: PlacementAPI,
        find: Mapping[str, Find],
        options: AuditOptions,
        *,
        now: Callable[[], datetime],
        say: Callable[[str], None],
        tell: Callable[[str], None],
        show: Show,
    ) -> None:
        self._context = context
        self._placement = placement
        self._find = find
        self._options = options
        self._now = now
        self._say = say
        self._tell = tell
        self._show = show
        self._result = AuditResult()

    def run(self) -> AuditResult:
        """Run the audit."""
        for page in self._pages():
            self._result.looked_at += len(page)
            candidates = list(self._candidates(page))
            for kind, find in self._find.items():
                self._look_at([one for one in candidates if one.type == kind], find)
            self._show(self._result.looked_at, {"orphaned": self._result.orphans})
        return self._result

    def _pages(self) -> Iterator[list[Consumer]]:
        marker: str | None = None
        while True:
            items = self._placement.list_allocations(self._context, marker=marker, limit=PAGE_SIZE)
            page = list(_by_consumer(items))
            if not page:
                return
            marker = page[-1].uuid
            yield page

    def _candidates(self, page: Iterable[Consumer]) -> Iterator[Consumer]:
        """Yield the consumers that must belong to a server, a migration or a claim."""
        oldest = self._now() - self._options.min_age
        for consumer in page:
            if self._options.provider not in (None, *consumer.providers):
                continue
            if consumer.type not in self._find:
                self._result.other_types += 1
                self._tell(f"{consumer}: skipped, its type is {consumer.type}")
            elif consumer.is_younger(oldest):
                self._result.young += 1
                self._tell(f"{consumer}: skipped, it changed recently")
            else:
                yield consumer

    def _look_at(self, candidates: list[Consumer], find: Find) -> None:
        if not candidates:
            return
        found = find(self._context, {one.uuid: one.providers for one in candidates})
        self._result.down_cells.update(found.down_cells)
        self._result.unsure += len(found.unsure)
        orphans = set(found.orphans)
        if self._options.provider is not None:  # the operator says that it is ours
            orphans.update(found.foreign)
        else:
            self._result.foreign += len(found.foreign)
        foreign, unsure = set(found.foreign) - orphans, set(found.unsure)
        for consumer in candidates:
            if consumer.uuid in foreign:
                self._tell(f"{consumer}: not ours, it holds nothing of our hosts")
            if consumer.uuid in unsure:
                self._tell(f"{consumer}: not checked, it may be in a cell that does not answer")
        self._handle([one for one in candidates if one.uuid in orphans])

    def _handle(self, orphans: list[Consumer]) -> None:
        self._result.orphans += len(orphans)
        if self._options.delete and orphans:
            self._placement.release(
                self._context, dict.fromkeys((one.uuid for one in orphans), FENCE_FINAL)
            )
            self._result.released += len(orphans)
        for consumer in orphans:
            self._say(f"{consumer}: {'released' if self._options.delete else 'orphaned'}")


def _by_consumer(items: Iterable[ProviderAllocation]) -> Iterator[Consumer]:
    """Yield the consumers of a page, which lists the items of each consumer consecutively."""
    grouped: dict[str, list[ProviderAllocation]] = {}
    for item in items:
        grouped.setdefault(item.consumer_uuid, []).append(item)
    for uuid, own in grouped.items():
        yield Consumer(uuid, own)
