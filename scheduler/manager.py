"""The scheduler as a service: unpack a call, do one thing, pack the answer."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from oslo_config import cfg

import rpc
from armillary import exception
from armillary.context import RequestContext
from armillary.periodic import PeriodicTask
from conductor.rpcapi import HostStatesAPI, SuperConductorAPI
from objects.decision_trace import DecisionTrace
from objects.destinations import Destinations
from objects.host_states import HostStateBatch
from objects.request_spec import RequestSpec
from placement.rpcapi import PlacementAPI
from rpc.server import RpcServer
from rpc.transport import Bus
from scheduler.drivers.base import load_driver
from scheduler.fleet import Fleet
from scheduler.rpcapi import SchedulerAPI
from scheduler.state_sync import StateSync


class SchedulerManager:
    """The endpoint of ``SchedulerAPI``. Raises ``ConfigurationError`` for a missing plugin."""

    def __init__(self, conf: cfg.ConfigOpts, *, top_bus: Bus) -> None:
        self._conf = conf
        self._bus = top_bus
        self._started = time.monotonic()
        self._fleet = Fleet(conf, clock=time.monotonic)
        self._driver = load_driver(
            conf,
            fleet=self._fleet,
            placement=PlacementAPI(
                top_bus,
                version_cap=conf.upgrade_levels.placement,
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
                version_cap=conf.upgrade_levels.conductor,
                timeout_seconds=conf.scheduler.sync_timeout_seconds,
            ),
            host_states=HostStatesAPI(top_bus, version_cap=conf.upgrade_levels.cell_conductor),
        )

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
        ]

    def stop(self, grace_seconds: float) -> None:
        self._sync.stop(grace_seconds)

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
        if not instance_uuids or len(fences) != len(set(instance_uuids)):
            raise exception.Invalid(
                reason=f"{len(instance_uuids)} instances with {len(fences)} fences: there "
                "must be at least one, none twice, each with its fence"
            )
        self._sync.wait_ready(self._conf.scheduler.first_sync_wait_seconds)
        if not self._sync.has_facts:
            raise exception.Unavailable(
                reason="the scheduler has just started and does not know cells and hosts yet"
            )
        try:
            return self._driver.select_destinations(
                context,
                request_spec,
                instance_uuids,
                fences=fences,
                return_alternates=return_alternates,
                dry_run=dry_run,
            )
        except exception.NoValidHost as error:
            self._refuse_too_early_no(error)
            raise

    def _refuse_too_early_no(self, error: exception.NoValidHost) -> None:
        """Raise Unavailable when hosts that fit may only not be known here yet.

        A cell that does not answer counts as down once it had ``service_down_time`` to do so.
        """
        unknown = DecisionTrace.obj_from_primitive(error.kwargs["trace"]).unknown
        is_young = time.monotonic() - self._started < self._conf.service_down_time
        if unknown and is_young and not self._sync.is_complete:
            raise exception.Unavailable(
                reason=f"the scheduler has just started and does not know {unknown} hosts yet"
            ) from error

    @rpc.expose
    def update_host_states(self, context: RequestContext, batch: HostStateBatch) -> None:
        """Take over what a cell pushed."""
        self._sync.take_batch(batch)

    @rpc.expose
    def update_facts(self, context: RequestContext, facts: dict[str, Any]) -> None:
        """Take over what the super conductor pushed."""
        self._sync.take_facts(facts)
