"""Answers of the super conductor to operators who compare its records with placement."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OrphanSearch:
    """Which consumers are orphans.

    ``orphans`` are UUIDs that no build request and no cell knows. ``foreign`` are such consumers
    without allocations on a host of ours, which are not among the orphans. ``unsure`` may be in a
    cell that did not answer; ``down_cells`` has the names of those.
    """

    orphans: list[str]
    foreign: list[str]
    unsure: list[str]
    down_cells: list[str]


@dataclass(frozen=True, slots=True)
class AggregateSyncResult:
    """How an aggregate's members in placement were changed, by UUIDs of providers.

    ``unmapped_hosts`` and ``hosts_without_nodes`` are names; ``unknown_providers`` are nodes
    unknown to placement. ``failed`` is the step with an error: "read" or "write".
    """

    name: str
    unmapped_hosts: list[str]
    hosts_without_nodes: list[str]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unknown_providers: tuple[str, ...] = ()
    error: str | None = None
    failed: str | None = None
