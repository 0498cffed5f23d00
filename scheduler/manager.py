"""The scheduler service: RPC endpoint and wiring."""

import itertools
import logging
import random
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from oslo_config import cfg

from armillary import exception
from armillary.concurrency.periodic import PeriodicTask
from armillary.context import RequestContext, admin_context
from armillary.metrics import service_metrics
from conductor.cell_conductor.interface import HostStatesAPI
from conductor.super_conductor.interface import SuperConductorAPI
from objects.aggregate import Aggregate
from objects.claims.resource_kinds import known_kinds
from objects.destinations import Destinations
from objects.hosts.cluster_metadata import ClusterMetadataDict
from objects.hosts.fleet import HostColumns
from objects.hosts.host_states import HostStateBatch
from objects.packed.scheduling_batch import SchedulingAnswers, SchedulingBatch
from objects.request_spec import RequestSpec
from objects.zones.known_zones import KnownZones
from objects.zones.zone_answer import ZoneAnswer
from objects.zones.zone_query import ZoneQuery
from placement.interface import PlacementAPI
from rpc.notifications import SILENT, Notifier
from rpc.server import RpcServer
from rpc.transport import Bus, MakeBus
from rpc.version_caps import ConfiguredCap, OldestServices
from scheduler.drivers.base import SchedulerDriver, load_driver
from scheduler.explain.trace import TraceBuilder
from scheduler.hosts import host_columns
from scheduler.hosts.store.host_store import HostStore
from scheduler.hosts.store.instance_info import InstanceInfo
from scheduler.hosts.store.state_sync import StateSync
from scheduler.interface import SchedulerAPI
from scheduler.plugins.plugin_timeouts import PluginTimedOut, PluginTimeouts
from scheduler.pools.pool_schedulers import PoolSchedulers
from scheduler.readiness import Readiness
from scheduler.request.resource_query import expected_allocations
from scheduler.request.scheduling_request import Outcome, SchedulingRequest
from scheduler.selection import responses
from scheduler.snapshot.snapshot_keeper import SnapshotKeeper
from scheduler.zones.service import NOTHING_KNOWN, make_zone_service

LOG = logging.getLogger(__name__)

_FIRST_SNAPSHOT_SECONDS = 5.0

_SUMMARY_SECONDS = 5.0
"""Maximum seconds that a zone summary waits for placement."""


