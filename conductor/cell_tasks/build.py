"""Build: store what was handed over, cast it to its agent, go on to alternates until one builds.

Its stages, and the step of each; a step acts, then stores the next stage:

- claim: claim the alternate in placement; refused, the alternate after it is next;
- build: cast to the agent of the host, which reports; a host that is down counts as a failed build;
- exhausted, aborted: release what is claimed, end in ERROR.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence

from oslo_config import cfg
from oslo_db import exception as db_exception
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from compute_agent.rpcapi import ComputeAPI
from conductor.cell_db import actions, builds, host_seq, instances, models, services
from conductor.cell_db.builds import Stage
from conductor.cell_tasks import attempts, base, build_orders
from conductor.cell_tasks.build_orders import BuildOrder, BuildOrders
from conductor.leases import Lease
from conductor.moments import Now
from objects.allocation import FENCE_FINAL, AllocationClaim
from objects.build_request import BuildRequest
from objects.claim_batch import AnyResult
from objects.instance_fault import InstanceFault
from objects.request_spec import RequestSpec
from placement.rpcapi import PlacementAPI

LOG = logging.getLogger(__name__)

Work = base.Work[models.InstanceBuild]

HOST_LOST = "The host could not be reached while the server was being built."


class Build(base.Task[models.InstanceBuild]):
    """Builds of this cell, from the handing over to ACTIVE or ERROR."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        database: Database,
        placement: PlacementAPI,
        compute: ComputeAPI,
        now: Now,
        may_convict: Callable[[], bool],
    ) -> None:
        super().__init__(
            conf,
            database=database,
            table=models.InstanceBuild,
            key=models.InstanceBuild.instance_uuid,
            now=now,
            may_convict=may_convict,
        )
        self._placement = placement
        self._compute = compute
        self._orders = BuildOrders(compute)

    @property
    def steps(self) -> Mapping[str, Callable[[RequestContext, list[Work]], list[Lease]]]:
        return {
            Stage.CLAIM: self._claim,
            Stage.BUILD: self._cast,
            Stage.EXHAUSTED: self._give_up,
            Stage.ABORTED: self._give_up,
        }

    def store(self, context: RequestContext, requests: Sequence[BuildRequest]) -> list[Lease]:
        """Store instances and builds in one transaction, and return leases for :meth:`run`.

        What is stored already, or was and is deleted, is left as it is. Raises Invalid, and stores
        nothing, for a request that names no host.
        """
        for request in requests:
            if not request.selections:
                raise exception.Invalid(
                    reason=f"build request {request.instance_uuid} names no host to build on"
                )
        try:
            return self._database.run_in_writer(lambda s: self._store(s, context, requests))
        except db_exception.DBDuplicateEntry:  # the same was handed over twice at once
            return self._database.run_in_writer(lambda s: self._store(s, context, requests))

    def begin(
        self, context: RequestContext, requests: Sequence[BuildRequest], leases: Sequence[Lease]
    ) -> None:
        """Take builds as far as they go that :meth:`store` has just stored, as :meth:`run` does.

        Nothing is read again of what the requests say, as long as nothing goes wrong.
        """
        left = {lease.key for lease in leases}
        try:
            left.intersection_update(
                self._cast_new(context, [each for each in requests if each.instance_uuid in left])
            )
        except Exception as error:  # the usual way does it again, and knows what to do about it
            LOG.warning("%d new builds are taken up again: %s", len(leases), error)
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
        """Note in the caller's transaction that the attempt failed; :meth:`run` the lease after."""
        attempts.fail(
            session, instance, build, fault,
            retry=retry, attempts_max=self._conf.scheduler.max_attempts, now=self._now,
        )  # fmt: skip
        return self._hold_anew(build)

    def _stage(self, row: models.InstanceBuild) -> str:
        return row.stage

    def _list_rows(self, session: Session, uuids: Sequence[str]) -> Sequence[models.InstanceBuild]:
        return builds.list_by_uuids(session, uuids)

    def _lock_rows(
        self, session: Session, uuids: Sequence[str]
    ) -> Mapping[str, models.InstanceBuild]:
        return builds.lock_all(session, uuids)

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

    def _claim(self, context: RequestContext, works: list[Work]) -> list[Lease]:
        """Claim the alternates of these works, in place of what their instances hold.

        Where the scheduler's driver claims nothing, nothing is claimed here.
        """
        claims = [claim for claim in map(_claim_of, works) if claim.allocations]
        results = self._placement.claim(context, claims) if claims else []
        by_uuid = {
            claim.consumer_uuid: result for claim, result in zip(claims, results, strict=True)
        }
        return self._database.run_in_writer(lambda session: self._claimed(session, works, by_uuid))

    def _claimed(
        self, session: Session, works: Sequence[Work], results: Mapping[str, AnyResult]
    ) -> list[Lease]:
        leases = []
        for work, instance, build in self._lock_ours(session, works):
            result = results.get(work.uuid)
            if result is None or result.is_claimed:
                attempts.start(session, instance, build, now=self._now)
            else:
                LOG.info("%s: %s refused: %s", work.uuid, instance.host, result.reason)
                reason = f"{result.status}: {result.reason}"
                attempts.refuse(session, instance, build, reason, now=self._now)
            leases.append(self._hold_anew(build))
        return leases

    def _cast(self, context: RequestContext, works: list[Work]) -> list[Lease]:
        """Ask the agents to build; where none can be asked the attempt has failed."""
        found = self._find_services([work.instance.host for work in works])
        orders, whys = [], {}
        for work in works:
            service = found.get(str(work.instance.host))
            if self._is_host_up(service):
                orders.append(self._order_of(work, service))
            else:
                whys[work.uuid] = "has no service in this cell" if service is None else "is down"
        for uuid, why in self._orders.send(context, orders).items():
            whys[uuid] = f"cannot be asked: {why}"
        lost = [work for work in works if work.uuid in whys]
        return self._lose(context, lost, found, whys) if lost else []

    def _cast_new(
        self, context: RequestContext, requests: Sequence[BuildRequest]
    ) -> Collection[str]:
        """Ask the agents for what was just stored; return those instances that this is not for."""
        found = self._find_services([request.instance.host for request in requests])
        orders, left = [], set()
        for request in requests:
            service = found.get(str(request.instance.host))
            if self._is_host_up(service):
                orders.append(self._first_order_of(request, service))
            else:
                left.add(request.instance_uuid)
        return left.union(self._orders.send(context, orders))

    def _find_services(self, hosts: Sequence[str | None]) -> dict[str, models.Service]:
        with self._database.reader() as session:
            return services.find_by_hosts(session, {host for host in hosts if host is not None})

    def _order_of(self, work: Work, service: models.Service | None) -> BuildOrder:
        spec: RequestSpec = RequestSpec.obj_from_primitive(work.row.request_spec)
        tried = attempts.selections_so_far(work.row)
        return BuildOrder(
            agent=str(service and service.agent),
            instance=instances.to_object(work.instance, cell_uuid=self._conf.cell.uuid),
            request_spec=build_orders.for_host(spec, tried, attempt=work.row.attempt),
        )

    def _first_order_of(self, request: BuildRequest, service: models.Service | None) -> BuildOrder:
        request.instance.cell_uuid = self._conf.cell.uuid
        tried = request.selections[:1]
        return BuildOrder(
            agent=str(service and service.agent),
            instance=request.instance,
            request_spec=build_orders.for_host(request.request_spec, tried, attempt=1),
        )

    def _lose(
        self,
        context: RequestContext,
        works: Sequence[Work],
        found: Mapping[str, models.Service],
        whys: Mapping[str, str],
    ) -> list[Lease]:
        def fail(session: Session) -> list[tuple[Work, Lease]]:
            failed = []
            for work, instance, build in self._lock_ours(session, works):
                fault = _host_lost(instance, whys[work.uuid])
                failed.append((work, self.fail(session, instance, build, fault, retry=True)))
            return failed

        failed = self._database.run_in_writer(fail)
        for work, _lease in failed:  # any other was reported meanwhile, and stays
            self._forget(context, work, found.get(str(work.instance.host)))
        return [lease for _work, lease in failed]

    def _forget(self, context: RequestContext, work: Work, service: models.Service | None) -> None:
        """Leave word for the agent, which would find out by itself, but later."""
        if service is None or service.agent is None:
            return
        try:
            self._compute.forget_attempt(
                context, service.agent, work.uuid, service.host, work.row.attempt
            )
        except base.OUTCOME_UNKNOWN as error:
            LOG.debug("%s: no word left on %s: %s", work.uuid, service.host, error)

    def _give_up(self, context: RequestContext, works: list[Work]) -> list[Lease]:
        """Release what the instances hold, for good, then end them in ERROR."""
        self._placement.release(context, {work.uuid: FENCE_FINAL for work in works})

        def end(session: Session) -> None:
            for work, instance, build in self._lock_ours(session, works):
                LOG.info("%s: no host could build it; %s", work.uuid, build.stage)
                attempts.give_up(session, instance, build, now=self._now)

        self._database.run_in_writer(end)
        return []


def _put_on_first_host(request: BuildRequest) -> None:
    chosen = request.selections[0]
    instance = request.instance
    instance.host, instance.node = chosen.service_host, chosen.nodename
    instance.availability_zone = chosen.availability_zone or instance.availability_zone
    instance.vm_state, instance.task_state = "building", "spawning"
    instance.attempt = 1


def _claim_of(work: Work) -> AllocationClaim:
    return AllocationClaim.from_values(
        consumer_uuid=work.uuid,
        project_id=work.instance.project_id,
        user_id=work.instance.user_id,
        allocations=attempts.selection(work.row).allocation_request,
        fence=attempts.claim_fence(work.row),
        replace=True,
    )


def _host_lost(instance: models.Instance, why: str) -> InstanceFault:
    return InstanceFault.from_values(
        instance_uuid=instance.uuid,
        code=500,
        message=HOST_LOST,
        details=f"host {instance.host} {why}, attempt {instance.attempt} cannot go on there",
    )
