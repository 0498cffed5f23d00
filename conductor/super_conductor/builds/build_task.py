"""Bring an accepted request to its cells: schedule, store, hand over, map, or store in cell0.

Each decision is stored as the reservation's stage before it is acted on, and the remaining work of
a stage can be read from the database. Any conductor can therefore resume a reservation.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext, admin_context
from conductor.common import leased_work
from conductor.common.clock import moment
from conductor.common.leased_work import LeaseLost, Step
from conductor.common.leases import Lease
from conductor.super_conductor.builds import (
    decision_traces,
    group_members,
    instance_mapping,
    selection_rows,
)
from conductor.super_conductor.builds.cell_handover import BuildServices, Handover
from conductor.super_conductor.builds.instance_mapping import HeldReservation
from conductor.super_conductor.db import build_requests, cleanups, request_specs, reservations
from conductor.super_conductor.db import traces as traces_db
from conductor.super_conductor.db.build_requests import NewSelections, Pending, list_build_requests
from conductor.super_conductor.db.reservations import Reservation, Stage
from conductor.super_conductor.db.zones import zone_walks
from conductor.super_conductor.db.zones.zone_walks import Entry
from conductor.super_conductor.hosts.zone_guard import check_zones
from conductor.super_conductor.permanent_failure import (
    REFUSALS,
    REFUSED,
    PermanentFailure,
    no_valid_host,
)
from conductor.super_conductor.scheduling_task import SchedulingTask
from conductor.super_conductor.zones import absence, pending_group_members, walk
from conductor.super_conductor.zones.pending_group_members import MustWait
from objects.cell_mapping import CELL0_UUID
from objects.destinations import Destinations
from objects.instances.instance_fault import InstanceFault
from objects.packed.scheduling_batch import Answer
from objects.request_spec import RequestSpec
from objects.selection import Selection
from objects.traces.decision_trace import DecisionTrace

LOG = logging.getLogger(__name__)

T = TypeVar("T")

_STAGES_MAX = 4

FAILURE_LENGTH_MAX = 15_000
"""Maximum number of characters stored of an error met while processing a reservation."""


class BuildTask(SchedulingTask):
    """One conductor's work on one reservation."""

    def __init__(self, services: BuildServices, lease: Lease, answer: Answer | None = None) -> None:
        """``answer`` is a scheduler's answer for this reservation, if it was asked already."""
        super().__init__(services.env, services.peers, lease)
        self._services = services
        self._answer = answer
        self._reservation: Reservation
        self._destinations: Destinations | None = None
        self._pending_requests: list[Pending] = []
        """As last read; a user may delete one at any time."""
        self._is_closed = False
        self._scheduled: list[str] = []
        self._failed_trace: DecisionTrace | None = None

    def run(self) -> None:
        """Run until nothing is left, or until other zones have built more of it or its group."""
        for _ in range(_STAGES_MAX):
            found = self._read(
                lambda session: reservations.find_reservation(session, self.lease.key)
            )
            if found is None:
                return
            self._reservation, self._take_count = found, found.fence.number
            try:
                leased_work.run(self, STEPS[found.stage], self._services.watch)
            except PermanentFailure as reason:
                self._store_failure(reason)
            except MustWait as reason:
                self._store_wait_reason(str(reason))
                self.is_waiting = True
            if self._is_closed or self.is_waiting:
                return

    # Steps

    def drop_deleted(self) -> None:
        """Remove instances that were deleted before any cell knew of them."""
        self._pending_requests = self._read(self._pending)
        if not any(one.is_deleting and one.cell_uuid is None for one in self._pending_requests):
            return

        def write(session: Session) -> list[str]:
            self._lock(session)
            gone = [
                one.instance_uuid
                for one in self._pending(session)
                if one.is_deleting and one.cell_uuid is None
            ]
            cleanups.add_releases(session, gone, self._reservation.context)
            build_requests.delete_build_requests(session, gone)
            return gone

        gone = self._write(write)
        self._pending_requests = [
            one for one in self._pending_requests if one.instance_uuid not in gone
        ]
        self._clean_up_if_any(gone)

    def check_deadline(self) -> None:
        """Give up what has not been scheduled by the deadline."""
        last = self._reservation.failure or "no attempt has completed"
        self._refuse_late(self._reservation.accepted_at, f"; last attempt: {last}")

    def release_former_claims(self) -> None:
        """Release what an earlier try of unknown outcome claimed, and block its late claims.

        The fence is below that of the claims to come, so a late release does not free those.
        """
        if self._take_count > 1:
            self._peers.placement.release(
                admin_context(), dict.fromkeys(self._living(), int(self._reservation.fence.before))
            )

    def select_destinations(self) -> None:
        """Ask a scheduler for a claimed host and alternates for each instance."""
        self._scheduled = [
            one.instance_uuid for one in self._pending_requests if not one.is_deleting
        ]
        if not self._scheduled:
            return
        try:
            self._destinations = self._ask_scheduler()
        except exception.NoValidHost as error:
            self._failed_trace = decision_traces.from_error(error.kwargs.get("trace"))
            raise no_valid_host(self._failed_trace, self._no_host_reason(error)) from error
        except REFUSALS as error:
            raise PermanentFailure(REFUSED, error.message) from error

    def release_claims(self) -> None:
        """Release everything ever claimed for the instances; no claim follows this."""

        def write(session: Session) -> list[str]:
            self._lock(session)
            uuids = [one.instance_uuid for one in self._pending(session)]
            cleanups.add_releases(session, uuids, self._reservation.context)
            return uuids

        self._clean_up_if_any(self._write(write))

    def store_selections(self) -> None:
        """Store the answer and its trace; from here on a cell may know of the instances."""
        chosen = self._selections()
        found = self._destinations
        offered = [] if found is None else found.zone_entries
        entries = [Entry(tuple(one["path"]), one["host_id"]) for one in offered]
        silent = [] if found is None else absence.silent_zones(found.trace.zones)
        stage = Stage.WALKING if entries else Stage.CELL_HANDOVER

        def write(session: Session) -> None:
            self._lock(session, stage=stage, failure=None)
            if chosen and found is not None:
                check_zones(session, self._env.conf, found.hosts)
            living = {one.instance_uuid for one in self._pending(session) if not one.is_deleting}
            if entries:
                begun = [uuid for uuid in self._scheduled if uuid in living]
                now = moment(self._env.now())
                zone_walks.add_walks(
                    session, self.lease.key, entries, begun,
                    silent=silent, together=self._are_bound, now=now,
                )  # fmt: skip
            build_requests.store_selections(
                session, [row for row in chosen if row.instance_uuid in living]
            )
            if found is not None:
                selections = found.selections_of(self._scheduled) if found.hosts else {}
                self._store_trace(session, found.trace, selections)

        self._write(write)

    def hand_over(self) -> None:
        """Hand each cell its instances, all cells in parallel, and map those that were accepted."""
        by_cell: dict[str, list[str]] = {}
        for one in self._pending_requests:
            if one.cell_uuid is not None:
                by_cell.setdefault(one.cell_uuid, []).append(one.instance_uuid)
        handover = Handover(
            self._services,
            {self.lease.key: HeldReservation(self.lease, self._reservation.context)},
            lambda uuids: self._read(lambda session: list_build_requests(session, uuids)),
            context=self._context,
            timeout_seconds=self._answer_timeout_seconds,
        )
        failed = handover.run(by_cell)
        if handover.lost:
            raise LeaseLost(self.lease.key)
        if failed:
            raise next(iter(failed.values()))
        self._is_closed = bool(handover.closed)

    def walk(self) -> None:
        """Try the hosts that zones offered; close when each instance has arrived or failed."""
        walks = walk.Walks(
            self._env, self._peers, self._services.leases, self.lease, self._reservation,
            context=self._context, clean_up=self._services.clean_up, search=self._search_zones,
        )  # fmt: skip
        leased_work.run(walks, walk.STEPS, self._services.watch)
        self.is_waiting = walks.is_waiting
        if walks.wait_reason is not None:
            self._store_wait_reason(walks.wait_reason)
        if not self.is_waiting:
            self.close()

    def take_back(self) -> None:
        """Undo what scheduling may have done."""
        leased_work.unwind(self, SCHEDULE)

    def write_to_cell0(self) -> None:
        """Store the instances in cell0, in ERROR, with the reason."""
        living = self._living()
        found = self._read(lambda session: list_build_requests(session, living))
        if not found:
            return
        verdict = self._reservation.verdict
        fault = InstanceFault.from_values(
            instance_uuid=found[0].instance_uuid,
            message=verdict["message"],
            details=verdict["details"],
        )
        self._peers.cell0.store_in_cell0(self._context, [one.instance for one in found], fault)

    def map_to_cell0(self) -> None:
        """Map the instances to cell0."""

        def write(session: Session) -> list[str]:
            self._lock(session)
            return instance_mapping.move_to(
                session, self._pending(session), CELL0_UUID, self._reservation.context
            )

        self._clean_up_if_any(self._write(write))

    def close(self) -> None:
        """Remove the reservation once nothing is left of it."""
        if not self._is_closed:
            self._is_closed = self._write(
                lambda session: reservations.delete_if_empty(session, self.lease.key)
            )

    # Scheduling

    def _ask_scheduler(self) -> Destinations:
        """Return the answer, which may be known already. Raises what the scheduler raised."""
        answer, self._answer = self._answer, None
        if isinstance(answer, Exception):
            raise answer
        if answer is not None:
            return answer
        return self._peers.scheduling.select_destinations(
            self._context,
            self._spec(self._scheduled),
            self._scheduled,
            fences=[int(self._reservation.fence)] * len(self._scheduled),
            timeout_seconds=self._answer_timeout_seconds,
        )

    def _search_zones(self, instance_uuids: Sequence[str], zones: Sequence[str]) -> Destinations:
        """Ask a scheduler for hosts of certain zones; nothing is claimed. Raises what it raised."""
        return self._peers.scheduler.select_destinations(
            self._context,
            self._spec(instance_uuids),
            instance_uuids,
            fences=[int(self._reservation.fence)] * len(instance_uuids),
            takes_zones=True,
            only_zones=zones,
            timeout_seconds=self._answer_timeout_seconds,
        )

    def _spec(self, instance_uuids: Sequence[str]) -> RequestSpec:
        """Return the spec of these instances, with the current members of its group."""
        spec = self._read(lambda session: request_specs.get_spec(session, instance_uuids[0]))
        spec.num_instances = len(instance_uuids)
        if spec.instance_group is not None:
            group_members.refresh(
                spec.instance_group,
                self._env.database,
                self._peers.cells,
                request_id=self._context.request_id,
            )
            if self._env.conf.zones.name:
                group, key = spec.instance_group, self.lease.key
                self._read(
                    lambda session: pending_group_members.remove_later_members(session, group, key)
                )
        return spec

    def _no_host_reason(self, error: exception.NoValidHost) -> str:
        """Return the reason. Raises Waits if a host may become available soon."""
        reason = error.kwargs.get("reason") or error.message
        if not self._env.conf.zones.name:
            return reason
        self._wait_for_zones(reason)
        return pending_group_members.failure_reason(
            self._env, self._reservation, self._spec(self._scheduled), self._failed_trace, reason
        )

    def _wait_for_zones(self, reason: str) -> None:
        """Raise MustWait while zones that were asked and did not answer may be back soon."""
        accepted_at = self._reservation.accepted_at
        wait = absence.reason_to_wait(self._env, self._failed_trace, accepted_at)
        if wait is not None:
            raise MustWait(f"{reason} {wait}")

    def _store_wait_reason(self, reason: str) -> None:
        if reason != self._reservation.failure:
            LOG.info("%s: %s", self.lease.key, reason)
            self._write(lambda session: self._lock(session, failure=reason[:FAILURE_LENGTH_MAX]))

    def _selections(self) -> list[NewSelections]:
        """Return the selections of each instance; each host is serialised once."""
        if self._destinations is None or self._destinations.zone_entries:
            return []
        fence = self._reservation.fence
        return selection_rows.of(self._destinations, self._scheduled, fence, {})

    def _store_failure(self, reason: PermanentFailure) -> None:
        LOG.info("%s: failed permanently: %s", self.lease.key, reason.details)
        verdict = {"message": reason.message, "details": reason.details[:FAILURE_LENGTH_MAX]}
        was_searched = self._reservation.stage == Stage.WALKING  # its trace has the walks, too
        trace = self._failed_trace or self._trace_of(reason)

        def write(session: Session) -> None:
            self._lock(session, stage=Stage.STORING_IN_CELL0, verdict=verdict)
            if not was_searched:
                self._store_trace(session, trace)

        self._write(write)
        if not self._env.notifier.is_silent:
            living = self._living()
            spec = self._read(lambda session: request_specs.find_spec(session, living))
            self._env.notifier.compute_task_failed(
                self._context, "build_instances", living, reason.details, spec=spec
            )

    def _store_trace(
        self,
        session: Session,
        trace: DecisionTrace,
        selections: Mapping[str, Sequence[Selection]] | None = None,
    ) -> None:
        size_max = self._env.conf.conductor.trace_size_max
        split = decision_traces.split(trace, size_max=size_max, selections=selections)
        traces_db.store_trace(session, self.lease.key, split, now=moment(self._env.now()))

    # Database

    def _write(self, fn: Callable[[Session], T]) -> T:
        return self._env.database.run_in_writer(fn)

    def _lock(self, session: Session, **values: Any) -> None:
        """Lock out users' deletes and renew the lease. Raises LeaseLost if it is not ours."""
        build_requests.lock(session, [self.lease.key])
        if not self._services.leases.renew(session, self.lease, **values):
            raise LeaseLost(self.lease.key)

    def _pending(self, session: Session) -> list[Pending]:
        return build_requests.list_pending(session, self.lease.key)

    def _living(self) -> list[str]:
        return [one.instance_uuid for one in self._read(self._pending) if not one.is_deleting]

    def _clean_up_if_any(self, instance_uuids: Sequence[str]) -> None:
        if instance_uuids:
            self._services.clean_up(instance_uuids)

    # Properties

    @property
    def _are_bound(self) -> bool:
        """Whether all instances must be on one host."""
        spec = self._read(lambda session: request_specs.get_spec(session, self._scheduled[0]))
        return group_members.are_bound(spec)

    @property
    def _context(self) -> RequestContext:
        self._reservation.context.update_store()
        return self._reservation.context


SCHEDULE = (
    Step("drop deleted", BuildTask.drop_deleted),
    Step("check deadline", BuildTask.check_deadline),
    Step("release former claims", BuildTask.release_former_claims),
    Step("select destinations", BuildTask.select_destinations, undo=BuildTask.release_claims),
    Step("store selections", BuildTask.store_selections),
)
HAND_OVER = (
    Step("drop deleted after scheduling", BuildTask.drop_deleted),
    Step("hand over", BuildTask.hand_over),
    Step("close", BuildTask.close),
)
WALK = (Step("walk", BuildTask.walk),)
STORE_IN_CELL0 = (
    Step("take back", BuildTask.take_back),
    Step("drop deleted before cell0", BuildTask.drop_deleted),
    Step("write to cell0", BuildTask.write_to_cell0),
    Step("map to cell0", BuildTask.map_to_cell0),
    Step("close after cell0", BuildTask.close),
)
STEPS: dict[str, Sequence[Step[BuildTask, None]]] = {
    Stage.SCHEDULING: SCHEDULE,
    Stage.CELL_HANDOVER: HAND_OVER,
    Stage.WALKING: WALK,
    Stage.STORING_IN_CELL0: STORE_IN_CELL0,
}
