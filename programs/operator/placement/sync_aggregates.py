"""``armillary-manage placement sync-aggregates``: compare and repair placement's aggregates."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from armillary import exception
from objects.aggregate import Aggregate
from objects.repair_answers import AggregateSyncResult
from programs.display.progress import Show, counted
from programs.operator.placement.placement_command import PlacementCommand
from programs.operator.service_clients import Peers

_VERBS = {"read": "read", "write": "written"}


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


class PlacementSyncAggregates(PlacementCommand):
    """Make placement's aggregates contain exactly the compute nodes of the hosts in each aggregate.

    The super conductor also does this periodically; the command does it immediately and shows the
    differences. Exit codes: 0 success; 2 placement could not be read; 3 placement could not be
    written; 4 hosts are mapped to no cell; 5 hosts have no compute nodes; 6 placement does not know
    compute nodes; 255 failed.
    """

    exit_unexpected = 255

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only show what would be done")

    def work(self, parsed_args: Namespace, found: Peers) -> int:
        self._would = "would be " if parsed_args.dry_run else ""
        self._result = result = SyncResult()
        aggregates = found.conductor.list_aggregates(found.context)
        with self.progress("aggregates", len(aggregates)) as show:
            self._sync(found, aggregates, is_dry_run=parsed_args.dry_run, show=show)
        checked = counted(result.looked_at, "aggregate")
        self.say(f"{checked} checked: {result.changed} {self._would}changed")
        return sync_code(result)

    def _sync(
        self, found: Peers, aggregates: Sequence[Aggregate], *, is_dry_run: bool, show: Show
    ) -> None:
        for aggregate in aggregates:
            try:
                answer = found.conductor.sync_aggregate(
                    found.context, aggregate.uuid, dry_run=is_dry_run
                )
            except exception.AggregateNotFound:  # deleted since they were listed
                continue
            self._note(answer)
            show(self._result.looked_at, {"changed": self._result.changed})

    def _note(self, answer: AggregateSyncResult) -> None:
        result, name = self._result, answer.name
        result.looked_at += 1
        result.unmapped_hosts += len(answer.unmapped_hosts)
        result.hosts_without_nodes += len(answer.hosts_without_nodes)
        result.unknown_providers += len(answer.unknown_providers)
        for host in answer.unmapped_hosts:
            self.say(f"{name}: host {host} is mapped to no cell")
        for host in answer.hosts_without_nodes:
            self.say(f"{name}: host {host} has no compute nodes")
        for provider in answer.unknown_providers:
            self.say(f"{name}: placement has no resource provider {provider}")
        if answer.error is not None:
            result.unread += answer.failed == "read"
            result.unwritten += answer.failed == "write"
            self.say(f"{name}: placement cannot be {_VERBS[str(answer.failed)]}: {answer.error}")
            return
        self._result.changed += bool(answer.added or answer.removed)
        for provider in answer.added:
            self.say(f"{name}: {provider} {self._would}added")
        for provider in answer.removed:
            self.say(f"{name}: {provider} {self._would}removed")


def sync_code(result: SyncResult) -> int:
    by_code: Mapping[int, int] = {
        2: result.unread,
        3: result.unwritten,
        4: result.unmapped_hosts,
        5: result.hosts_without_nodes,
        6: result.unknown_providers,
    }
    return next((code for code, count in by_code.items() if count), 0)
