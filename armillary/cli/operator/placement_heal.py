"""Heal: servers on a host that hold less than their flavor says get what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from armillary import exception
from armillary.cli.operator.peers import Peers
from objects.allocation import AllocationClaim, ClaimStatus, fence_at_rest
from objects.claim_batch import AnyResult
from objects.instance import Instance
from objects.request_spec import RequestSpec
from objects.resource_query import ResourceQuery
from scheduler import resource_query

PAGE_SIZE = 200

Allocations = dict[str, dict[str, dict[str, int]]]
"""Provider UUID -> "resources" -> class -> amount."""
Show = Callable[[int, Mapping[str, int]], None]


@dataclass(frozen=True)
class HealOptions:
    """Which server (None: all), how many are healed at most (None: all), or only looked at."""

    instance: str | None
    max_count: int | None
    dry_run: bool


@dataclass
class HealResult:
    """What was done; numbers of servers."""

    looked_at: int = 0
    healed: int = 0
    refused: int = 0
    without_node: int = 0
    is_cut_short: bool = False
    down_cells: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class _Wound:
    """A server, and what it should hold; it holds something else, or nothing."""

    instance: Instance
    missing: dict[str, int]
    allocations: Allocations
    holds_something: bool

    def __str__(self) -> str:
        amounts = ", ".join(f"{name}={amount}" for name, amount in sorted(self.missing.items()))
        return f"{self.instance.uuid} on {self.instance.host}: {amounts}"


class Heal:
    """Goes through all servers page by page. ``say`` gets a line for each that is healed or not."""

    def __init__(
        self,
        peers: Peers,
        options: HealOptions,
        *,
        say: Callable[[str], None],
        tell: Callable[[str], None],
        show: Show,
    ) -> None:
        self._peers = peers
        self._options = options
        self._say = say
        self._tell = tell
        self._show = show
        self._result = HealResult()

    def run(self) -> HealResult:
        """Return what was done. Raises InstanceNotFound for a server that was named."""
        self._nodes = self._list_nodes()
        for page in self._pages():
            self._result.looked_at += len(page)
            wounds = self._wounds([one for one in page if self._is_settled(one)])
            self._heal(self._within_count(wounds))
            self._show(self._result.looked_at, {"healed": self._result.healed})
            if self._result.is_cut_short:
                break
        return self._result

    def _list_nodes(self) -> dict[tuple[str, str], str]:
        found = self._peers.conductor.list_compute_nodes(self._peers.context)
        self._result.down_cells.update(found["down_cells"])
        return {(node.host, node.node): node.uuid for node in found["nodes"]}

    def _pages(self) -> Iterator[list[Instance]]:
        if self._options.instance is not None:
            yield [self._peers.conductor.get_server(self._peers.context, self._options.instance)]
            return
        page = self._page(None)
        while page:
            yield page
            page = self._page_after([one.uuid for one in page])

    def _page_after(self, seen: Sequence[str]) -> list[Instance]:
        """Return the page after the last of these that still is a server and can be asked for."""
        for marker in reversed(seen[1:]):
            try:
                return self._page(marker)
            except (exception.Invalid, exception.CellUnavailable):
                continue
        return self._page(seen[0])

    def _page(self, marker: str | None) -> list[Instance]:
        found = self._peers.conductor.list_servers(
            self._peers.context, filters={"all_projects": True}, limit=PAGE_SIZE, marker=marker
        )
        self._result.down_cells.update(found["down_cells"])
        return list(found["instances"])

    def _is_settled(self, instance: Instance) -> bool:
        """Tell whether a server is on a host and nobody is at work on it."""
        if instance.host is None or instance.vm_state == "building":
            self._tell(f"{instance.uuid}: not looked at, it is on no host")
            return False
        if instance.task_state is not None:
            self._tell(f"{instance.uuid}: not looked at, it is {instance.task_state}")
            return False
        return True

    def _wounds(self, instances: Sequence[Instance]) -> Iterator[_Wound]:
        if not instances:
            return
        held = self._peers.placement.get_allocations(
            self._peers.context, [one.uuid for one in instances]
        )
        for instance in instances:
            holding = held.get(instance.uuid, {})
            ways = ways_to_hold(instance)
            if not ways:
                self._tell(f"{instance.uuid}: not looked at, its flavor and image ask for what "
                           "cannot be")  # fmt: skip
                continue
            missing, *others = (_missing(wanted, holding) for wanted in ways)
            if not all((missing, *others)):
                continue
            node = self._nodes.get((str(instance.host), str(instance.node)))
            if node is None:
                self._result.without_node += 1
                self._say(f"{instance.uuid} on {instance.host}: there is no compute node "
                          f"{instance.node}, not healed")  # fmt: skip
                continue
            yield _Wound(instance, missing, _with(holding, node, missing), bool(holding))

    def _within_count(self, wounds: Iterator[_Wound]) -> list[_Wound]:
        """Return as many as may be healed yet, and note if there are more."""
        kept: list[_Wound] = []
        for wound in wounds:
            count = self._result.healed + self._result.refused + len(kept)
            if self._options.max_count is not None and count >= self._options.max_count:
                self._result.is_cut_short = True
                break
            kept.append(wound)
        return kept

    def _heal(self, wounds: Sequence[_Wound]) -> None:
        if not wounds:
            return
        if self._options.dry_run:
            for wound in wounds:
                self._result.healed += 1
                self._say(f"{wound}: would be healed")
            return
        claims = [_claim(wound) for wound in wounds]
        results = self._peers.placement.claim(self._peers.context, claims)
        for wound, result in zip(wounds, results, strict=True):
            self._note(wound, result)

    def _note(self, wound: _Wound, result: AnyResult) -> None:
        if result.is_claimed:
            self._result.healed += 1
            self._say(f"{wound}: healed")
        elif result.status in (ClaimStatus.CONFLICT, ClaimStatus.FENCED):
            self._tell(f"{wound}: not healed, it changed meanwhile: {result.reason}")
        else:
            self._result.refused += 1
            self._say(f"{wound}: not healed: {result.reason}")


def ways_to_hold(instance: Instance) -> list[dict[str, int]]:
    """Return what a server may hold, as the scheduler asks for it: pinned CPUs in two ways.

    The first is what one without anything is healed with. Nothing for one that could not be asked
    for any more.
    """
    spec = RequestSpec.from_values(
        project_id="", user_id="", flavor=instance.flavor, image=instance.image
    )
    try:
        queries = resource_query.build_both(spec, limit=0)
    except exception.RequestFilterFailed:
        return []
    return [_amounts(query) for query in queries if query is not None]


def _amounts(query: ResourceQuery) -> dict[str, int]:
    amounts: Counter[str] = Counter()
    for group in query.groups:
        amounts.update(group.resources)
    return dict(amounts)


def _missing(wanted: Mapping[str, int], held: Allocations) -> dict[str, int]:
    """Return what is held too little of, on whichever providers."""
    lacking = {
        name: amount - sum(item["resources"].get(name, 0) for item in held.values())
        for name, amount in wanted.items()
    }
    return {name: amount for name, amount in lacking.items() if amount > 0}


def _with(held: Allocations, node: str, missing: Mapping[str, int]) -> Allocations:
    """Return what is held, and what is missing on top of it, taken of the node."""
    present = held.get(node, {}).get("resources", {})
    raised = {name: present.get(name, 0) + amount for name, amount in missing.items()}
    return {**held, node: {"resources": {**present, **raised}}}


def _claim(wound: _Wound) -> AllocationClaim:
    return AllocationClaim.from_values(
        consumer_uuid=wound.instance.uuid,
        project_id=wound.instance.project_id,
        user_id=wound.instance.user_id,
        allocations=wound.allocations,
        fence=fence_at_rest(wound.instance.operations_total),
        replace=wound.holds_something,
    )
