"""Bring an accepted request to its cells: schedule, store, hand over, map; or bury it in cell0.

What was decided is stored as the reservation's stage before it is acted on, and what is left of a
stage is found in the database, so a reservation goes on where it stood, whoever takes it up.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext, admin_context
from conductor import group_members, mapping, selection_rows, stored_contexts, traces
from conductor.api_db import (
    build_requests,
    cleanups,
    request_specs,
    reservations,
    zone_walks,
)
from conductor.api_db import traces as traces_db
from conductor.api_db.build_requests import Pending
from conductor.api_db.reservations import Reservation, Stage
from conductor.build_group import MAPPING_SECONDS
from conductor.cell_rpcapi import CellConductorAPI
from conductor.leases import Lease
from conductor.links import Asked
from conductor.mapping import Held
from conductor.moments import moment
from conductor.tasks import base
from conductor.tasks.base import (
    NO_VALID_HOST,
    REFUSED,
    TOO_LATE,
    GivenUp,
    LeaseLost,
    Parts,
    Step,
    Watch,
)
from conductor.zones import companions
from conductor.zones.companions import Waits
from conductor.zones.walk import Walks
from objects.allocation import FENCE_STEP
from objects.build_request import BuildRequest
from objects.cell_mapping import CELL0_UUID
from objects.decision_trace import DecisionTrace
from objects.destinations import Destinations
from objects.instance_fault import InstanceFault
from objects.request_spec import RequestSpec
from objects.scheduling_batch import Answer

LOG = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_FENCE = FENCE_STEP

_STAGES_MAX = 4
FAILURE_LENGTH_MAX = 15_000
"""Characters of what work on a reservation ran into that are stored."""


class BuildTask:
    """One conductor's work on one reservation, under one lease. Used by one thread."""

    def __init__(
        self,
        parts: Parts,
        lease: Lease,
        clean_up: Callable[[Sequence[str]], None],
        watch: Watch = base.unwatched,
        answer: Answer | None = None,
    ) -> None:
        """``answer`` is that of a scheduler to this reservation, when it was asked already."""
        self._parts = parts
        self._lease = lease
        self._clean_up = clean_up
        self._watch = watch
        self._answer = answer
        self._reservation: Reservation
        self._destinations: Destinations | None = None
        self._left: list[Pending] = []  # as last read; a user may delete one at any time
        self._is_closed = False
        self._scheduled: list[str] = []
        self._failed_trace: DecisionTrace | None = None
        self._walks: Walks | None = None
        self.waits_for_zones = False
        """Whether ``run`` ended because other zones build, and is to be gone on with soon.

        Either for this, or for members of its group.
        """

    def run(self) -> None:
        """Go on until nothing is left. Raises what kept it from that; the lease is still held."""
        for _ in range(_STAGES_MAX):
            found = self._read(self._find_reservation)
            if found is None:
                return
            self._reservation = found
            try:
                base.run(self, STEPS[found.stage], self._watch)
            except GivenUp as reason:
                self._decide_to_bury(reason)
            except Waits as reason:
                self._note_what_it_waits_for(str(reason))
                self.waits_for_zones = True
            if self._is_closed or self.waits_for_zones:
                return

    @property
    def retry_in_seconds(self) -> float:
        """How long to wait before this is tried again: longer each time."""
        pause = float(self._parts.conf.conductor.retry_pause_seconds) * 2 ** min(
            self._takes - 1, 10
        )
        return min(pause, float(self._parts.conf.conductor.lease_seconds))

    # Steps

    def drop_deleted(self) -> None:
        """Remove instances that were deleted before any cell could know of them."""
        self._left = self._read(self._pending)
        if not any(one.is_deleting and one.cell_uuid is None for one in self._left):
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
        self._left = [one for one in self._left if one.instance_uuid not in gone]
        self._clean_up_if_any(gone)

    def check_deadline(self) -> None:
        """Give up what could not be scheduled for too long."""
        limit = timedelta(seconds=self._parts.conf.conductor.scheduling_deadline_seconds)
        if moment(self._parts.now()) >= self._reservation.accepted_at + limit:
            last = self._reservation.failure or "no try came to its end"
            raise GivenUp(
                TOO_LATE,
                f"Not scheduled within {limit.total_seconds():.0f} s; the last try: {last}",
            )

    def release_former_claims(self) -> None:
        """Free what a try of unknown outcome has claimed, and refuse what it may claim yet.

        By a fence below that of the claims to come: what is delivered late must not free those.
        """
        if self._takes > 1:
            self._parts.placement.release(
                admin_context(), dict.fromkeys(self._living(), self._reservation.fence - 1)
            )

    def select_destinations(self) -> None:
        """Ask a scheduler for a host, claimed, and alternates for each instance."""
        self._scheduled = [one.instance_uuid for one in self._left if not one.is_deleting]
        if not self._scheduled:
            return
        try:
            self._destinations = self._ask_scheduler()
        except exception.NoValidHost as error:
            self._failed_trace = traces.from_error(error.kwargs.get("trace"))
            raise GivenUp(NO_VALID_HOST, self._why_there_is_no_host(error)) from error
        except (exception.Invalid, exception.NotFound, exception.RequestFilterFailed) as error:
            raise GivenUp(REFUSED, error.message) from error

    def release_claims(self) -> None:
        """Free all that was ever claimed for the instances; no claim comes after this."""

        def write(session: Session) -> list[str]:
            self._lock(session)
            uuids = [one.instance_uuid for one in self._pending(session)]
            cleanups.add_releases(session, uuids, self._reservation.context)
            return uuids

        self._clean_up_if_any(self._write(write))

    def store_selections(self) -> None:
        """Write the answer and its trace; from here on a cell may know of the instances."""
        chosen = self._selections()
        entries = [] if self._destinations is None else self._destinations.zone_entries
        stage = Stage.WALKING if entries else Stage.HANDING_OVER

        def write(session: Session) -> None:
            self._lock(session, stage=stage, failure=None)
            living = {one.instance_uuid for one in self._pending(session) if not one.is_deleting}
            if entries:
                begun = [uuid for uuid in self._scheduled if uuid in living]
                now = moment(self._parts.now())
                zone_walks.add_walks(
                    session, self._lease.key, entries, begun, together=self._are_bound, now=now
                )
            build_requests.store_selections(
                session, [row for uuid, row in chosen.items() if uuid in living]
            )
            if self._destinations is not None:
                self._store_trace(session, self._destinations.trace)

        self._write(write)

    def hand_over(self) -> None:
        """Give each cell its instances, all cells at the same time, and map what they took."""
        by_cell: dict[str, list[str]] = {}
        for one in self._left:
            if one.cell_uuid is not None:
                by_cell.setdefault(one.cell_uuid, []).append(one.instance_uuid)
        asked = [
            (self._ask_to_build(cell_uuid, uuids), len(uuids))
            for cell_uuid, uuids in by_cell.items()
        ]
        failures = [error for error in (self._wait(one, n) for one, n in asked) if error]
        if failures:
            raise failures[0]

    def drop_deleted_walks(self) -> None:
        """Let go what was deleted while zones were asked to build it."""
        self._walks = Walks(self._parts, self._lease, self._reservation, self._clean_up)
        self._walks.drop_deleted()

    def hear_from_zones(self) -> None:
        """Learn how the attempts in other zones go."""
        self._walks_begun.hear()

    def order_from_zones(self) -> None:
        """Begin the next attempts."""
        self._walks_begun.order()

    def settle_walks(self) -> None:
        """End when all have arrived, or nowhere to go; else come again soon."""
        self.waits_for_zones = self._walks_begun.settle()
        if not self.waits_for_zones:
            self.close()

    def take_back(self) -> None:
        """Undo what scheduling may have done."""
        base.unwind(self, SCHEDULE)

    def write_to_cell0(self) -> None:
        """Store the instances in cell0, in ERROR, with the reason."""
        living = self._living()
        found = self._read(lambda session: build_requests.list_build_requests(session, living))
        if not found:
            return
        fault = InstanceFault.from_values(
            instance_uuid=found[0].instance_uuid,
            **self._reservation.verdict,
        )
        self._parts.cell0.bury(self._context, [one.instance for one in found], fault)

    def map_to_cell0(self) -> None:
        """Say that the instances are in cell0."""

        def write(session: Session) -> list[str]:
            self._lock(session)
            return mapping.move_to(
                session, self._pending(session), CELL0_UUID, self._reservation.context
            )

        self._clean_up_if_any(self._write(write))

    def close(self) -> None:
        """Remove the reservation when nothing is left of it."""
        if not self._is_closed:
            self._is_closed = self._write(self._delete_if_empty)

    # Scheduling

    def _ask_scheduler(self) -> Destinations:
        """Return the answer, which may be there already. Raises what the scheduler raised."""
        answer, self._answer = self._answer, None
        if isinstance(answer, Exception):
            raise answer
        if answer is not None:
            return answer
        return self._parts.scheduling.select_destinations(
            self._context,
            self._spec(),
            self._scheduled,
            fences=[self._reservation.fence] * len(self._scheduled),
            timeout_seconds=self._patience_seconds,
        )

    def _spec(self) -> RequestSpec:
        """Return the spec of all instances that are asked for, its group as it is now."""
        spec = self._read(lambda session: request_specs.get_spec(session, self._scheduled[0]))
        spec.num_instances = len(self._scheduled)
        if spec.instance_group is not None:
            group_members.refresh(
                spec.instance_group,
                self._parts.database,
                self._parts.cells,
                request_id=self._context.request_id,
            )
            if self._parts.conf.zones.name:
                group, key = spec.instance_group, self._lease.key
                self._read(lambda session: companions.leave_out_those_behind(session, group, key))
        return spec

    def _why_there_is_no_host(self, error: exception.NoValidHost) -> str:
        """Return the reason. Raises Waits where there may be one soon."""
        reason = error.kwargs.get("reason") or error.message
        if not self._parts.conf.zones.name:
            return reason
        return companions.reason_to_give_up(
            self._parts, self._reservation, self._spec(), self._failed_trace, reason
        )

    def _note_what_it_waits_for(self, reason: str) -> None:
        if reason != self._reservation.failure:
            LOG.info("%s: %s", self._lease.key, reason)
            self._write(lambda session: self._lock(session, failure=reason[:FAILURE_LENGTH_MAX]))

    def _selections(self) -> dict[str, dict[str, Any]]:
        """Return instance -> the row with its selections; each host is put into wire form once."""
        if self._destinations is None or self._destinations.zone_entries:
            return {}
        rows = selection_rows.of(self._destinations, self._scheduled, self._reservation.fence, {})
        return {row["instance_uuid"]: row for row in rows}

    def _decide_to_bury(self, reason: GivenUp) -> None:
        LOG.info("%s: given up: %s", self._lease.key, reason.details)
        verdict = {"message": reason.message, "details": reason.details[:FAILURE_LENGTH_MAX]}
        trace = self._failed_trace or DecisionTrace.from_values(
            request_id=self._context.request_id,
            created_at=moment(self._parts.now()),
            sentence=reason.details,
        )

        def write(session: Session) -> None:
            self._lock(session, stage=Stage.BURYING, verdict=verdict)
            self._store_trace(session, trace)

        self._write(write)
        self._parts.notifier.compute_task_failed(
            self._context, "build_instances", self._living(), reason.details
        )

    def _store_trace(self, session: Session, trace: DecisionTrace) -> None:
        size_max = self._parts.conf.conductor.trace_size_max
        shared, choices = traces.split(trace, size_max=size_max)
        now = moment(self._parts.now())
        traces_db.store_trace(session, self._lease.key, shared, choices, now=now)

    # Handing over

    def _ask_to_build(self, cell_uuid: str, instance_uuids: Sequence[str]) -> Asked[None] | None:
        try:
            return self._parts.cells.ask(
                cell_uuid, lambda cell: self._hand_over_to(cell, cell_uuid, instance_uuids)
            )
        except exception.CellUnavailable:
            return None  # said in the log already

    def _wait(self, asked: Asked[None] | None, count: int) -> Exception | None:
        """Return why a cell did not take its instances, None when it took all."""
        if asked is None:
            return exception.CellUnavailable(cell="", reason="too many calls wait for it")
        batches = math.ceil(count / self._batch_size)
        try:
            asked.wait(self._patience_seconds * batches + MAPPING_SECONDS)
        except Exception as error:
            return error
        return None

    def _hand_over_to(
        self, cell: CellConductorAPI, cell_uuid: str, instance_uuids: Sequence[str]
    ) -> None:
        """Run in a thread of the cell, perhaps so late that all of this is somebody else's work."""
        for start in range(0, len(instance_uuids), self._batch_size):
            batch = instance_uuids[start : start + self._batch_size]
            found = self._read(partial(build_requests.list_build_requests, instance_uuids=batch))
            if found:
                self._parts.handing_over.build_instances(
                    self._context, cell_uuid, cell, found, timeout_seconds=self._patience_seconds
                )
                self._map_to_cell(cell_uuid, found)

    def _map_to_cell(self, cell_uuid: str, taken: Sequence[BuildRequest]) -> None:
        held = {self._lease.key: Held(self._lease, self._reservation.context)}
        done = self._write(
            lambda session: mapping.map_to_cell(
                session, self._parts.reservations, held, cell_uuid, taken
            )
        )
        if done.lost:
            raise LeaseLost(self._lease.key)
        self._is_closed = bool(done.closed)
        LOG.info("%s: %d instances are in cell %s", self._lease.key, len(taken), cell_uuid)
        self._clean_up_if_any(done.deleted)

    # Database

    def _read(self, query: Callable[[Session], T]) -> T:
        with self._parts.database.reader() as session:
            return query(session)

    def _write(self, fn: Callable[[Session], T]) -> T:
        return self._parts.database.run_in_writer(fn)

    def _lock(self, session: Session, **values: Any) -> None:
        """Keep users' deletes out, and make sure that this is still our work. Raises LeaseLost."""
        build_requests.lock(session, [self._lease.key])
        if not self._parts.reservations.renew(session, self._lease, **values):
            raise LeaseLost(self._lease.key)

    def _find_reservation(self, session: Session) -> Reservation | None:
        return reservations.find_reservation(session, self._lease.key)

    def _delete_if_empty(self, session: Session) -> bool:
        return reservations.delete_if_empty(session, self._lease.key)

    def _pending(self, session: Session) -> list[Pending]:
        return build_requests.list_pending(session, self._lease.key)

    def _living(self) -> list[str]:
        return [one.instance_uuid for one in self._read(self._pending) if not one.is_deleting]

    def _clean_up_if_any(self, instance_uuids: Sequence[str]) -> None:
        if instance_uuids:
            self._clean_up(instance_uuids)

    # Small answers

    @property
    def _are_bound(self) -> bool:
        """Whether the instances have to be on one host."""
        spec = self._read(lambda session: request_specs.get_spec(session, self._scheduled[0]))
        return group_members.are_bound(spec)

    @property
    def _walks_begun(self) -> Walks:
        assert self._walks is not None, "the first step of the stage made it"
        return self._walks

    @property
    def _context(self) -> RequestContext:
        return stored_contexts.from_plain(self._reservation.context)

    @property
    def _takes(self) -> int:
        """How often the reservation was taken up, this time included."""
        return self._reservation.fence // FENCE_STEP

    @property
    def _patience_seconds(self) -> float:
        """How long to wait for an answer: longer each time, since what is slow is not dead."""
        first = float(self._parts.conf.conductor.step_timeout_seconds)
        return min(first * 2 ** min(self._takes - 1, 10), self._parts.conf.rpc.long_timeout_seconds)

    @property
    def _batch_size(self) -> int:
        return int(self._parts.conf.conductor.build_batch_size_max)


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
WALK = (
    Step("drop deleted on their walks", BuildTask.drop_deleted_walks),
    Step("hear from zones", BuildTask.hear_from_zones),
    Step("order from zones", BuildTask.order_from_zones),
    Step("settle walks", BuildTask.settle_walks),
)
BURY = (
    Step("take back", BuildTask.take_back),
    Step("drop deleted before burial", BuildTask.drop_deleted),
    Step("write to cell0", BuildTask.write_to_cell0),
    Step("map to cell0", BuildTask.map_to_cell0),
    Step("close after burial", BuildTask.close),
)
STEPS: dict[str, Sequence[Step[BuildTask]]] = {
    Stage.SCHEDULING: SCHEDULE,
    Stage.HANDING_OVER: HAND_OVER,
    Stage.WALKING: WALK,
    Stage.BURYING: BURY,
}
