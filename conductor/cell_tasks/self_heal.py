"""Self-healing: placement's allocations on this cell's hosts, held against the cell's records.

An agent sees no placement, so its conductor looks for it. What is certain to be a leftover is
released; the rest is kept, and said once:

====================================================== ==========
the consumer                                           is
====================================================== ==========
is tracked on this host (an instance, or a migration)  kept
is not in the cell's database                          kept, logged
is an instance that was deleted                        released, if its generation is what we saw
is an instance without a host yet                      kept
is a copy of an instance in another cell               kept
is an instance on another host                         kept, with a warning
====================================================== ==========
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.db import Database
from armillary.log_once import OutageLog
from conductor.cell_db import compute_nodes, instances, migrations, models
from placement.rpcapi import PlacementAPI

LOG = logging.getLogger(__name__)

PROVIDERS_MAX = 500
"""So many providers are asked about in one call, unless a host alone has more."""
RELEASES_MAX = 500
SAID_MAX = 10_000
"""So many consumers are remembered as said; then they are said again."""

_OUTCOME_UNKNOWN = (exception.Unavailable, exception.RpcFailed)


class Verdict(enum.StrEnum):
    """What a consumer is, and so what becomes of its allocation; the values label a metric."""

    TRACKED = "tracked"
    UNKNOWN = "unknown"
    DELETED = "deleted"
    UNPLACED = "unplaced"
    ELSEWHERE = "elsewhere"


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """What one consumer holds on one host."""

    consumer: str
    host: str
    generation: int


@dataclasses.dataclass(frozen=True, slots=True)
class Records:
    """What the cell knows of consumers, by UUID: instances (deleted ones, too) and migrations."""

    instances: Mapping[str, models.Instance]
    migrations: Mapping[str, models.Migration]


def judge(held: Held, records: Records) -> Verdict:
    """Return what a consumer is, by the table above."""
    migration = records.migrations.get(held.consumer)
    if migration is not None:
        hosts = (migration.source_host, migration.dest_host)
        return Verdict.TRACKED if held.host in hosts else Verdict.ELSEWHERE
    instance = records.instances.get(held.consumer)
    if instance is None:
        return Verdict.UNKNOWN
    if instance.deleted_at is not None and not instance.hidden:
        return Verdict.DELETED
    if instance.host is None:
        return Verdict.UNPLACED
    return Verdict.TRACKED if instance.host == held.host else Verdict.ELSEWHERE


class SelfHeal:
    """Goes round the cell's hosts, some of them each time, from where it stopped.

    Any number of conductors may do so: they look, and what they release they release once.
    ``count`` is told of each look how many allocations were which verdict, and how many of them
    were released.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        database: Database,
        placement: PlacementAPI,
        count: Callable[[Mapping[str, int]], None] = lambda counts: None,
    ) -> None:
        self._conf = conf
        self._database = database
        self._placement = placement
        self._count = count
        self._outage = OutageLog(LOG, "Placement (self-healing)")
        self._after_uuid: str | None = None
        self._said: dict[str, str] = {}

    def heal(self) -> int:
        """Look at the next hosts; return how many consumers were released."""
        with self._database.reader() as session:
            nodes = compute_nodes.list_after(
                session, self._after_uuid, limit=self._conf.cell.self_heal_hosts_max
            )
        context = admin_context()
        released = 0
        for part in _parts(nodes):
            try:
                released += self._heal_part(context, part)
            except (*_OUTCOME_UNKNOWN, exception.RpcVersionTooOld) as error:
                self._outage.failed(error)
                return released  # the next look begins with this part
            self._outage.succeeded()
            self._after_uuid = part[-1].uuid
        if len(nodes) < self._conf.cell.self_heal_hosts_max:
            self._after_uuid = None
        return released

    def _heal_part(self, context: RequestContext, nodes: Sequence[models.ComputeNode]) -> int:
        hosts = {provider: node.host for node in nodes for provider in _providers_of(node)}
        found = self._placement.get_provider_allocations(context, sorted(hosts))
        held = {
            Held(consumer, hosts[provider], facts["generation"])
            for provider, consumers in found.items()
            for consumer, facts in consumers.items()
            if provider in hosts
        }
        records = self._records({one.consumer for one in held})
        verdicts = {one: judge(one, records) for one in held}
        for one, verdict in verdicts.items():
            self._say(one, verdict, records)
        released = self._release(context, [one for one in held if verdicts[one] == Verdict.DELETED])
        counts = collections.Counter(verdict.value for verdict in verdicts.values())
        self._count({**counts, "released": len(released)})
        return len(released)

    def _records(self, consumers: Collection[str]) -> Records:
        """Look after placement was asked: who is deleted now was deleted or alive then."""
        with self._database.reader() as session:
            return Records(
                instances.find_rows(session, consumers), migrations.find_all(session, consumers)
            )

    def _release(self, context: RequestContext, leftovers: Sequence[Held]) -> list[str]:
        released: list[str] = []
        for first in range(0, len(leftovers), RELEASES_MAX):
            part = leftovers[first : first + RELEASES_MAX]
            hosts = {one.consumer: one.host for one in part}
            ours = self._only_here(context, hosts)
            generations = {one.consumer: one.generation for one in part if one.consumer in ours}
            for consumer in self._placement.release_unchanged(context, generations):
                LOG.warning(
                    "%s: it was deleted and still held resources of host %s; released",
                    consumer, hosts[consumer],
                )  # fmt: skip
                released.append(consumer)
        return released

    def _only_here(self, context: RequestContext, hosts: Mapping[str, str]) -> set[str]:
        """Return those that hold nothing outside this cell: who moved to another lives there.

        Parts of a host count as here when something of the host itself is held, too.
        """
        found = self._placement.get_allocations(context, sorted(hosts))
        named = {provider for providers in found.values() for provider in providers}
        with self._database.reader() as session:
            nodes = compute_nodes.find_known(session, named, [])
        here = {provider for node in nodes for provider in _providers_of(node)}
        ours = {consumer for consumer, providers in found.items() if providers.keys() <= here}
        for consumer in sorted(found.keys() - ours):
            self._say_once(
                consumer,
                logging.WARNING,
                f"{consumer}: it was deleted here and holds resources of host {hosts[consumer]}, "
                "and of providers outside this cell; kept",
            )
        return ours

    def _say(self, held: Held, verdict: Verdict, records: Records) -> None:
        if verdict is Verdict.UNKNOWN:
            self._say_once(
                held.consumer,
                logging.INFO,
                f"{held.consumer}: it holds resources of host {held.host} and is not of this "
                "cell; kept, it may be another service's, or on its way",
            )
        elif verdict is Verdict.ELSEWHERE and not _is_on_the_move(held, records):
            self._say_once(
                held.consumer,
                logging.WARNING,
                f"{held.consumer}: it holds resources of host {held.host} and is not there; kept",
            )

    def _say_once(self, consumer: str, level: int, sentence: str) -> None:
        if self._said.get(consumer) == sentence:
            return
        if len(self._said) >= SAID_MAX:
            self._said.clear()
        self._said[consumer] = sentence
        LOG.log(level, "%s", sentence)


def _is_on_the_move(held: Held, records: Records) -> bool:
    instance = records.instances.get(held.consumer)
    return instance is not None and instance.task_state is not None


def _providers_of(node: models.ComputeNode) -> list[str]:
    """Return the UUIDs of all that placement may have from a node."""
    children: Sequence[Mapping[str, Any]] = node.child_providers or ()
    return sorted({node.uuid, *(node.told or ()), *(child["uuid"] for child in children)})


def _parts(nodes: Sequence[models.ComputeNode]) -> Iterator[list[models.ComputeNode]]:
    part: list[models.ComputeNode] = []
    size = 0
    for node in nodes:
        count = len(_providers_of(node))
        if part and size + count > PROVIDERS_MAX:
            yield part
            part, size = [], 0
        part.append(node)
        size += count
    if part:
        yield part
