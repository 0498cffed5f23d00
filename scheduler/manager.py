"""The scheduler as a service: unpack a call, do one thing, pack the answer."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from oslo_config import cfg

import rpc
from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.notifications import SILENT, Notifier
from armillary.periodic import PeriodicTask
from conductor.cell_rpcapi import HostStatesAPI
from conductor.rpcapi import SuperConductorAPI
from objects.aggregate import Aggregate
from objects.decision_trace import DecisionTrace
from objects.destinations import Destinations
from objects.host_states import HostStateBatch
from objects.request_spec import RequestSpec
from objects.scheduling_batch import SchedulingAnswers, SchedulingBatch
from placement.rpcapi import PlacementAPI
from rpc.server import RpcServer
from rpc.transport import Bus
from rpc.version_caps import ConfiguredCap, OldestServices
from scheduler import answers
from scheduler.drivers.base import load_driver
from scheduler.fleet import Fleet
from scheduler.instance_info import InstanceInfo
from scheduler.plugin_watch import PluginStuck, PluginWatch
from scheduler.rpcapi import OBJECTS_OF_1_0, SchedulerAPI
from scheduler.scheduling_request import Outcome, SchedulingRequest
from scheduler.state_sync import StateSync
from scheduler.trace import TraceBuilder

LOG = logging.getLogger(__name__)


class SchedulerManager:
    """The endpoint of ``SchedulerAPI``. Raises ``ConfigurationError`` for a missing plugin.

    ``oldest`` is what is known of the services that it asks.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        top_bus: Bus,
        notifier: Notifier = SILENT,
        oldest: OldestServices | None = None,
    ) -> None:
        oldest = oldest or OldestServices()
        self._conf = conf
        self._notifier = notifier
        self._bus = top_bus
        self._started = time.monotonic()
        self._fleet = Fleet(conf, clock=time.monotonic)
        self._driver = load_driver(
            conf,
            fleet=self._fleet,
            placement=PlacementAPI(
                top_bus,
                version_cap=ConfiguredCap.by_oldest(conf, "placement", oldest),
                timeout_seconds=conf.rpc.response_timeout_seconds,
            ),
            dice=random.Random(),  # noqa: S311 - spreads load, guards nothing
            clock=time.perf_counter,
            now=lambda: datetime.now(UTC),
        )
        self._sync = StateSync(
            conf,
            fleet=self._fleet,
            super_conductor=SuperConductorAPI(
                top_bus,
                version_cap=ConfiguredCap.by_oldest(conf, "conductor", oldest),
                timeout_seconds=conf.scheduler.sync_timeout_seconds,
            ),
            host_states=HostStatesAPI(top_bus),
        )
        self._watch = PluginWatch(conf)
        self._instance_info = InstanceInfo(conf, fleet=self._fleet, ask_cells=self._sync.ask_cells)

    # The service ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to ask for cells, aggregates and hosts, without waiting for them."""
        self._started = time.monotonic()
        self._sync.start()

    def servers(self) -> Sequence[RpcServer]:
        return [
            self._bus.server(
                SchedulerAPI.TOPIC, self._conf.host, [self], version=SchedulerAPI.VERSION
            )
        ]

    def periodic_tasks(self) -> Sequence[PeriodicTask]:
        options = self._conf.scheduler
        return [
            PeriodicTask("facts", options.facts_interval_seconds, self._sync.refresh_facts),
            PeriodicTask("host_states", options.sync_interval_seconds, self._sync.look_after),
            PeriodicTask("driver", options.periodic_task_interval, self._driver.refresh),
        ]

    def stop(self, grace_seconds: float) -> None:
        self._watch.stop()
        self._sync.stop(grace_seconds)
        self._notifier.stop(grace_seconds)

    def reload(self) -> None:
        """Ask for the facts; mutable options are read when they are needed."""
        self._sync.refresh_facts()

    # Calls ----------------------------------------------------------------------------------------

    @rpc.expose
    @rpc.expected_exceptions(
        exception.NoValidHost,
        exception.UnsupportedPolicy,
        exception.Invalid,
        exception.Conflict,
        exception.Unavailable,
    )
    def select_destinations(
        self,
        context: RequestContext,
        request_spec: RequestSpec,
        instance_uuids: list[str],
        fences: list[int],
        return_alternates: bool = True,
        dry_run: bool = False,
    ) -> Destinations:
        """Decide, as ``SchedulerAPI`` promises; shortly after a start, wait for the hosts."""
        request = SchedulingRequest(
            context, request_spec, instance_uuids, fences, return_alternates, dry_run
        )
        request.check()
        self._wait_until_ready()
        self._tell_start(request)
        try:
            found = self._watch.run(
                context,
                lambda: self._driver.select_destinations(
                    context,
                    request_spec,
                    instance_uuids,
                    fences=fences,
                    return_alternates=return_alternates,
                    dry_run=dry_run,
                ),
            )
        except PluginStuck as stuck:
            raise _as_asked(_stuck(context, stuck), request_spec) from stuck
        except exception.NoValidHost as error:
            self._refuse_too_early_no(error)
            raise _as_asked(error, request_spec) from error
        self._tell_end(request, found)
        return _answer_as_asked(found, request_spec)

    @rpc.expose
    @rpc.expected_exceptions(exception.Invalid, exception.Unavailable)
    def select_destinations_many(self, context: RequestContext, batch: SchedulingBatch) -> Any:
        """Decide all that travelled together, each on its own."""
        asked = [
            SchedulingRequest(
                admin_context(each.request_id),
                each.request_spec,
                each.instance_uuids,
                each.fences,
                each.return_alternates,
            )
            for each in batch.unpacked()
        ]
        for request in asked:
            request.check()
        self._wait_until_ready()
        for request in asked:
            self._tell_start(request)
        try:
            outcomes = self._watch.run(context, lambda: self._driver.select_many(asked))
        except PluginStuck as stuck:
            return _answers_as_asked([_stuck(each.context, stuck) for each in asked], batch)
        for request, outcome in zip(asked, outcomes, strict=True):
            self._tell_end(request, outcome)
        return _answers_as_asked(map(self._considered, outcomes), batch)

    def _tell_start(self, request: SchedulingRequest) -> None:
        if not (self._notifier.is_silent or request.dry_run):
            self._notifier.select_destinations(
                request.context, request.request_spec, request.instance_uuids, "start"
            )

    def _tell_end(self, request: SchedulingRequest, outcome: Outcome) -> None:
        if self._notifier.is_silent or request.dry_run or isinstance(outcome, Exception):
            return
        chosen = [outcome.hosts[row[0]].service_host for row in outcome.choices.tolist()]
        self._notifier.select_destinations(
            request.context, request.request_spec, request.instance_uuids, "end", chosen
        )

    def _wait_until_ready(self) -> None:
        self._sync.wait_ready(self._conf.scheduler.first_sync_wait_seconds)
        if not self._sync.has_facts:
            raise exception.Unavailable(
                reason="the scheduler has just started and does not know cells and hosts yet"
            )

    def _considered(self, outcome: Outcome) -> Outcome:
        """Return an outcome, or Unavailable in the place of a no that comes too early."""
        try:
            if isinstance(outcome, exception.NoValidHost):
                self._refuse_too_early_no(outcome)
        except exception.Unavailable as error:
            return error
        if isinstance(outcome, Exception) and not isinstance(outcome, exception.ArmillaryError):
            LOG.error("A request failed for a reason that nobody expects", exc_info=outcome)
        return outcome

    def _refuse_too_early_no(self, error: exception.NoValidHost) -> None:
        """Raise Unavailable when hosts that fit may only not be known here yet.

        A cell that does not answer counts as down once it had ``service_down_time`` to do so.
        """
        unknown = DecisionTrace.obj_from_primitive(error.kwargs["trace"]).unknown
        if not unknown and self._driver.uses_allocation_candidates:
            return  # placement knows them all, whichever are known here
        is_young = time.monotonic() - self._started < self._conf.service_down_time
        if is_young and not self._sync.is_complete:
            self._driver.refresh()
            raise exception.Unavailable(
                reason="the scheduler has just started and does not know "
                f"{unknown or 'some'} hosts yet"
            ) from error

    @rpc.expose
    def update_host_states(self, context: RequestContext, batch: HostStateBatch) -> None:
        """Take over what a cell pushed."""
        self._sync.take_batch(batch)

    @rpc.expose
    def update_facts(self, context: RequestContext, facts: dict[str, Any]) -> None:
        """Take over what the super conductor pushed."""
        self._sync.take_facts(facts)

    @rpc.expose
    def update_aggregates(
        self, context: RequestContext, aggregates: list[Aggregate], seq: int | None = None
    ) -> None:
        """Take over changed aggregates."""
        self._sync.take_aggregates(aggregates, [], seq)

    @rpc.expose
    def delete_aggregate(
        self, context: RequestContext, aggregate: str, seq: int | None = None
    ) -> None:
        """Forget an aggregate."""
        self._sync.take_aggregates([], [aggregate], seq)

    @rpc.expose
    def update_instance_info(self, context: RequestContext, hosts: dict[str, list[str]]) -> None:
        """Take over which instances have come to hosts."""
        self._instance_info.update(hosts)

    @rpc.expose
    def delete_instance_info(self, context: RequestContext, hosts: dict[str, list[str]]) -> None:
        """Take over which instances are gone from hosts."""
        self._instance_info.delete(hosts)

    @rpc.expose
    def sync_instance_info(self, context: RequestContext, hosts: dict[str, list[str]]) -> None:
        """Compare what hosts have with what is known here."""
        self._instance_info.sync(hosts)


