"""Audit: which consumers in placement say they are servers, or moves of servers, and are none.

``armillary-manage placement audit`` runs it for an operator, the super conductor by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from armillary.context import RequestContext
from objects.allocation import FENCE_FINAL
from placement.rpcapi import PlacementAPI

PAGE_SIZE = 500
SERVER = "INSTANCE"
MOVE = "MIGRATION"
"""The types of consumers that are servers, and their moves; others are somebody else's."""

Find = Callable[[RequestContext, Mapping[str, list[str]]], dict[str, Any]]
"""Given consumers and their providers tell what ``SuperConductorAPI.find_orphans`` does."""
Show = Callable[[int, Mapping[str, int]], None]


@dataclass(frozen=True)
class AuditOptions:
    """What to look at, and whether to release. ``provider`` None: all providers of ours."""

    delete: bool
    provider: str | None
    min_age: timedelta


@dataclass(frozen=True)
class Consumer:
    """A consumer, and the allocations of it, one a provider."""

    uuid: str
    items: list[dict[str, Any]]

    @property
    def providers(self) -> list[str]:
        """The UUIDs of the providers that it holds something of."""
        return [item["provider_uuid"] for item in self.items]

    @property
    def type(self) -> str:
        """What it says that it is."""
        return str(self.items[0]["consumer_type"])

    def is_younger(self, moment: datetime) -> bool:
        """Tell whether it changed after a moment, or when is not known."""
        updated_at = self.items[0].get("updated_at")
        return updated_at is None or datetime.fromisoformat(updated_at) > moment

    def __str__(self) -> str:
        item = self.items[0]
        held = "; ".join(
            ", ".join(f"{name}={amount}" for name, amount in sorted(one["resources"].items()))
            + f" on {one['provider_name']}"
            for one in self.items
        )
        return f"{self.uuid} (project {item['project_id']}, user {item['user_id']}): {held}"


@dataclass
class AuditResult:
    """What was found; numbers of consumers."""

    looked_at: int = 0
    orphans: int = 0
    released: int = 0
    foreign: int = 0
    unsure: int = 0
    young: int = 0
    other_types: int = 0
    down_cells: set[str] = field(default_factory=set)


class Audit:
    """Goes through all consumers page by page. ``say`` gets a line for each orphan.

    ``find`` has, for each type of consumers that are looked at, what tells which are orphans.
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
        """Return what was found."""
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
        """Yield those that have to be somebody's server, or a move of one."""
        oldest = self._now() - self._options.min_age
        for consumer in page:
            if self._options.provider not in (None, *consumer.providers):
                continue
            if consumer.type not in self._find:
                self._result.other_types += 1
                self._tell(f"{consumer}: not looked at, it is of type {consumer.type}")
            elif consumer.is_younger(oldest):
                self._result.young += 1
                self._tell(f"{consumer}: not looked at, it changed just now")
            else:
                yield consumer

    def _look_at(self, candidates: list[Consumer], find: Find) -> None:
        if not candidates:
            return
        found = find(self._context, {one.uuid: one.providers for one in candidates})
        self._result.down_cells.update(found["down_cells"])
        self._result.unsure += len(found["unsure"])
        orphans = set(found["orphans"])
        if self._options.provider is not None:  # by name it is the operator who says whose it is
            orphans.update(found["foreign"])
        else:
            self._result.foreign += len(found["foreign"])
        foreign, unsure = set(found["foreign"]) - orphans, set(found["unsure"])
        for consumer in candidates:
            if consumer.uuid in foreign:
                self._tell(f"{consumer}: none of ours, on no host of ours")
            if consumer.uuid in unsure:
                self._tell(f"{consumer}: may be in a cell that does not answer")
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


def _by_consumer(items: Iterable[dict[str, Any]]) -> Iterator[Consumer]:
    """Yield the consumers of a page, which has all items of one beside each other."""
    grouped: dict[str, list[dict[str, Any]]] = {}
    for item in items:
        grouped.setdefault(item["consumer_uuid"], []).append(item)
    for uuid, own in grouped.items():
        yield Consumer(uuid, own)
