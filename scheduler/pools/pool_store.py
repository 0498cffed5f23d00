"""The pools of one kind as rows of a host store, fetched from placement."""

import threading
from collections.abc import Callable, Iterable

from oslo_config import cfg

from armillary.context import admin_context
from objects.claims.pool import Pool
from objects.claims.resource_kinds import ResourceKind
from objects.hosts.host_states import HostStateBatch
from placement.interface import PlacementAPI
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.hosts.store.host_store import HostStore

POOLS_CELL_UUID = "00000000-0000-4000-8000-706f6f6c7300"
"""In place of a cell's UUID: pools belong to no cell, so each is an alternate of the others."""

_FRESH_SECONDS = 5.0
"""Seconds after which names and claims of pools are fetched again; amounts are always current."""


class PoolStore:
    """Keeps the pools of a kind. Thread-safe; a view that can be fetched again at any time."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        kind: ResourceKind,
        *,
        placement: PlacementAPI,
        clock: Callable[[], float],
    ) -> None:
        self.hosts = HostStore(conf, clock=clock)
        self.hosts.set_cluster_metadata(
            ClusterMetadata(cells=[{"uuid": POOLS_CELL_UUID, "name": "pools", "disabled": False}])
        )
        self._kind = kind
        self._placement = placement
        self._clock = clock
        self._lock = threading.Lock()
        self._seq = 0
        self._fetched_at: float | None = None

    def fetch(self, wanted: Iterable[str] = (), name: str | None = None) -> None:
        """Fetch the pools, unless they are fresh and the ``wanted`` ones (UUIDs) are known.

        ``name`` is that of another wanted one.
        """
        with self._lock:  # concurrent decisions fetch once
            uuids = list(wanted)
            is_fresh = (
                self._fetched_at is not None and self._clock() < self._fetched_at + _FRESH_SECONDS
            )
            is_named = name is None or bool(self.hosts.find_nodes("host", [name]))
            if is_fresh and is_named and len(self.hosts.rows_of(uuids)) == len(uuids):
                return
            fetched_at = self._clock()
            self._take(self._placement.list_pools(admin_context(), self._kind.trait))
            self._fetched_at = fetched_at

    def _take(self, pools: list[Pool]) -> None:
        self._seq += 1
        names = [pool.name for pool in pools]
        batch = HostStateBatch.from_values(
            cell_uuid=POOLS_CELL_UUID,
            first_seq=0,
            last_seq=self._seq,
            full=True,
            node_uuids=[pool.uuid for pool in pools],
            hosts=names,
            nodes=names,
            attributes={
                "service_up": [True] * len(pools),
                "num_instances": [pool.claims for pool in pools],
            },
        )
        self.hosts.apply(batch)
