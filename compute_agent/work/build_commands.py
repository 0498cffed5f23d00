"""Build and delete commands: recorded first, then executed, repeated or rejected."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from armillary import exception
from armillary.context import RequestContext
from compute_agent.journal.journal import Acceptance, Journal, Kind, Report, State
from compute_agent.reporting.outbox import Outbox
from compute_agent.virt.driver import ComputeDriver
from compute_agent.work.instance_work import BuildContent, InstanceWork, make_fault, not_carried
from objects.instance import Instance
from objects.request_spec import RequestSpec

LOG = logging.getLogger(__name__)

LEAVES_A_GUEST = (Kind.BUILD_SUCCEEDED, Kind.INSTANCE_ENDED)
"""Kinds of reports whose guest must be destroyed if the report is stale."""


class BuildCommands:
    """Receives the cell conductor's commands, which may be duplicate, late or out of order."""

    def __init__(
        self,
        *,
        journal: Journal,
        drivers: Mapping[str, ComputeDriver],
        work: InstanceWork,
        outbox: Outbox,
        on_change: Callable[[str], None],
    ) -> None:
        self._journal = journal
        self._drivers = drivers
        self._work = work
        self._outbox = outbox
        self._on_change = on_change

    def build(self, context: RequestContext, instance: Instance, request_spec: RequestSpec) -> None:
        """Build ``instance`` on its host as its attempt, and report the result."""
        self.build_all(context, [(instance, request_spec)])

    def build_all(
        self, context: RequestContext, builds: Sequence[tuple[Instance, RequestSpec]]
    ) -> None:
        """Build several instances; all are recorded before the first one starts."""
        carried = [build for build in builds if self._is_here(build[0])]
        accepted = self._journal.accept_builds(carried)
        for command, acceptance in zip(carried, accepted, strict=True):
            self._start(context.for_instance(command[0].uuid), command, acceptance)

    def _is_here(self, instance: Instance) -> bool:
        """Return whether the agent manages an instance's node; reject the build if not."""
        driver = self._drivers.get(str(instance.host))
        if driver is not None and instance.node in (None, driver.node):
            return True
        self._refuse(instance, not_carried(instance.uuid, str(instance.host)))
        return False

    def _start(self, context: RequestContext, command: BuildContent, accepted: Acceptance) -> None:
        instance, _spec = command
        host, uuid, attempt = str(instance.host), instance.uuid, instance.attempt
        LOG.info("%s: build attempt %d on %s: %s", uuid, attempt, host, accepted.value)
        match accepted:
            case Acceptance.NEW:
                self._work.start_build(context, host, uuid, command)
                self._on_change(host)
            case Acceptance.REPEATED:
                self._repeat(context, host, uuid, attempt)
            case Acceptance.OVER:
                reason = "this attempt has already ended"
                over = exception.BuildFailed(instance_uuid=uuid, host=host, reason=reason)
                self._refuse(instance, over)
            case Acceptance.IGNORED:
                pass

    def delete(self, uuid: str, host: str) -> None:
        """Destroy the instance and report it, even if there is none."""
        if not self._carries(host, uuid):
            return
        LOG.info("%s: deleting on %s", uuid, host)
        self._journal.begin_delete(host, uuid)
        self._work.start_destroy(host, uuid)
        self._on_change(host)

    def forget(self, uuid: str, host: str, attempt: int) -> None:
        """Destroy the remains of an attempt, without a report."""
        if not self._carries(host, uuid):
            return
        LOG.info("%s: cleaning up attempt %d on %s", uuid, attempt, host)
        if self._journal.begin_forget(host, uuid, attempt):
            self._work.start_destroy(host, uuid)
            self._on_change(host)

    def forget_stale(self, report: Report) -> None:
        """Destroy an instance that was moved to another host or deleted."""
        if report.kind in LEAVES_A_GUEST:
            self.forget(report.instance_uuid, report.host, report.attempt)

    def _repeat(self, context: RequestContext, host: str, uuid: str, attempt: int) -> None:
        if self._journal.report_again(host, uuid, attempt):
            self._outbox.wake()
            return
        entry = self._journal.find(host, uuid)
        if entry is not None and entry.state is State.BUILDING:
            self._work.resume_build(context, entry)

    def _refuse(self, instance: Instance, error: exception.BuildFailed) -> None:
        LOG.warning("%s: %s", instance.uuid, error)
        fault = make_fault(instance.uuid, instance.attempt, str(instance.host), error)
        self._journal.refuse_build(instance, fault)
        self._outbox.wake()

    def _carries(self, host: str, uuid: str) -> bool:
        if host in self._drivers:
            return True
        LOG.warning("%s: command for host %s, which this agent does not manage", uuid, host)
        return False
