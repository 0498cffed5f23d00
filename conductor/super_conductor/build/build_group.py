"""Joint processing of reservations that wait at the same time, as long as nothing unusual happens.

It does for many reservations what :class:`~conductor.super_conductor.build.build_task.BuildTask`
does for one: one
request to a scheduler, one transaction for the selections, one message and one transaction for each
cell. Each stage is stored in the same way. A reservation that needs special treatment (it was
resumed, a user deletes one of its instances, no host was found) leaves the group, and a BuildTask
continues it at the stored stage.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy.orm import Session

from armillary import exception, service_metrics
from armillary.context import admin_context
from conductor.cell_conductor.interface import CellConductorAPI
from conductor.common import leased_work
from conductor.common.clock import moment
from conductor.common.leased_work import StepHook
from conductor.common.leases import Lease
from conductor.super_conductor.base_task import Dependencies
from conductor.super_conductor.build import decision_traces, instance_mapping, selection_rows
from conductor.super_conductor.build.instance_mapping import HeldReservation
from conductor.super_conductor.db import build_requests, reservations
from conductor.super_conductor.db import traces as traces_db
from conductor.super_conductor.db.build_requests import Pending
from conductor.super_conductor.db.reservations import Reservation, Stage
from conductor.super_conductor.peer_link import Asked
from objects.destinations import Destinations
from objects.fence import FIRST_FENCE
from objects.instances.build_request import BuildRequest
from objects.packed.scheduling_batch import Answer, BatchedRequest

LOG = logging.getLogger(__name__)

INSTANCES_MAX = 20
"""A larger reservation is processed alone: it gains nothing and would delay the others."""

MAPPING_SECONDS = 10.0
"""Seconds added to a cell's timeout for the transactions between its answers."""


@dataclasses.dataclass(frozen=True)
class SeparateReservation:
    """A reservation to continue separately, with the scheduler's answer if there is one."""

    lease: Lease
    answer: Answer | None = None


@dataclasses.dataclass
class _Work:
    """One reservation of the group."""

    lease: Lease
    reservation: Reservation
    requests: list[BuildRequest] = dataclasses.field(default_factory=list)
    destinations: Destinations | None = None

    @property
    def held(self) -> HeldReservation:
        return HeldReservation(self.lease, self.reservation.context)

    @property
    def uuids(self) -> list[str]:
        return [one.instance_uuid for one in self.requests]


