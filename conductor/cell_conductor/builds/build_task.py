"""Build task: store requests, cast them to agents, and reschedule to alternates until one builds.

Stages, with the step of each; a step acts, then stores the next stage:

- claim: claim the alternate in placement; if refused, the next alternate follows;
- build: cast to the host's agent, which reports; a host that is down counts as a failed build;
- exhausted, aborted: release the claims and end in ERROR.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from compute_agent.interface import ComputeAPI
from conductor.cell_conductor import base_task
from conductor.cell_conductor.builds import attempts, build_commands
from conductor.cell_conductor.builds.attempts import Attempt
from conductor.cell_conductor.builds.build_commands import BuildCommand
from conductor.common.cell_db import actions, builds, host_seq, instances, models, services
from conductor.common.cell_db.builds import Stage
from conductor.common.leased_work import Step
from conductor.common.leases import Lease
from objects.allocations.allocation import AllocationClaim, ClaimResult
from objects.allocations.fence import FENCE_FINAL
from objects.instances.build_request import BuildRequest
from objects.instances.group_claim import GroupClaim
from objects.instances.instance_fault import InstanceFault
from placement.interface import PlacementAPI

LOG = logging.getLogger(__name__)

WorkItem = base_task.WorkItem[models.InstanceBuild]
Batch = base_task.Batch[models.InstanceBuild]

HEARTBEATS_A_LEASE = 2.5
"""Heartbeats of an agent within the lease of a build that it works on: they renew the lease."""
HOST_LOST = "The host could not be reached while the server was being built."


class Build(base_task.Task[models.InstanceBuild]):
    """Builds of this cell, from the handover to ACTIVE or ERROR."""

    def __init__(
        self, env: base_task.Environment, *, placement: PlacementAPI, compute: ComputeAPI
    ) -> None:
        super().__init__(
            env, builds.ROWS, lease_seconds_min=env.conf.report_interval * HEARTBEATS_A_LEASE
        )
        self._placement = placement
        self._compute = compute

    @property
    def steps(self) -> Mapping[str, base_task.StageStep[models.InstanceBuild]]:
        give_up = Step("give up build", self._give_up)
        return {
            Stage.CLAIM: Step("claim alternate", self._claim),
            Stage.BUILD: Step("cast build", self._cast),
            Stage.EXHAUSTED: give_up,
            Stage.ABORTED: give_up,
        }

    def store(self, context: RequestContext, requests: Sequence[BuildRequest]) -> list[Lease]:
        """Store instances and builds in one transaction and return leases for :meth:`run`.

        Requests that are stored already, or were and are deleted, are left alone. Raises Invalid
        and stores nothing if a request names no host, or a host of another cell: a build that
        fails on all its hosts releases what its instance holds, and only the instance's own cell
        may do so.
        """
        for request in requests:
            _refuse_elsewhere(request, str(self._conf.cell.uuid))
        return self._database.insert_in_writer(self._store, context, requests)

    def begin(
        self, context: RequestContext, requests: Sequence[BuildRequest], leases: Sequence[Lease]
    ) -> None:
        """Run builds that :meth:`store` has just stored, as :meth:`run` does.

        Uses the requests in memory instead of reading the rows again, unless something fails.
        """
        left = {lease.key for lease in leases}
        try:
            left.intersection_update(
                self._cast_new(context, [each for each in requests if each.instance_uuid in left])
            )
        except Exception as error:  # run() repeats it and handles the failure
            LOG.warning("Casting new builds failed; retrying %d: %s", len(leases), error)
        self.run(context, [lease for lease in leases if lease.key in left])

    def fail(
        self,
        session: Session,
        instance: models.Instance,
        build: models.InstanceBuild,
        fault: InstanceFault,
        *,
        retry: bool,
    ) -> Lease:
        """Record a failed attempt in the caller's transaction; pass the lease to :meth:`run`."""
        attempt = Attempt(session, instance, build, self._now)
        attempt.fail(fault, retry=retry, attempts_max=self._conf.scheduler.max_attempts)
        return self._take_lease(build)

    def _stage(self, row: models.InstanceBuild) -> str:
        return row.stage

    # Storing

    def _store(
        self, session: Session, context: RequestContext, requests: Sequence[BuildRequest]
    ) -> list[Lease]:
        now = self._now
        for request in requests:
            _put_on_first_host(request)
        new = set(instances.insert(session, [r.instance for r in requests], now=now))
        fresh = {r.instance_uuid: r for r in requests if r.instance_uuid in new}
        leases = {uuid: self.leases.held(uuid) for uuid in fresh}
        builds.insert(session, list(fresh.values()), leases, now=now)
        made = [request.instance for request in fresh.values()]
        keys = actions.start(session, context, actions.CREATE, made, now=now)
        steps = [(keys[instance.uuid], instance.host, 1) for instance in made]
        actions.start_events(session, actions.BUILD_EVENT, steps, now=now)
        host_seq.touch_hosts(session, [instance.host for instance in made])
        return list(leases.values())

    # Steps

    def _claim(self, batch: Batch) -> list[Lease]:
        """Claim the alternates of these builds, replacing what their instances hold.

        Nothing is claimed if the scheduler's driver makes no claims.
        """
        claims = [claim for claim in map(_claim_of, batch.works) if claim.allocations]
        results = self._placement.claim(batch.context, claims) if claims else []
        by_uuid = {
            claim.consumer_uuid: result for claim, result in zip(claims, results, strict=True)
        }
        return self._database.run_in_writer(self._claimed, batch.works, by_uuid)

    def _claimed(
        self, session: Session, works: Sequence[WorkItem], results: Mapping[str, ClaimResult]
    ) -> list[Lease]:
        leases = []
        for work, instance, build in self._lock_ours(session, works):
            attempt = Attempt(session, instance, build, self._now)
            result = results.get(work.uuid)
            if result is None or result.is_claimed:
                attempt.start()
            else:
                LOG.info("%s: %s refused: %s", work.uuid, instance.host, result.reason)
                attempt.refuse(f"{result.status}: {result.reason}")
            leases.append(self._take_lease(build))
        return leases

    def _cast(self, batch: Batch) -> list[Lease]:
        """Cast builds to the agents; an attempt whose agent cannot be reached has failed."""
        context, works = batch.context, batch.works
        found = self._find_services([work.instance.host for work in works])
        commands, whys = [], {}
        for work in works:
            service = found.get(str(work.instance.host))
            if self._is_host_up(service):
                commands.append(self._command_of(work, service))
            else:
                whys[work.uuid] = "has no service in this cell" if service is None else "is down"
        build_commands.send(context, self._compute, commands)
        lost = [work for work in works if work.uuid in whys]
        return self._fail_unreachable(context, lost, found, whys) if lost else []

    def _cast_new(
        self, context: RequestContext, requests: Sequence[BuildRequest]
    ) -> Collection[str]:
        """Cast newly stored builds to the agents; return the instances that were not cast."""
        found = self._find_services([request.instance.host for request in requests])
        commands, left = [], set()
        for request in requests:
            service = found.get(str(request.instance.host))
            if self._is_host_up(service):
                commands.append(self._first_command_of(request, service))
            else:
                left.add(request.instance_uuid)
        build_commands.send(context, self._compute, commands)
        return left

    def _find_services(self, hosts: Sequence[str | None]) -> dict[str, models.Service]:
        return self._database.read(
            services.find_by_hosts, {host for host in hosts if host is not None}
        )

    def _command_of(self, work: WorkItem, service: models.Service | None) -> BuildCommand:
        spec = work.row.request_spec.load()
        tried = attempts.selections_so_far(work.row)
        return BuildCommand(
            agent=str(service and service.agent),
            instance=instances.to_object(work.instance, cell_uuid=self._conf.cell.uuid),
            request_spec=build_commands.for_host(spec, tried, attempt=work.row.attempt),
        )

    def _first_command_of(
        self, request: BuildRequest, service: models.Service | None
    ) -> BuildCommand:
        request.instance.cell_uuid = self._conf.cell.uuid
        tried = request.selections[:1]
        return BuildCommand(
            agent=str(service and service.agent),
            instance=request.instance,
            request_spec=build_commands.for_host(request.request_spec, tried, attempt=1),
        )

    def _fail_unreachable(
        self,
        context: RequestContext,
        works: Sequence[WorkItem],
        found: Mapping[str, models.Service],
        whys: Mapping[str, str],
    ) -> list[Lease]:
        def fail(session: Session) -> list[tuple[WorkItem, Lease]]:
            failed = []
            for work, instance, build in self._lock_ours(session, works):
                fault = _host_lost(instance, whys[work.uuid])
                failed.append((work, self.fail(session, instance, build, fault, retry=True)))
            return failed

        failed = self._database.run_in_writer(fail)
        for work, _lease in failed:  # any other has been reported meanwhile and stays
            self._cancel_attempt(context, work, found.get(str(work.instance.host)))
        return [lease for _work, lease in failed]

    def _cancel_attempt(
        self, context: RequestContext, work: WorkItem, service: models.Service | None
    ) -> None:
        """Tell the agent to drop the attempt; it would find out by itself, but later."""
        if service is None or service.agent is None:
            return
        try:
            self._compute.forget_attempt(
                context, service.agent, work.uuid, service.host, work.row.attempt
            )
        except base_task.UNKNOWN_OUTCOME_ERRORS as error:
            LOG.debug("%s: cannot notify %s: %s", work.uuid, service.host, error)

    def _give_up(self, batch: Batch) -> list[Lease]:
        """Release the instances' allocations permanently, then end them in ERROR."""
        works = batch.works
        self._placement.release(batch.context, {work.uuid: FENCE_FINAL for work in works})

        def end(session: Session) -> None:
            for work, instance, build in self._lock_ours(session, works):
                LOG.info("%s: build failed on all hosts tried (%s)", work.uuid, build.stage)
                Attempt(session, instance, build, self._now).give_up()

        self._database.run_in_writer(end)
        return []