def _stuck(context: RequestContext, stuck: PluginStuck) -> exception.NoValidHost:
    """Return how a request ends that could not be decided."""
    LOG.info("%s: no valid host: %s", context.request_id, stuck)
    trace = TraceBuilder(
        request_id=context.request_id,
        created_at=datetime.now(UTC),
        clock=time.perf_counter,
        choices_max=0,
    )
    return answers.no_valid_host(trace.failed(reason=str(stuck)))


def _is_of_1_0(request_spec: RequestSpec) -> bool:
    """Tell whether who asks knows no newer answers than its question."""
    return bool(request_spec.VERSION == "1.0")


def _answer_as_asked(found: Destinations, request_spec: RequestSpec) -> Any:
    if not _is_of_1_0(request_spec):
        return found
    return found.obj_to_primitive("1.0", OBJECTS_OF_1_0)


def _answers_as_asked(outcomes: Iterable[Outcome], batch: SchedulingBatch) -> Any:
    answers = SchedulingAnswers.of(outcomes)
    return answers.obj_to_primitive("1.0") if batch.VERSION == "1.0" else answers


def _as_asked(error: exception.NoValidHost, request_spec: RequestSpec) -> exception.NoValidHost:
    if not _is_of_1_0(request_spec):
        return error
    trace = DecisionTrace.obj_from_primitive(error.kwargs["trace"])
    older = trace.obj_to_primitive(OBJECTS_OF_1_0["DecisionTrace"])
    return exception.NoValidHost(**{**error.kwargs, "trace": older})
