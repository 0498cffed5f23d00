"""Synchronisation of placement's aggregates with the aggregates of hosts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from armillary import exception
from objects.aggregate import Aggregate
from programs.operator.service_clients import Peers

Show = Callable[[int, Mapping[str, int]], None]


@dataclass
class SyncResult:
    """Result: numbers of aggregates, and of hosts and nodes with problems."""

    looked_at: int = 0
    changed: int = 0
    unread: int = 0
    unwritten: int = 0
    unmapped_hosts: int = 0
    hosts_without_nodes: int = 0
    unknown_providers: int = 0


class Sync:
    """Synchronise aggregates one by one. ``say`` gets a line for each difference."""

    def __init__(
        self, peers: Peers, *, dry_run: bool, say: Callable[[str], None], show: Show
    ) -> None:
        self._peers = peers
        self._dry_run = dry_run
        self._say = say
        self._show = show
        self._result = SyncResult()

    def run(self, aggregates: list[Aggregate]) -> SyncResult:
        """Return the result of the synchronisation."""
        for aggregate in aggregates:
            try:
                answer = self._peers.conductor.sync_aggregate(
                    self._peers.context, aggregate.uuid, dry_run=self._dry_run
                )
            except exception.AggregateNotFound:  # deleted since they were listed
                continue
            self._note(answer)
            self._show(self._result.looked_at, {"changed": self._result.changed})
        return self._result

    def _note(self, answer: Mapping[str, Any]) -> None:
        result, name = self._result, answer["name"]
        result.looked_at += 1
        result.unmapped_hosts += len(answer["unmapped_hosts"])
        result.hosts_without_nodes += len(answer["hosts_without_nodes"])
        result.unknown_providers += len(answer["unknown_providers"])
        for host in answer["unmapped_hosts"]:
            self._say(f"{name}: host {host} is mapped to no cell")
        for host in answer["hosts_without_nodes"]:
            self._say(f"{name}: host {host} has no compute nodes")
        for provider in answer["unknown_providers"]:
            self._say(f"{name}: placement has no resource provider {provider}")
        if answer["error"] is not None:
            result.unread += answer["failed"] == "read"
            result.unwritten += answer["failed"] == "write"
            self._say(f"{name}: placement cannot be {_VERBS[answer['failed']]}: {answer['error']}")
            return
        self._note_change(name, answer["added"], answer["removed"])

    def _note_change(self, name: str, added: list[str], removed: list[str]) -> None:
        if not added and not removed:
            return
        self._result.changed += 1
        would = "would be " if self._dry_run else ""
        for provider in added:
            self._say(f"{name}: {provider} {would}added")
        for provider in removed:
            self._say(f"{name}: {provider} {would}removed")


_VERBS = {"read": "read", "write": "written"}
