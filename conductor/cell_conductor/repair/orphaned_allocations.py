"""Self-healing: compare placement's allocations on this cell's hosts with the cell's records.

Agents do not see placement, so the cell conductor does this for them. Allocations that are
certainly orphaned are released; the others are kept and logged once:

====================================================== ==========
the consumer                                           is
====================================================== ==========
is tracked on this host (an instance, or a migration)  kept
is not in the cell's database                          kept, logged
is an instance that was deleted                        released, if its generation is unchanged
                                                       and the super conductor deleted it, too
is an instance without a host yet                      kept
is a copy of an instance in another cell               kept
is an instance on another host                         kept, with a warning
====================================================== ==========
"""

import collections
import dataclasses
import enum
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.db import Database
from armillary.logs.outage_log import OutageLog
from conductor.cell_conductor.hosts.providers import children_of
from conductor.common.cell_db import compute_nodes, instances, migrations, models
from conductor.super_conductor.interface import SuperConductorAPI
from placement.interface import PlacementAPI

LOG = logging.getLogger(__name__)

PROVIDERS_MAX = 500
"""Maximum number of providers in one query, unless a single host has more."""
RELEASES_MAX = 500
LOGGED_MAX = 10_000
"""Maximum number of consumers remembered as logged; beyond that they are logged again."""

_OUTCOME_UNKNOWN = (exception.Unavailable, exception.RpcFailed)


class Verdict(enum.StrEnum):
    """Classification of a consumer, which decides about its allocation; values label a metric."""

    TRACKED = "tracked"
    UNKNOWN = "unknown"
    DELETED = "deleted"
    UNPLACED = "unplaced"
    ELSEWHERE = "elsewhere"


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """One consumer's allocation on one host."""

    consumer: str
    host: str
    generation: int


@dataclasses.dataclass(frozen=True, slots=True)
class Records:
    """The cell's records of consumers, by UUID: instances (deleted ones, too) and migrations."""

    instances: Mapping[str, models.Instance]
    migrations: Mapping[str, models.Migration]


def classify(held: Held, records: Records) -> Verdict:
    """Classify a consumer by the table above."""
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