class BuildGroup:
    """Processes leased reservations: first ``choose``, then ``hand_over``.

    Neither raises. Afterwards the caller has to continue those in ``alone`` and retry and release
    those in ``failed``. All others are in their cells, or were taken over by another conductor.
    """

    def __init__(
        self,
        parts: Dependencies,
        leases: Sequence[Lease],
        clean_up: Callable[[Sequence[str]], None],
        watch: StepHook = leased_work.no_hook,
    ) -> None:
        self._parts = parts
        self._leases = {lease.key: lease for lease in leases}
        self._clean_up = clean_up
        self._watch = watch
        self._works: dict[str, _Work] = {}
        self.alone: list[SeparateReservation] = []
        self.failed: dict[Lease, Exception] = {}

    def choose(self) -> None:
        """Select hosts for all and store them; from then on a cell may know the instances."""
        try:
            self._watch("read together")
            self._read()
            self._watch("select destinations together")
            self._select()
            self._watch("store selections together")
            self._store()
        except Exception as error:
            self._works = {}
            left = {one.lease.key for one in self.alone}
            self._fail(self._leases.keys() - left, error)

    def hand_over(self) -> None:
        """Send all cells their instances at the same time, and map what they accepted."""
        by_cell: dict[str, list[BuildRequest]] = {}
        for work in self._works.values():
            for one in work.requests:
                by_cell.setdefault(one.selections[0].cell_uuid, []).append(one)
        try:
            self._watch("hand over together")
            asked = [(found, self._ask(cell_uuid, found)) for cell_uuid, found in by_cell.items()]
        except Exception as error:
            self._fail(self._works, error)
            return
        for found, waiting in asked:
            try:
                self._wait(waiting, len(found))
            except Exception as error:
                self._fail([one.reservation_id for one in found], error)

    # Selecting hosts

    def _read(self) -> None:
        """Keep the reservations without special features; a BuildTask processes the others."""
        with self._parts.database.reader() as session:
            known = reservations.find_reservations(session, self._leases.keys())
            pending = build_requests.list_pending_of(session, known.keys())
            plain = [id_ for id_ in known if self._is_plain(known[id_], pending.get(id_, []))]
            uuids = [one.instance_uuid for id_ in plain for one in pending[id_]]
            found = build_requests.list_build_requests(session, uuids)
        self._works = {id_: _Work(self._leases[id_], known[id_]) for id_ in plain}
        for one in found:
            self._works[one.reservation_id].requests.append(one)
        in_groups = [
            id_ for id_, work in self._works.items()
            if not work.requests or work.requests[0].request_spec.instance_group is not None
        ]  # fmt: skip
        for id_ in in_groups:
            del self._works[id_]
        for id_ in known.keys() - self._works.keys():
            self._leave(id_)

    def _is_plain(self, reservation: Reservation, pending: Sequence[Pending]) -> bool:
        limit = timedelta(seconds=self._parts.conf.conductor.scheduling_deadline_seconds)
        return (
            reservation.stage == Stage.SCHEDULING
            and reservation.fence == FIRST_FENCE
            and 0 < len(pending) <= INSTANCES_MAX
            and not any(one.is_deleting or one.cell_uuid for one in pending)
            and moment(self._parts.now()) < reservation.accepted_at + limit
        )

    def _select(self) -> None:
        works = list(self._works.values())
        asked = [self._request_of(work) for work in works]
        answers = self._parts.scheduling.select_destinations_many(
            asked, timeout_seconds=self._patience_seconds
        )
        for work, answer in zip(works, answers, strict=True):
            if isinstance(answer, Destinations) and answer.hosts:
                work.destinations = answer
            else:
                del self._works[work.lease.key]
                self._leave(work.lease.key, answer)

    @staticmethod
    def _request_of(work: _Work) -> BatchedRequest:
        spec = work.requests[0].request_spec
        spec.num_instances = len(work.requests)
        return BatchedRequest(
            spec,
            work.uuids,
            [int(work.reservation.fence)] * len(work.requests),
            work.reservation.context.get("request_id"),
        )

    def _store(self) -> None:
        if not self._works:
            return
        now = moment(self._parts.now())
        rows: list[dict[str, Any]] = []
        wire_forms: dict[int, dict[str, Any]] = {}
        told = {}
        for id_, work in self._works.items():
            assert work.destinations is not None, f"{id_} was answered"
            fence = work.reservation.fence
            rows += selection_rows.of(work.destinations, work.uuids, fence, wire_forms)
            told[id_] = decision_traces.split(
                work.destinations.trace, size_max=self._parts.conf.conductor.trace_size_max
            )

        def write(session: Session) -> tuple[set[str], set[str]]:
            build_requests.lock(session, self._works.keys())
            leases = [work.lease for work in self._works.values()]
            ours = self._parts.reservations.renew_each(
                session, leases, stage=Stage.HANDING_OVER, failure=None
            )
            pending = build_requests.list_pending_of(session, ours)
            living = {
                one.instance_uuid for left in pending.values() for one in left
                if not one.is_deleting
            }  # fmt: skip
            build_requests.store_selections(
                session, [row for row in rows if row["instance_uuid"] in living]
            )
            if ours:
                traces_db.add_traces(session, {id_: told[id_] for id_ in ours}, now=now)
            whole = {id_ for id_ in ours if living.issuperset(self._works[id_].uuids)}
            return ours, whole

        ours, whole = self._parts.database.run_in_writer(write)
        self._say_lost(self._works.keys() - ours)
        for id_ in ours - whole:
            self._leave(id_)
        self._works = {id_: work for id_, work in self._works.items() if id_ in whole}
        for work in self._works.values():
            self._choose_for(work)

    @staticmethod
    def _choose_for(work: _Work) -> None:
        """Set the stored hosts on each build request."""
        assert work.destinations is not None, f"{work.lease.key} was answered"
        chosen = work.destinations.selections()
        for request, selections in zip(work.requests, chosen, strict=True):
            request.selections, request.fence = selections, int(work.reservation.fence)

    # Handing over to cells

    def _ask(self, cell_uuid: str, found: Sequence[BuildRequest]) -> Asked[None] | None:
        try:
            return self._parts.cells.ask(
                cell_uuid, lambda cell: self._hand_over_to(cell, cell_uuid, found)
            )
        except exception.CellUnavailable:
            return None  # logged already

    def _wait(self, asked: Asked[None] | None, count: int) -> None:
        if asked is None:
            raise exception.CellUnavailable(cell="", reason="too many calls are waiting for it")
        batches = -(-count // self._batch_size)
        asked.wait(self._patience_seconds * batches + MAPPING_SECONDS)

    def _hand_over_to(
        self, cell: CellConductorAPI, cell_uuid: str, found: Sequence[BuildRequest]
    ) -> None:
        """Send instances to a cell, in a thread of the cell.

        It may run so late that another conductor has taken over some reservations; those are
        skipped.
        """
        for start in range(0, len(found), self._batch_size):
            batch = self._still_ours(found[start : start + self._batch_size])
            if batch:
                self._parts.cell_handover.build_instances(
                    admin_context(), cell_uuid, cell, batch, timeout_seconds=self._patience_seconds
                )
                self._map(cell_uuid, batch)

    def _still_ours(self, found: Sequence[BuildRequest]) -> list[BuildRequest]:
        ids = {one.reservation_id for one in found}
        with self._parts.database.reader() as session:
            ours = self._parts.reservations.held_by(session, [self._leases[id_] for id_ in ids])
        return [one for one in found if one.reservation_id in ours]

    def _map(self, cell_uuid: str, taken: Sequence[BuildRequest]) -> None:
        held = {one.reservation_id: self._works[one.reservation_id].held for one in taken}
        done = self._parts.database.run_in_writer(
            lambda session: instance_mapping.map_to_cell(
                session, self._parts.reservations, held, cell_uuid, taken
            )
        )
        ids = ", ".join(held.keys() - done.lost)
        LOG.info("%s: instances handed over: %d (cell %s)", ids, len(taken), cell_uuid)
        self._say_lost(done.lost)
        if done.deleted:
            self._clean_up(done.deleted)

    # Leaving the group

    def _leave(self, id_: str, answer: Answer | None = None) -> None:
        self.alone.append(SeparateReservation(self._leases[id_], answer))

    def _fail(self, ids: Iterable[str], error: Exception) -> None:
        for id_ in ids:
            self.failed.setdefault(self._leases[id_], error)

    @staticmethod
    def _say_lost(ids: Iterable[str]) -> None:
        for id_ in ids:
            service_metrics.lease_lost()
            LOG.warning("%s: taken over by another conductor", id_)

    @property
    def _patience_seconds(self) -> float:
        return float(self._parts.conf.conductor.step_timeout_seconds)

    @property
    def _batch_size(self) -> int:
        return int(self._parts.conf.conductor.build_batch_size_max)
