"""Handover of instances to their cells, and what all builds of a conductor share for it."""

import dataclasses
import logging
import math
from collections.abc import Callable, Mapping, Sequence

from armillary import exception
from armillary.concurrency.group_commit import KeyedGroupCommit
from armillary.context import RequestContext, admin_context
from conductor.cell_conductor.interface import CellConductorAPI
from conductor.common import leased_work
from conductor.common.leased_work import StepHook
from conductor.common.leases import Leases
from conductor.super_conductor.builds import instance_mapping
from conductor.super_conductor.builds.instance_mapping import HeldReservation
from conductor.super_conductor.peer_link import Asked
from conductor.super_conductor.peers import Environment, Peers
from objects.instances.build_request import BuildRequest

LOG = logging.getLogger(__name__)

MAPPING_SECONDS = 10.0
"""Seconds added to a cell's timeout for the transactions between its answers."""
_WAITING_MAX = 100_000


@dataclasses.dataclass(frozen=True, slots=True)
class _Message:
    context: RequestContext
    cell: CellConductorAPI
    requests: Sequence[BuildRequest]
    timeout_seconds: float


class HandoverBatcher:
    """Calls a cell's ``build_instances`` for concurrent callers; each gets its own result.

    While a message to a cell is in progress, further requests for the cell wait. They are sent
    together in the next message, up to ``instances_max`` instances. Nothing is kept between calls.
    """

    def __init__(self, *, instances_max: int) -> None:
        self._group_commit = KeyedGroupCommit[_Message, None](
            self._send, weight_max=instances_max, waiting_max=_WAITING_MAX
        )

    def build_instances(
        self,
        context: RequestContext,
        cell_uuid: str,
        cell: CellConductorAPI,
        requests: Sequence[BuildRequest],
        *,
        timeout_seconds: float,
    ) -> None:
        """Do what ``CellConductorAPI.build_instances`` does, and raise what it raises.

        After a timeout the outcome of all requests in the message is unknown.
        """
        message = _Message(context, cell, requests, timeout_seconds)
        self._group_commit.submit(cell_uuid, message, len(requests))

    def _send(self, group: Sequence[_Message]) -> list[None]:
        first = group[0]
        first.cell.build_instances(
            first.context if len(group) == 1 else admin_context(),
            [request for each in group for request in each.requests],
            timeout_seconds=max(each.timeout_seconds for each in group),
        )
        return [None] * len(group)


@dataclasses.dataclass(frozen=True)
class BuildServices:
    """What all builds share: ``leases`` of reservations, and ``clean_up`` for queued cleanups."""

    env: Environment
    peers: Peers
    leases: Leases
    handover_batcher: HandoverBatcher
    clean_up: Callable[[Sequence[str]], None]
    watch: StepHook = leased_work.no_hook


class Handover:
    """One handover of instances of leased reservations: all their cells at the same time.

    ``held`` are the reservations by ID. ``load`` returns the build requests of those instances that
    still have to be handed over. ``closed`` reservations have no instances left, ``lost`` ones were
    taken over by another conductor.
    """

    def __init__(
        self,
        services: BuildServices,
        held: Mapping[str, HeldReservation],
        load: Callable[[Sequence[str]], list[BuildRequest]],
        *,
        context: RequestContext,
        timeout_seconds: float,
    ) -> None:
        self._services = services
        self._held = held
        self._load = load
        self._context = context
        self._timeout_seconds = timeout_seconds
        self._batch_size = int(services.env.conf.conductor.build_batch_size_max)
        self.closed: set[str] = set()
        self.lost: set[str] = set()

    def run(self, by_cell: Mapping[str, Sequence[str]]) -> dict[str, Exception]:
        """Return cell UUID -> why a cell has not accepted its instances, for those that have not.

        ``by_cell`` are the instances of each cell.
        """
        asked = [(cell_uuid, self._ask(cell_uuid, uuids)) for cell_uuid, uuids in by_cell.items()]
        failed: dict[str, Exception] = {}
        for cell_uuid, waiting in asked:
            try:
                self._wait(waiting, len(by_cell[cell_uuid]))
            except Exception as error:
                failed[cell_uuid] = error
        return failed

    def _ask(self, cell_uuid: str, instance_uuids: Sequence[str]) -> Asked[None] | None:
        try:
            return self._services.peers.cells.ask(
                cell_uuid, lambda cell: self._hand_over(cell, cell_uuid, instance_uuids)
            )
        except exception.CellUnavailable:
            return None  # logged already

    def _wait(self, asked: Asked[None] | None, count: int) -> None:
        if asked is None:
            raise exception.CellUnavailable(cell="", reason="too many calls are waiting for it")
        batches = math.ceil(count / self._batch_size)
        asked.wait(self._timeout_seconds * batches + MAPPING_SECONDS)

    def _hand_over(
        self, cell: CellConductorAPI, cell_uuid: str, instance_uuids: Sequence[str]
    ) -> None:
        """Run in a thread of the cell, possibly after another conductor has taken the leases."""
        self._context.update_store()
        for start in range(0, len(instance_uuids), self._batch_size):
            batch = self._load(instance_uuids[start : start + self._batch_size])
            if batch and self.lost < self._held.keys():
                self._services.handover_batcher.build_instances(
                    self._context, cell_uuid, cell, batch, timeout_seconds=self._timeout_seconds
                )
                self._map(cell_uuid, batch)

    def _map(self, cell_uuid: str, taken: Sequence[BuildRequest]) -> None:
        held = {one.reservation_id: self._held[one.reservation_id] for one in taken}
        done = self._services.env.database.run_in_writer(
            instance_mapping.map_to_cell,
            self._services.leases,
            held,
            cell_uuid,
            taken,
            may_have=self._services.peers.cells.enrolments.may_have,
        )
        self.closed.update(done.closed)
        self.lost.update(done.lost)
        ids = ", ".join(held.keys() - done.lost)
        LOG.info("%s: mapped to cell %s; instances: %d", ids, cell_uuid, len(taken))
        if done.deleted:
            self._services.clean_up(done.deleted)
