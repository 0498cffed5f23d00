"""Heal: servers on a host that hold less than their flavor says get what is missing.

``armillary-manage placement heal-allocations`` runs it for an operator, the super conductor by
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from armillary.context import RequestContext
from objects.allocation import AllocationClaim, ClaimStatus, fence_at_rest
from objects.claim_batch import AnyResult
from objects.compute_node import ComputeNode
from objects.instance import Instance
from placement.rpcapi import PlacementAPI

Allocations = dict[str, dict[str, dict[str, int]]]
"""Provider UUID -> "resources" -> class -> amount."""
Amounts = dict[str, int]
Show = Callable[[int, Mapping[str, int]], None]


@dataclass(frozen=True)
class HealOptions:
    """How many servers are healed at most (None: all), or only looked at."""

    max_count: int | None = None
    dry_run: bool = False


@dataclass(frozen=True)
class HealSources:
    """Where servers and hosts are known.

    ``nodes`` answers ``nodes`` (ComputeNode) and ``down_cells``, ``pages`` a page of servers at a
    time: ``instances`` and ``down_cells``. ``ways_to_hold`` tells for each server the amounts that
    it may hold, in one way or another; the first is what one without anything is healed with, and
    none is said of a server that could not be asked for any more.
    """

    nodes: Callable[[], Mapping[str, Any]]
    pages: Callable[[], Iterable[Mapping[str, Any]]]
    ways_to_hold: Callable[[Sequence[Instance]], Sequence[Sequence[Amounts]]]


@dataclass
class HealResult:
    """What was done; numbers of servers.

    ``misplaced`` are those that lack what they hold of another host: they are left as they are.
    """

    looked_at: int = 0
    healed: int = 0
    refused: int = 0
    misplaced: int = 0
    without_node: int = 0
    is_cut_short: bool = False
    down_cells: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class _Wound:
    """A server, and what it should hold; it holds something else, or nothing."""

    instance: Instance
    missing: Amounts
    allocations: Allocations
    holds_something: bool

    def __str__(self) -> str:
        return f"{_at(self.instance)}: {_text(self.missing)}"


class Heal:
    """Goes through servers page by page. ``say`` gets a line for each that is healed or not."""

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
        """Return what was done. Raises what the sources do."""
        found = self._sources.nodes()
        self._result.down_cells.update(found["down_cells"])
        self._hosts = _Hosts.of(found["nodes"])
        for page in self._sources.pages():
            self._result.down_cells.update(page["down_cells"])
            instances = page["instances"]
            self._result.looked_at += len(instances)
            wounds = self._wounds([one for one in instances if self._is_settled(one)])
            self._heal(self._within_count(wounds))
            self._show(self._result.looked_at, {"healed": self._result.healed})
            if self._result.is_cut_short:
                break
        return self._result

    def _is_settled(self, instance: Instance) -> bool:
        """Tell whether a server is on a host of ours and nobody is at work on it."""
        if instance.zone is not None:
            self._tell(f"{instance.uuid}: not looked at, it is in zone {instance.zone}")
            return False
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
        held = self._placement.get_allocations(self._context, [one.uuid for one in instances])
        ways_of_all = self._sources.ways_to_hold(instances)
        for instance, ways in zip(instances, ways_of_all, strict=True):
            if not ways:
                self._tell(f"{instance.uuid}: not looked at, its flavor and image ask for what "
                           "cannot be")  # fmt: skip
                continue
            wound = self._wound(instance, ways, held.get(instance.uuid, {}))
            if wound is not None:
                yield wound

    def _wound(
        self, instance: Instance, ways: Sequence[Amounts], holding: Allocations
    ) -> _Wound | None:
        """Return what can be healed of a server; None when nothing is missing, or nothing can."""
        elsewhere = self._hosts.elsewhere(instance, holding)
        counted = {uuid: item for uuid, item in holding.items() if uuid not in elsewhere}
        missing, *others = (_missing(wanted, counted) for wanted in ways)
        if not all((missing, *others)):
            return None
        node = self._hosts.node_of(instance)
        if node is None:
            self._note_without_node(instance)
            return None
        if elsewhere:
            self._result.misplaced += 1
            hosts = ", ".join(sorted(set(elsewhere.values())))
            self._say(f"{_at(instance)}: it lacks {_text(missing)} there and holds resources of "
                      f"host {hosts}, not healed")  # fmt: skip
            return None
        return _Wound(instance, missing, _with(holding, node, missing), bool(holding))

    def _note_without_node(self, instance: Instance) -> None:
        if self._result.down_cells:
            self._tell(f"{_at(instance)}: not looked at, its node may be in a silent cell")
            return
        self._result.without_node += 1
        self._say(f"{_at(instance)}: there is no compute node {instance.node}, not healed")

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
        results = self._placement.claim(self._context, claims)
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


@dataclass(frozen=True)
class _Hosts:
    """Nodes by host and name, and the hosts of all providers that stand for them or their parts."""

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

    def elsewhere(self, instance: Instance, holding: Allocations) -> dict[str, str]:
        """Return those providers, with their hosts, that are of other hosts than the server's."""
        found = {uuid: self.hosts[uuid] for uuid in holding if uuid in self.hosts}
        return {uuid: host for uuid, host in found.items() if host != instance.host}


def _missing(wanted: Mapping[str, int], held: Allocations) -> Amounts:
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


def _at(instance: Instance) -> str:
    return f"{instance.uuid} on {instance.host}"


def _text(amounts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={amount}" for name, amount in sorted(amounts.items()))
