"""Healing of allocations: adds what servers on a host lack in placement according to their flavor.

``armillary-manage placement heal-allocations`` runs it for an operator; the super conductor runs it
periodically.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from armillary.context import RequestContext
from objects.allocations.allocation import AllocationClaim, ClaimResult, ClaimStatus
from objects.allocations.fence import Fence
from objects.hosts.compute_node import ComputeNode
from objects.hosts.host_answers import ComputeNodePage
from objects.instance import Instance
from objects.instances.server_answers import CellServerPage
from placement.interface import PlacementAPI

Allocations = dict[str, dict[str, dict[str, int]]]
"""Provider UUID -> "resources" -> class -> amount."""
Amounts = dict[str, int]
Show = Callable[[int, Mapping[str, int]], None]


@dataclass(frozen=True)
class HealOptions:
    """Maximum number of servers to heal (None: all), and whether to change nothing."""

    max_count: int | None = None
    dry_run: bool = False


@dataclass(frozen=True)
class HealSources:
    """Sources of servers and hosts.

    ``expected_allocations`` returns for each server the alternative amounts that it may hold. The
    first one is used to heal a server without allocations. A server whose flavor and image can no
    longer be requested has none.
    """

    nodes: Callable[[], ComputeNodePage]
    pages: Callable[[], Iterable[CellServerPage]]
    expected_allocations: Callable[[Sequence[Instance]], Sequence[Sequence[Amounts]]]


@dataclass
class HealResult:
    """Result of healing, in numbers of servers.

    ``misplaced`` servers hold on another host what they lack on their own: they are not changed.
    """

    looked_at: int = 0
    healed: int = 0
    refused: int = 0
    misplaced: int = 0
    without_node: int = 0
    is_cut_short: bool = False
    down_cells: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class _Shortfall:
    """A server with missing allocations, and the allocations that it should have."""

    instance: Instance
    missing: Amounts
    allocations: Allocations
    holds_something: bool

    def __str__(self) -> str:
        return f"{_at(self.instance)}: {_text(self.missing)}"


class Heal:
    """Heals servers page by page.

    ``say`` gets a line for each server that is healed or cannot be, ``tell`` for each that is
    skipped, ``show`` the progress.
    """

    def __init__(
        self,
        context: RequestContext,
        placement: PlacementAPI,
        sources: HealSources,
        options: HealOptions,
        *,
        say: Callable[[str], None],
        tell: Callable[[str], None],
        show: Show = lambda _count, _more: None,
    ) -> None:
        self._context = context
        self._placement = placement
        self._sources = sources
        self._options = options
        self._say = say
        self._tell = tell
        self._show = show
        self._result = HealResult()

    def run(self) -> HealResult:
        """Heal the servers. Raises what the sources raise."""
        found = self._sources.nodes()
        self._result.down_cells.update(found.down_cells)
        self._hosts = _Hosts.of(found.nodes)
        for page in self._sources.pages():
            self._result.down_cells.update(page.down_cells)
            instances = page.instances
            self._result.looked_at += len(instances)
            shortfalls = self._shortfalls([one for one in instances if self._is_settled(one)])
            self._heal(self._within_count(shortfalls))
            self._show(self._result.looked_at, {"healed": self._result.healed})
            if self._result.is_cut_short:
                break
        return self._result

    def _is_settled(self, instance: Instance) -> bool:
        """Return whether a server is on a host of ours and no operation on it is in progress."""
        if instance.zone is not None:
            self._tell(f"{instance.uuid}: skipped, it is in zone {instance.zone}")
            return False
        if instance.host is None or instance.vm_state == "building":
            self._tell(f"{instance.uuid}: skipped, it is on no host")
            return False
        if instance.task_state is not None:
            self._tell(f"{instance.uuid}: skipped, it is {instance.task_state}")
            return False
        return True

    def _shortfalls(self, instances: Sequence[Instance]) -> Iterator[_Shortfall]:
        if not instances:
            return
        held = self._placement.get_allocations(self._context, [one.uuid for one in instances])
        ways_of_all = self._sources.expected_allocations(instances)
        for instance, ways in zip(instances, ways_of_all, strict=True):
            if not ways:
                self._tell(f"{instance.uuid}: skipped, its flavor and image cannot be "
                           "requested any more")  # fmt: skip
                continue
            shortfall = self._shortfall(instance, ways, held.get(instance.uuid, {}))
            if shortfall is not None:
                yield shortfall

    def _shortfall(
        self, instance: Instance, ways: Sequence[Amounts], holding: Allocations
    ) -> _Shortfall | None:
        """Return how to heal a server; None when nothing is missing or it cannot be healed."""
        on_other_hosts = self._hosts.on_other_hosts(instance, holding)
        counted = {uuid: item for uuid, item in holding.items() if uuid not in on_other_hosts}
        missing, *others = (_missing(wanted, counted) for wanted in ways)
        if not all((missing, *others)):
            return None
        node = self._hosts.node_of(instance)
        if node is None:
            self._note_without_node(instance)
            return None
        if on_other_hosts:
            self._result.misplaced += 1
            hosts = ", ".join(sorted(set(on_other_hosts.values())))
            self._say(f"{_at(instance)}: not healed: it lacks {_text(missing)} and holds "
                      f"resources on host {hosts}")  # fmt: skip
            return None
        return _Shortfall(instance, missing, _with(holding, node, missing), bool(holding))

    def _note_without_node(self, instance: Instance) -> None:
        if self._result.down_cells:
            self._tell(f"{_at(instance)}: skipped, its node may be in a cell that does not answer")
            return
        self._result.without_node += 1
        self._say(f"{_at(instance)}: not healed: there is no compute node {instance.node}")

    def _within_count(self, shortfalls: Iterator[_Shortfall]) -> list[_Shortfall]:
        """Return as many as the limit allows, and note whether there are more."""
        kept: list[_Shortfall] = []
        for shortfall in shortfalls:
            count = self._result.healed + self._result.refused + len(kept)
            if self._options.max_count is not None and count >= self._options.max_count:
                self._result.is_cut_short = True
                break
            kept.append(shortfall)
        return kept

    def _heal(self, shortfalls: Sequence[_Shortfall]) -> None:
        if not shortfalls:
            return
        if self._options.dry_run:
            for shortfall in shortfalls:
                self._result.healed += 1
                self._say(f"{shortfall}: would be healed")
            return
        claims = [_claim(shortfall) for shortfall in shortfalls]
        results = self._placement.claim(self._context, claims)
        for shortfall, result in zip(shortfalls, results, strict=True):
            self._note(shortfall, result)

    def _note(self, shortfall: _Shortfall, result: ClaimResult) -> None:
        if result.is_claimed:
            self._result.healed += 1
            self._say(f"{shortfall}: healed")
        elif result.status in (ClaimStatus.CONFLICT, ClaimStatus.FENCED):
            self._tell(f"{shortfall}: skipped, it changed meanwhile: {result.reason}")
        else:
            self._result.refused += 1
            self._say(f"{shortfall}: not healed: {result.reason}")


@dataclass(frozen=True)
class _Hosts:
    """UUIDs of nodes by host and name, and hosts by UUID of their providers, children included."""

    nodes: Mapping[tuple[str, str], str]
    hosts: Mapping[str, str]

    @classmethod
    def of(cls, nodes: Iterable[ComputeNode]) -> _Hosts:
        known = list(nodes)
        hosts = {node.uuid: node.host for node in known}
        hosts |= {child["uuid"]: node.host for node in known for child in node.child_providers}
        return cls({(node.host, node.node): node.uuid for node in known}, hosts)

    def node_of(self, instance: Instance) -> str | None:
        return self.nodes.get((str(instance.host), str(instance.node)))

    def on_other_hosts(self, instance: Instance, holding: Allocations) -> dict[str, str]:
        """Return provider -> host for resources that the server holds on other hosts."""
        found = {uuid: self.hosts[uuid] for uuid in holding if uuid in self.hosts}
        return {uuid: host for uuid, host in found.items() if host != instance.host}


def _missing(wanted: Mapping[str, int], held: Allocations) -> Amounts:
    """Return the missing amounts, whichever providers the held ones are on."""
    lacking = {
        name: amount - sum(item["resources"].get(name, 0) for item in held.values())
        for name, amount in wanted.items()
    }
    return {name: amount for name, amount in lacking.items() if amount > 0}


def _with(held: Allocations, node: str, missing: Mapping[str, int]) -> Allocations:
    """Return the held allocations plus the missing amounts on the node."""
    present = held.get(node, {}).get("resources", {})
    raised = {name: present.get(name, 0) + amount for name, amount in missing.items()}
    return {**held, node: {"resources": {**present, **raised}}}


def _claim(shortfall: _Shortfall) -> AllocationClaim:
    return AllocationClaim(
        consumer_uuid=shortfall.instance.uuid,
        project_id=shortfall.instance.project_id,
        user_id=shortfall.instance.user_id,
        allocations=shortfall.allocations,
        fence=int(Fence.at_rest(shortfall.instance.operations_total)),
        replace=shortfall.holds_something,
    )


def _at(instance: Instance) -> str:
    return f"{instance.uuid} on {instance.host}"


def _text(amounts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={amount}" for name, amount in sorted(amounts.items()))
