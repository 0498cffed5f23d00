"""Base of drivers that only check which hosts are up and allowed."""

import abc
import logging
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from armillary import exception
from armillary.context import RequestContext
from objects.destinations import Destinations
from objects.request_spec import RequestSpec
from scheduler.drivers.base import SchedulerDriver
from scheduler.explain.trace import TraceBuilder
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.host_table import HostTable, Numbers
from scheduler.request.preselection import preselect
from scheduler.selection import responses
from scheduler.weights.ranking import Ranked

LOG = logging.getLogger(__name__)

_POLICIES_NOT_KEPT = ("affinity", "anti-affinity", "spread")


class PickingScheduler(SchedulerDriver):
    """Selects a host for each instance among those that are up, enabled and allowed.

    All hosts except ``ignore_hosts`` are allowed, or only the forced or requested host. The rest of
    the request is ignored: capacity, traits, availability zone, filters. Nothing is claimed.
    """

    uses_allocation_candidates: ClassVar[bool] = False

    def _arranged(self, hosts: HostTable) -> HostTable:
        """Return the hosts in the order for selection."""
        return hosts

    @abc.abstractmethod
    def _pick(self, hosts: HostTable, index: int) -> int:
        """Return the position of the host for instance ``index`` of the request, from 0.

        ``hosts`` is not empty.
        """

    @abc.abstractmethod
    def _next_best(self, hosts: HostTable, others: Numbers, count: int) -> Sequence[int]:
        """Return at most ``count`` alternates from the positions ``others``."""

    def select_destinations(
        self,
        context: RequestContext,
        request_spec: RequestSpec,
        instance_uuids: Sequence[str],
        *,
        fences: Sequence[int],
        return_alternates: bool,
        dry_run: bool,
    ) -> Destinations:
        spec: RequestSpec = request_spec.obj_clone()
        spec.obj_set_defaults_quietly()
        self._check_policy(spec)
        trace = TraceBuilder(
            request_id=context.request_id,
            created_at=self._now(),
            clock=self._clock,
            choices_max=self._conf.scheduler.trace_choices_max,
        )
        known = self._host_store.view_all()
        trace.set_hosts_considered(len(known))
        hosts = self._arranged(self._allowed(known, spec, trace))
        if len(hosts) == 0:
            reason = None if len(known) else responses.NO_HOST_KNOWN
            failed = trace.failed(wanted=len(instance_uuids), reason=reason)
            LOG.info("%s: no valid host: %s", instance_uuids[0], failed.sentence)
            raise responses.no_valid_host(failed)
        count = self._conf.scheduler.max_attempts - 1 if return_alternates else 0
        offers = []
        for index, uuid in enumerate(instance_uuids):
            position = self._pick(hosts, index)
            trace.chosen(uuid, hosts, Ranked(position, 0.0, {}), [])
            others = self._alternates(hosts, position, count)
            offers.append([(each, each) for each in (position, *others)])
            if not dry_run:
                LOG.info("%s: selected %s", uuid, hosts.value("host", position))
        return responses.destinations(
            hosts, offers, default_zone=self._conf.default_availability_zone, trace=trace.finished()
        )

    def _allowed(self, hosts: HostTable, spec: RequestSpec, trace: TraceBuilder) -> HostTable:
        with trace.stage("filters"):
            ledger = preselect(HostLedger(hosts), spec, trace.filtered)
            is_up = ledger.hosts.service_up
            ledger = ledger.keep(is_up, "service_up", "its service is down", trace.filtered)
            if spec.is_forced:
                return ledger.hosts
            is_enabled = ~ledger.hosts.service_disabled
            reason = "its service is disabled"
            return ledger.keep(is_enabled, "service_enabled", reason, trace.filtered).hosts

    def _alternates(self, hosts: HostTable, position: int, count: int) -> Sequence[int]:
        if count <= 0:
            return []
        others = np.flatnonzero(hosts.cell == hosts.cell[position])
        return self._next_best(hosts, others[others != position], count)

    def _check_policy(self, spec: RequestSpec) -> None:
        group = spec.instance_group
        if group is not None and group.policy in _POLICIES_NOT_KEPT:
            raise exception.UnsupportedPolicy(
                policy=group.policy,
                reason=f"[scheduler] driver = {self._conf.scheduler.driver} ignores policies",
            )