def _refuse_elsewhere(request: BuildRequest, cell_uuid: str) -> None:
    """Raise Invalid unless a request names hosts, and all of them are of this cell."""
    if not request.selections:
        raise exception.Invalid(
            reason=f"build request {request.instance_uuid} has no selected host"
        )
    for chosen in request.selections:
        if chosen.cell_uuid != cell_uuid:
            raise exception.Invalid(
                reason=f"build request {request.instance_uuid} is for host {chosen.service_host} "
                f"of the cell {chosen.cell_uuid}; this is the cell {cell_uuid}"
            )


def _put_on_first_host(request: BuildRequest) -> None:
    chosen = request.selections[0]
    instance = request.instance
    instance.host, instance.node = chosen.service_host, chosen.nodename
    instance.availability_zone = chosen.availability_zone or instance.availability_zone
    instance.vm_state, instance.task_state = "building", "spawning"
    instance.attempt = 1


def _claim_of(work: WorkItem) -> AllocationClaim:
    chosen = attempts.selection(work.row)
    return AllocationClaim(
        consumer_uuid=work.uuid,
        project_id=work.instance.project_id,
        user_id=work.instance.user_id,
        allocations=chosen.allocation_request,
        fence=attempts.claim_fence(work.row),
        replace=True,
        group=GroupClaim(chosen.service_host),
    )


def _host_lost(instance: models.Instance, why: str) -> InstanceFault:
    return InstanceFault.from_values(
        instance_uuid=instance.uuid,
        code=500,
        message=HOST_LOST,
        details=f"host {instance.host} {why}; attempt {instance.attempt} cannot continue there",
    )