class SchedulerManager:
    """The endpoint of ``SchedulerAPI``. Raises ``ConfigurationError`` for a missing plugin.

    ``oldest`` tracks the oldest versions of the services called; ``make_bus`` creates a bus to a
    zone's broker. With ``[scheduler] in_process`` there is no RPC server, and the cells are polled
    instead of pushing; ``rpc.endpoints.local`` makes its client.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        top_bus: Bus,
        notifier: Notifier = SILENT,
        oldest: OldestServices | None = None,
        make_bus: MakeBus | None = None,
    ) -> None:
        oldest = oldest or OldestServices()
        self._conf = conf
        self._notifier = notifier
        self._bus = top_bus
        self._host_store = HostStore(conf, clock=time.monotonic)
        service_metrics.HOSTS.watch(self._host_store, _hosts_by_state)
        placement = PlacementAPI(
            top_bus,
            version_cap=ConfiguredCap.by_oldest(conf, "placement", oldest),
            timeout_seconds=conf.rpc.response_timeout_seconds,
        )
        self._driver = load_driver(
            conf,
            host_store=self._host_store,
            placement=placement,
            rng=random.Random(),  # noqa: S311 - spreads load, guards nothing
            clock=time.perf_counter,
            now=lambda: datetime.now(UTC),
        )
        self._pools = PoolSchedulers(
            conf,
            known_kinds().values(),
            placement=placement,
            rng=random.Random(),  # noqa: S311 - spreads load, guards nothing
            clock=time.perf_counter,
            pool_clock=time.monotonic,
            now=lambda: datetime.now(UTC),
        )
        self._sync = StateSync(
            conf,
            host_store=self._host_store,
            super_conductor=SuperConductorAPI(
                top_bus,
                version_cap=ConfiguredCap.by_oldest(conf, "conductor", oldest),
                timeout_seconds=conf.scheduler.sync_timeout_seconds,
            ),
            host_states=HostStatesAPI(top_bus),
        )
        self._zones = make_zone_service(
            conf,
            driver=self._driver,
            pools=self._pools,
            top_bus=top_bus,
            make_bus=make_bus,
            host_store=self._host_store,
            placement=PlacementAPI(
                top_bus,
                version_cap=ConfiguredCap.by_oldest(conf, "placement", oldest),
                timeout_seconds=min(_SUMMARY_SECONDS, conf.zones.push_seconds),
            ),
            is_ready=lambda: self._sync.wait_ready(0),
        )
        self._snapshot = SnapshotKeeper(
            conf,
            broker=top_bus.address,
            host_store=self._host_store,
            children=None if self._zones is None else self._zones.children,
            now=lambda: datetime.now(UTC),
        )
        self._readiness = Readiness(
            conf,
            host_store=self._host_store,
            sync=self._sync,
            driver=self._driver,
            zones=self._zones,
        )
        self._watch = PluginTimeouts(conf)
        self._instance_info = InstanceInfo(
            conf, host_store=self._host_store, ask_cells=self._sync.ask_cells
        )

    # The service ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Start to fetch cells, aggregates and hosts, without waiting for them."""
        is_restored = self._snapshot.restore()
        self._readiness.start(is_restored=is_restored)
        self._sync.start(is_restored=is_restored)

    def servers(self) -> Sequence[RpcServer]:
        if self._conf.scheduler.in_process:
            return []
        return [self._bus.server(SchedulerAPI, self._conf.host, [self])]

    def periodic_tasks(self) -> Sequence[PeriodicTask]:
        options = self._conf.scheduler
        tasks = [
            PeriodicTask(
                "cluster_metadata",
                options.metadata_interval_seconds,
                self._sync.refresh_cluster_metadata,
            ),
            PeriodicTask("host_states", options.sync_interval_seconds, self._sync.fetch_missing),
            PeriodicTask("driver", options.periodic_task_interval, self._driver.refresh),
            PeriodicTask(
                "snapshot",
                options.snapshot_interval_seconds,
                self._snapshot.write,
                initial_delay_seconds=min(
                    _FIRST_SNAPSHOT_SECONDS, options.snapshot_interval_seconds
                ),
                is_waited_for=False,
            ),
        ]
        if options.in_process:
            tasks.append(PeriodicTask("pull", options.pull_interval_seconds, self._pull))
        return tasks if self._zones is None else [*tasks, *self._zones.periodic_tasks()]

    def stop(self, grace_seconds: float) -> None:
        self._watch.stop()
        if self._zones is not None:
            self._zones.stop()
        self._sync.stop(grace_seconds)
        self._notifier.stop(grace_seconds)

    def reload(self) -> None:
        """Refetch the metadata; mutable options are read on use."""
        self._sync.refresh_cluster_metadata()

    # Calls ----------------------------------------------------------------------------------------

    def select_destinations(
        self,
        context: RequestContext,
        request_spec: RequestSpec,
        instance_uuids: list[str],
        fences: list[int],
        return_alternates: bool = True,
        dry_run: bool = False,
        takes_zones: bool = False,
        only_zones: Sequence[str] = (),
    ) -> Destinations:
        """Implement ``SchedulerAPI``."""
        if only_zones and not (self._zones and self._zones.asks_children):
            raise exception.Invalid(reason="this scheduler asks no other zones")
        request = SchedulingRequest(
            context,
            request_spec,
            instance_uuids,
            fences,
            return_alternates,
            dry_run,
            takes_zones,
            only_zones,
        )
        (outcome,) = self._decide(self._driver_for(request_spec), [request])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def select_destinations_many(
        self, context: RequestContext, batch: SchedulingBatch
    ) -> SchedulingAnswers:
        """Decide the requests of a batch, each with its own result."""
        requests = [
            SchedulingRequest(
                admin_context(each.request_id),
                each.request_spec,
                each.instance_uuids,
                each.fences,
                each.return_alternates,
                takes_zones=each.takes_zones,
            )
            for each in batch.unpacked()
        ]
        outcomes = self._decide(self._driver, requests)
        for outcome in outcomes:
            if isinstance(outcome, Exception) and not isinstance(outcome, exception.ArmillaryError):
                LOG.error("A request failed with an unexpected error", exc_info=outcome)
        return SchedulingAnswers.of(outcomes)

    def _driver_for(self, spec: RequestSpec) -> SchedulerDriver:
        """Return the driver that decides a request: that of hosts, or of a kind of pools."""
        return self._driver if spec.kind is None else self._pools.get(spec.kind)

    def _decide(
        self, driver: SchedulerDriver, requests: Sequence[SchedulingRequest]
    ) -> list[Outcome]:
        """Decide requests, each with its own result; shortly after startup, wait for the hosts.

        Raises ``Invalid`` if any is malformed, ``Unavailable`` if the hosts are not known yet.
        """
        for request in requests:
            request.check()
        self._readiness.wait()
        for request in requests:
            self._notify_start(request)
        try:
            outcomes = self._watch.run(requests[0].context, lambda: driver.select_many(requests))
        except PluginTimedOut as stuck:
            return [_stuck(request.context, stuck) for request in requests]
        for request, outcome in zip(requests, outcomes, strict=True):
            self._notify_end(request, outcome)
        return [self._readiness.checked(each) for each in outcomes]

    def get_expected_allocations(
        self, context: RequestContext, requests: Sequence[RequestSpec]
    ) -> list[list[dict[str, int]]] | None:
        """Return the allocations that instances may have; None if the driver does not claim."""
        if not self._driver.uses_allocation_candidates:
            return None
        return [expected_allocations(request) for request in requests]

    def list_hosts(self, context: RequestContext) -> HostColumns:
        """Return all hosts that are known now."""
        return host_columns.of(self._host_store.view_all())

    def select_for_zone(self, context: RequestContext, query: ZoneQuery) -> ZoneAnswer:
        """Answer a parent zone's query, forwarded by this zone's super conductor."""
        if self._zones is None:
            raise exception.Invalid(
                reason="this deployment is not part of a tree of zones: [zones] name is not set, "
                f"or [scheduler] driver = {self._conf.scheduler.driver} does not weigh hosts"
            )
        zones = self._zones
        # The parent as this zone's super conductor names it: its children distinguish parents.
        context = context.with_parent_zone(context.parent_zone or context.asked_by)
        self._readiness.wait()
        try:
            answer: ZoneAnswer = self._watch.run(context, lambda: zones.answer(context, query))
        except PluginTimedOut as stuck:
            raise exception.Unavailable(reason=str(stuck)) from stuck
        own = [zone for zone in answer.zones if zone["outcome"] == "own" and not zone["path"]]
        if own and not answer.host_ids and self._readiness.may_hear_of_hosts:
            raise exception.Unavailable(  # its parent would take it for an answer
                reason="the scheduler has just started and does not know the state of some hosts"
            )
        if notes := self._readiness.age_notes():
            for zone in own:
                zone["reason"] = " ".join([*filter(None, [zone["reason"]]), *notes])
            answer.obj_reset_changes()
        return answer

    def get_zones(self, context: RequestContext) -> KnownZones:
        """Return what is known of this zone and its children."""
        return NOTHING_KNOWN.copy() if self._zones is None else self._zones.describe()

    def refresh_zones(self, context: RequestContext) -> None:
        """Push this zone's summary, and ask the children to push theirs."""
        if self._zones is not None:
            self._zones.refresh()

    def _pull(self) -> None:
        """Poll all cells, for a scheduler that receives no pushes.

        Disabled cells, too: their servers are moved within them.
        """
        self._sync.ask_cells(self._host_store.cluster_metadata.cell_names)
        self._note_change()

    def _note_change(self) -> None:
        if self._zones is not None:
            self._zones.note_change()

    def _notify_start(self, request: SchedulingRequest) -> None:
        if not (self._notifier.is_silent or request.dry_run):
            self._notifier.select_destinations(
                request.context, request.request_spec, request.instance_uuids, "start"
            )

    def _notify_end(self, request: SchedulingRequest, outcome: Outcome) -> None:
        if self._notifier.is_silent or request.dry_run or isinstance(outcome, Exception):
            return
        chosen = [outcome.hosts[row[0]].service_host for row in outcome.choices.tolist() if row]
        self._notifier.select_destinations(
            request.context, request.request_spec, request.instance_uuids, "end", chosen
        )

    def update_host_states(self, context: RequestContext, batch: HostStateBatch) -> None:
        """Apply a push from a cell."""
        self._sync.apply_batch(batch)
        self._note_change()

    def update_cluster_metadata(
        self, context: RequestContext, metadata: ClusterMetadataDict
    ) -> None:
        """Apply a push from the super conductor."""
        self._sync.take_cluster_metadata(metadata)

    def update_aggregates(
        self, context: RequestContext, aggregates: list[Aggregate], seq: int | None = None
    ) -> None:
        """Apply changed aggregates."""
        self._sync.take_aggregates(aggregates, [], seq)

    def delete_aggregate(
        self, context: RequestContext, aggregate: str, seq: int | None = None
    ) -> None:
        """Remove an aggregate."""
        self._sync.take_aggregates([], [aggregate], seq)

    def update_instance_info(self, context: RequestContext, hosts: dict[str, list[str]]) -> None:
        """Apply instances added to hosts."""
        self._instance_info.update(hosts, context.signer)

    def delete_instance_info(self, context: RequestContext, hosts: dict[str, list[str]]) -> None:
        """Apply instances removed from hosts."""
        self._instance_info.delete(hosts, context.signer)

    def sync_instance_info(self, context: RequestContext, hosts: dict[str, list[str]]) -> None:
        """Compare complete instance lists with what is known."""
        self._instance_info.sync(hosts, context.signer)


def _stuck(context: RequestContext, stuck: PluginTimedOut) -> exception.NoValidHost:
    """Return the error for a request whose decision timed out in a plugin."""
    LOG.info("%s: no valid host: %s", context.request_id, stuck)
    trace = TraceBuilder(
        request_id=context.request_id,
        created_at=datetime.now(UTC),
        clock=time.perf_counter,
        choices_max=0,
    )
    return responses.no_valid_host(trace.failed(reason=str(stuck)))


def _hosts_by_state(host_store: HostStore) -> dict[tuple[str, ...], float]:
    """Return the number of hosts by cell and state."""
    hosts = host_store.view_all()
    names = hosts.cluster_metadata.cell_names
    states = np.where(~hosts.service_up, "down", np.where(hosts.service_disabled, "disabled", "up"))
    found: dict[tuple[str, ...], float] = dict.fromkeys(
        itertools.product(names.values(), ("up", "disabled", "down")), 0.0
    )
    for cell_uuid, state in zip(hosts.cell_uuid, states.tolist(), strict=True):
        key = names.get(cell_uuid, cell_uuid), state
        found[key] = found.get(key, 0.0) + 1
    return found
