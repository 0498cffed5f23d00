"""Joint processing of reservations that wait at the same time, as long as nothing unusual happens.

It does for many reservations what ``BuildTask`` does for one: one request to a scheduler, one
transaction for the selections, one message and one transaction for each cell. Each stage is stored
in the same way. A reservation that needs special treatment (it was resumed, a user deletes one of
its instances, no host was found) leaves the group; a BuildTask continues it at the stored stage.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterable, Sequence
from datetime import timedelta

from sqlalchemy.orm import Session

from armillary.context import admin_context
from armillary.metrics import service_metrics
from conductor.common import leased_work
from conductor.common.clock import moment
from conductor.common.leased_work import Step
from conductor.common.leases import Lease
from conductor.super_conductor.builds import decision_traces, selection_rows
from conductor.super_conductor.builds.cell_handover import BuildServices, Handover
from conductor.super_conductor.builds.instance_mapping import HeldReservation
from conductor.super_conductor.db import build_requests, reservations
from conductor.super_conductor.db import traces as traces_db
from conductor.super_conductor.db.build_requests import NewSelections, Pending
from conductor.super_conductor.db.reservations import Reservation, Stage
from conductor.super_conductor.hosts.zone_guard import check_zones
from objects.allocations.fence import FIRST_FENCE
from objects.destinations import Destinations
from objects.instances.build_request import BuildRequest
from objects.packed.scheduling_batch import Answer, BatchedRequest

LOG = logging.getLogger(__name__)

INSTANCES_MAX = 20
"""A larger reservation is processed alone: it gains nothing and would delay the others."""


@dataclasses.dataclass
class _Work:
    """One reservation of the group."""

    lease: Lease
    reservation: Reservation
    requests: list[BuildRequest] = dataclasses.field(default_factory=list)
    destinations: Destinations | None = None

    @property
    def uuids(self) -> list[str]:
        return [one.instance_uuid for one in self.requests]


class BuildGroup:
    """Processes leased reservations: first ``choose``, then ``hand_over``.

    Neither raises. Afterwards the caller has to continue those in ``alone``, with the scheduler's
    answer if there is one, and retry and release those in ``failed``. All others are in their
    cells, or were taken over by another conductor.
    """

    def __init__(self, services: BuildServices, leases: Sequence[Lease]) -> None:
        self._services = services
        self._env = services.env
        self._leases = {lease.key: lease for lease in leases}
        self._works: dict[str, _Work] = {}
        self.alone: dict[Lease, Answer | None] = {}
        self.failed: dict[Lease, Exception] = {}

    def schedule(self) -> None:
        """Select hosts for all and store them; from then on a cell may know the instances."""
        self._run(SCHEDULE)

    def hand_over(self) -> None:
        """Send all cells their instances at the same time, and map what they accepted."""
        self._run(HAND_OVER)

    def _run(self, steps: Sequence[Step[BuildGroup, None]]) -> None:
        try:
            leased_work.run(self, steps, self._services.watch)
        except Exception as error:
            self._works = {}
            self._fail(self._leases.keys() - {lease.key for lease in self.alone}, error)

    # Steps

    def read(self) -> None:
        """Keep the reservations without special features; a BuildTask processes the others."""
        with self._env.database.reader() as session:
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

    def select(self) -> None:
        """Ask a scheduler for all; a reservation without a host leaves the group."""
        works = list(self._works.values())
        asked = [self._request_of(work) for work in works]
        answers = self._services.peers.scheduling.select_destinations_many(
            asked, timeout_seconds=self._timeout_seconds
        )
        for work, answer in zip(works, answers, strict=True):
            if isinstance(answer, Destinations) and answer.hosts:
                work.destinations = answer
            else:
                del self._works[work.lease.key]
                self._leave(work.lease.key, answer)

    def store(self) -> None:
        """Store the selections and traces of all in one transaction."""
        if not self._works:
            return
        now = moment(self._env.now())
        rows: list[NewSelections] = []
        wire_forms: selection_rows.WireForms = {}
        split = {}
        for id_, work in self._works.items():
            assert work.destinations is not None, f"{id_} was answered"
            fence = work.reservation.fence
            rows += selection_rows.of(work.destinations, work.uuids, fence, wire_forms)
            split[id_] = decision_traces.split(
                work.destinations.trace,
                size_max=self._env.conf.conductor.trace_size_max,
                selections=work.destinations.selections_of(work.uuids),
            )

        def write(session: Session) -> tuple[set[str], set[str]]:
            build_requests.lock(session, self._works.keys())
            answers = [work.destinations for work in self._works.values() if work.destinations]
            selected = [host for answer in answers for host in answer.hosts]
            check_zones(session, self._env.conf, selected)
            leases = [work.lease for work in self._works.values()]
            ours = self._services.leases.renew_each(
                session, leases, stage=Stage.CELL_HANDOVER, failure=None
            )
            pending = build_requests.list_pending_of(session, ours)
            living = {
                one.instance_uuid for left in pending.values() for one in left
                if not one.is_deleting
            }  # fmt: skip
            build_requests.store_selections(
                session, [row for row in rows if row.instance_uuid in living]
            )
            if ours:
                traces_db.add_traces(session, {id_: split[id_] for id_ in ours}, now=now)
            whole = {id_ for id_ in ours if living.issuperset(self._works[id_].uuids)}
            return ours, whole

        ours, whole = self._env.database.run_in_writer(write)
        self._note_lost(self._works.keys() - ours)
        for id_ in ours - whole:
            self._leave(id_)
        self._works = {id_: work for id_, work in self._works.items() if id_ in whole}
        for work in self._works.values():
            self._choose_for(work)

    def hand_over_to_cells(self) -> None:
        """Hand each cell the instances of all reservations in one message."""
        requests = {
            one.instance_uuid: one for work in self._works.values() for one in work.requests
        }
        by_cell: dict[str, list[str]] = {}
        for one in requests.values():
            by_cell.setdefault(one.selections[0].cell_uuid, []).append(one.instance_uuid)
        handover = Handover(
            self._services,
            {
                id_: HeldReservation(work.lease, work.reservation.context)
                for id_, work in self._works.items()
            },
            lambda uuids: self._still_ours([requests[uuid] for uuid in uuids]),
            context=admin_context(),
            timeout_seconds=self._timeout_seconds,
        )
        for cell_uuid, error in handover.run(by_cell).items():
            self._fail({requests[uuid].reservation_id for uuid in by_cell[cell_uuid]}, error)
        self._note_lost(handover.lost)

    # Helpers

    def _is_plain(self, reservation: Reservation, pending: Sequence[Pending]) -> bool:
        limit = timedelta(seconds=self._env.conf.conductor.scheduling_deadline_seconds)
        return (
            reservation.stage == Stage.SCHEDULING
            and reservation.fence == FIRST_FENCE
            and 0 < len(pending) <= INSTANCES_MAX
            and not any(one.is_deleting or one.cell_uuid for one in pending)
            and moment(self._env.now()) < reservation.accepted_at + limit
        )

    @staticmethod
    def _request_of(work: _Work) -> BatchedRequest:
        spec = work.requests[0].request_spec
        spec.num_instances = len(work.requests)
        return BatchedRequest(
            spec,
            work.uuids,
            [int(work.reservation.fence)] * len(work.requests),
            work.reservation.context.request_id,
        )

    @staticmethod
    def _choose_for(work: _Work) -> None:
        """Set the stored hosts on each build request."""
        assert work.destinations is not None, f"{work.lease.key} was answered"
        chosen = work.destinations.selections()
        for request, selections in zip(work.requests, chosen, strict=True):
            request.selections, request.fence = selections, int(work.reservation.fence)

    def _still_ours(self, found: Sequence[BuildRequest]) -> list[BuildRequest]:
        ids = {one.reservation_id for one in found}
        ours = self._env.database.read(
            self._services.leases.held_by, [self._leases[id_] for id_ in ids]
        )
        return [one for one in found if one.reservation_id in ours]

    def _leave(self, id_: str, answer: Answer | None = None) -> None:
        self.alone[self._leases[id_]] = answer

    def _fail(self, ids: Iterable[str], error: Exception) -> None:
        for id_ in ids:
            self.failed.setdefault(self._leases[id_], error)

    @staticmethod
    def _note_lost(ids: Iterable[str]) -> None:
        for id_ in ids:
            service_metrics.LEASES_LOST.add()
            LOG.warning("%s: taken over by another conductor", id_)

    @property
    def _timeout_seconds(self) -> float:
        return float(self._env.conf.conductor.step_timeout_seconds)


SCHEDULE = (
    Step("read together", BuildGroup.read),
    Step("select destinations together", BuildGroup.select),
    Step("store selections together", BuildGroup.store),
)
HAND_OVER = (Step("hand over together", BuildGroup.hand_over_to_cells),)
