"""The workflows of a super conductor: builds, moves, claims and deletes, with their leases.

Images that hosts fetch in advance have none.
"""

import logging
import os
from collections.abc import Callable

from sqlalchemy.orm import InstrumentedAttribute

from armillary import exception
from armillary.concurrency import WorkerPool
from armillary.concurrency.periodic import PeriodicTask
from conductor.common import leased_work
from conductor.common.leased_work import LeasedWork, Recovery, StepHook
from conductor.common.leases import LeaseMixin, Leases
from conductor.super_conductor.builds.build_workers import WALK_POLL_SECONDS, Builds
from conductor.super_conductor.claims.claim_task import Claims
from conductor.super_conductor.db import models
from conductor.super_conductor.delete.delete_task import Deletes
from conductor.super_conductor.hosts.image_caching import ImageCaching
from conductor.super_conductor.move.move_task import Moves
from conductor.super_conductor.peers import Environment, Peers
from conductor.super_conductor.servers.deferred_operations import DeferredOperations
from conductor.super_conductor.servers.image_tickets import ImageTickets

LOG = logging.getLogger(__name__)


class Workflows:
    """Builds, moves and claims share the pool of workers; ``watch`` is called before each step."""

    def __init__(
        self,
        env: Environment,
        peers: Peers,
        workers: WorkerPool,
        watch: StepHook = leased_work.no_hook,
    ) -> None:
        self._env = env
        self._workers = workers
        reservations = self._leases(models.Reservation, models.Reservation.reservation_id)
        cleanups = self._leases(models.Cleanup, models.Cleanup.instance_uuid)
        moves = self._leases(models.Move, models.Move.migration_uuid)
        deferred = self._leases(models.DeferredOperation, models.DeferredOperation.instance_uuid)
        self.deferred = DeferredOperations(env, deferred)
        self.deletes = Deletes(env, peers, cleanups, watch)
        self.builds = Builds(env, peers, reservations, workers, self.deletes.clean_up, watch)
        self.moves = Moves(env, peers, moves, workers, watch)
        claims = self._leases(models.Claim, models.Claim.uuid)
        self.claims = Claims(env, peers, claims, workers, watch)
        self.image_tickets = ImageTickets(env.conf, env.database, env.now)
        self.image_caching = ImageCaching(
            env.conf, env.database, peers.cells, env.notifier, tickets=self.image_tickets
        )

    def periodic_tasks(self) -> list[PeriodicTask]:
        """Return the tasks that renew leases and resume work without one."""
        conf = self._env.conf.conductor
        renewal, recovery = conf.lease_seconds / 3, conf.recovery_interval_seconds
        return [
            PeriodicTask("renew-leases", renewal, self.builds.keeper.renew_all),
            PeriodicTask("renew-moves", renewal, self.moves.keeper.renew_all),
            PeriodicTask("renew-claims", renewal, self.claims.keeper.renew_all),
            PeriodicTask("recover-builds", recovery, self._recovery_of(self.builds)),
            PeriodicTask("recover-moves", recovery, self._recovery_of(self.moves)),
            PeriodicTask("recover-claims", recovery, self._recovery_of(self.claims)),
            PeriodicTask("recover-deletes", recovery, self._recovery_of(self.deletes)),
            PeriodicTask("recover-deferred", recovery, self._recovery_of(self.deferred)),
            PeriodicTask("continue-walks", WALK_POLL_SECONDS, self.builds.continue_walks),
        ]

    def stop(self, grace_seconds: float) -> None:
        """Finish running work; release the leases of unfinished work for other conductors."""
        self.image_caching.stop()
        if self._workers.shutdown(grace_seconds):
            return
        try:
            self.builds.keeper.release_all()
            self.moves.keeper.release_all()
            self.claims.keeper.release_all()
        except exception.DatabaseUnavailable as error:
            LOG.warning("Cannot release leases, work resumes when they expire: %s", error)

    def _leases(self, model: type[LeaseMixin], key: InstrumentedAttribute[str]) -> Leases:
        return Leases(
            model,
            key,
            owner=f"{self._env.conf.host}/{os.getpid()}",
            lease_seconds=self._env.conf.conductor.lease_seconds,
            now=self._env.now,
        )

    def _recovery_of(self, work: LeasedWork) -> Callable[[], int]:
        return Recovery(self._env.conf, database=self._env.database, works=[work]).run