class OrphanedAllocations:
    """Checks the cell's hosts round robin, a limited number at each call.

    Any number of conductors may run it concurrently: an allocation is released once. ``count`` is
    called after each check with the number of allocations by verdict, and of those released.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        database: Database,
        placement: PlacementAPI,
        top: SuperConductorAPI,
        count: Callable[[Mapping[str, int]], None],
    ) -> None:
        self._conf = conf
        self._database = database
        self._placement = placement
        self._top = top
        self._count = count
        self._outage = OutageLog(LOG, "Placement or super conductor (self-healing)")
        self._after_uuid: str | None = None
        self._logged: dict[str, str] = {}

    def heal(self) -> int:
        """Check the next hosts; return how many consumers were released."""
        nodes = self._database.read(
            compute_nodes.list_after, self._after_uuid, limit=self._conf.cell.self_heal_hosts_max
        )
        context = admin_context()
        released = 0
        for part in _parts(nodes):
            try:
                released += self._check_part(context, part)
            except _OUTCOME_UNKNOWN as error:
                self._outage.failed(error)
                return released  # the next call starts with this part
            self._outage.succeeded()
            self._after_uuid = part[-1].uuid
        if len(nodes) < self._conf.cell.self_heal_hosts_max:
            self._after_uuid = None
        return released

    def _check_part(self, context: RequestContext, nodes: Sequence[models.ComputeNode]) -> int:
        hosts = {provider: node.host for node in nodes for provider in _providers_of(node)}
        found = self._placement.get_provider_allocations(context, sorted(hosts))
        held = {
            Held(consumer, hosts[provider], allocation.generation)
            for provider, consumers in found.items()
            for consumer, allocation in consumers.items()
            if provider in hosts
        }
        records = self._records({one.consumer for one in held})
        verdicts = {one: classify(one, records) for one in held}
        for one, verdict in verdicts.items():
            self._log_verdict(one, verdict, records)
        released = self._release(context, [one for one in held if verdicts[one] == Verdict.DELETED])
        counts = collections.Counter(verdict.value for verdict in verdicts.values())
        self._count({**counts, "released": len(released)})
        return len(released)

    def _records(self, consumers: Collection[str]) -> Records:
        """Read records after asking placement: consumers deleted by now existed or not then."""
        with self._database.reader() as session:
            return Records(
                instances.find_rows(session, consumers), migrations.find_all(session, consumers)
            )

    def _release(self, context: RequestContext, leftovers: Sequence[Held]) -> list[str]:
        released: list[str] = []
        for first in range(0, len(leftovers), RELEASES_MAX):
            part = leftovers[first : first + RELEASES_MAX]
            hosts = {one.consumer: one.host for one in part}
            ours = self._deleted_at_the_top(context, self._only_here(context, hosts))
            generations = {one.consumer: one.generation for one in part if one.consumer in ours}
            for consumer in self._placement.release_unchanged(context, generations):
                LOG.warning(
                    "%s: released the allocation of a deleted instance on host %s",
                    consumer, hosts[consumer],
                )  # fmt: skip
                released.append(consumer)
        return released

    def _only_here(self, context: RequestContext, hosts: Mapping[str, str]) -> set[str]:
        """Return the consumers that hold nothing outside this cell.

        A deleted instance that moved to another cell lives there. A host's child providers count as
        in this cell only if the root provider is held, too.
        """
        found = self._placement.get_allocations(context, sorted(hosts))
        named = {provider for providers in found.values() for provider in providers}
        nodes = self._database.read(compute_nodes.find_known, named, [])
        here = {provider for node in nodes for provider in _providers_of(node)}
        ours = {consumer for consumer, providers in found.items() if providers.keys() <= here}
        for consumer in sorted(found.keys() - ours):
            self._log_once(
                consumer,
                logging.WARNING,
                f"{consumer}: deleted here, but holds resources of host {hosts[consumer]} "
                "and of providers outside this cell; kept",
            )
        return ours

    def _deleted_at_the_top(self, context: RequestContext, consumers: set[str]) -> set[str]:
        """Return the consumers that the super conductor, which owns the record, deleted as well.

        The records of this cell may be wrong: restored from a backup, or changed by who has its
        key.
        """
        if not consumers:
            return set()
        deleted = set(self._top.list_deleted_instances(context, sorted(consumers)))
        for consumer in sorted(consumers - deleted):
            self._log_once(
                consumer,
                logging.WARNING,
                f"{consumer}: deleted in this cell, but not by the super conductor; it keeps what "
                "it holds. Show the server, and delete it if it is gone",
            )
        return deleted & consumers

    def _log_verdict(self, held: Held, verdict: Verdict, records: Records) -> None:
        if verdict is Verdict.UNKNOWN:
            self._log_once(
                held.consumer,
                logging.INFO,
                f"{held.consumer}: holds resources of host {held.host} but is unknown in this "
                "cell; kept, as it may belong to another service or be on its way here",
            )
        elif verdict is Verdict.ELSEWHERE and not _is_on_the_move(held, records):
            self._log_once(
                held.consumer,
                logging.WARNING,
                f"{held.consumer}: holds resources of host {held.host} but is not there; kept",
            )

    def _log_once(self, consumer: str, level: int, sentence: str) -> None:
        if self._logged.get(consumer) == sentence:
            return
        if len(self._logged) >= LOGGED_MAX:
            self._logged.clear()
        self._logged[consumer] = sentence
        LOG.log(level, "%s", sentence)


def _is_on_the_move(held: Held, records: Records) -> bool:
    instance = records.instances.get(held.consumer)
    return instance is not None and instance.task_state is not None


def _providers_of(node: models.ComputeNode) -> list[str]:
    """Return the UUIDs of all providers that placement may have for a node."""
    children = children_of(node.child_providers)
    return sorted({node.uuid, *node.sent_traits, *(child.uuid for child in children)})


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
