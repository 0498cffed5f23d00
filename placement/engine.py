"""The parts of placement over one database, once in a process; RPC and REST stand on them."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable

import numpy as np
from oslo_config import cfg
from oslo_utils import timeutils

from armillary.db import Database
from objects.allocation_candidates import AllocationCandidates
from objects.resource_query import ResourceQuery
from placement import query as queries
from placement.aggregates import AggregateWriter
from placement.allocations import AllocationReader
from placement.candidates import find_candidates
from placement.claims import ClaimWriter
from placement.providers import ProviderWriter
from placement.pruning import Pruner
from placement.table_keeper import TableKeeper
from placement.usages import UsageReader


class PlacementEngine:
    """What placement can do; any number of engines may work on one database."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        database: Database,
        *,
        clock: Callable[[], dt.datetime] = timeutils.utcnow,
        dice: random.Random | None = None,
    ) -> None:
        self._conf = conf
        self._database = database
        self._dice = dice or random.SystemRandom()
        keeper = TableKeeper(database)
        self._keeper = keeper
        self.claims = ClaimWriter(
            database,
            batch_size_max=conf.placement.claim_batch_size_max,
            queue_size_max=conf.placement.claim_queue_size_max,
            clock=clock,
        )
        self.providers = ProviderWriter(database, clock)
        self.aggregates = AggregateWriter(database)
        self.allocations = AllocationReader(database)
        self.usages = UsageReader(database, keeper)
        self.pruner = Pruner(
            database, keep_seconds=conf.placement.forget_after_seconds, clock=clock
        )

    def get_candidates(self, query: ResourceQuery) -> AllocationCandidates:
        """Return the providers that fit. Raises ``InvalidResourceQuery``."""
        parsed = queries.parse(query)
        dice = self._new_dice() if self._conf.placement.randomize_allocation_candidates else None
        with self._keeper.table() as table:
            return find_candidates(table, parsed, dice)

    def ping(self) -> None:
        """Raise ``DatabaseUnavailable`` unless the database answers."""
        self._database.ping()

    def _new_dice(self) -> np.random.Generator:
        return np.random.default_rng(self._dice.getrandbits(64))  # one is for one thread only
