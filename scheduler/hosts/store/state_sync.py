"""Resync of the host store: fetch metadata and host states that a push did not bring."""

import contextlib
import logging
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.concurrency import WorkerPool, WorkerPoolFull
from armillary.context import admin_context
from armillary.logs.outage_log import OutageLog
from conductor.cell_conductor.interface import HostStatesAPI
from conductor.super_conductor.interface import SuperConductorAPI
from objects.aggregate import Aggregate
from objects.hosts.host_states import HostStateBatch
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.hosts.store.host_ownership import HostOwnership
from scheduler.hosts.store.host_store import HostStore, Outcome

LOG = logging.getLogger(__name__)

_WORKERS = 8
_QUEUE_SIZE_MAX = 10000
_SILENT_SECONDS = 15.0  # a cell sends something every 5 s
_STOP_SECONDS_MAX = 1.0  # the peer may have stopped before this process
_CLUSTER_METADATA = "cluster metadata"
_HOSTS = "hosts"
"""Whether each cell still has the hosts that are known as its own."""
_REFUSED = "refused"
"""Whether a cell may have hosts now that it was refused."""
_FROM_SUPER_CONDUCTOR = {_CLUSTER_METADATA, _HOSTS, _REFUSED}


class StateSync:
    """Applies pushes, detects gaps, and fetches what is missing in the background. Thread-safe.

    Decisions only ever wait for the first query of every cell (``wait_ready``). Failed fetches are
    retried by ``fetch_missing``, which must be called every few seconds.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        host_store: HostStore,
        super_conductor: SuperConductorAPI,
        host_states: HostStatesAPI,
    ) -> None:
        self._conf = conf
        self._host_store = host_store
        self._super_conductor = super_conductor
        self._host_states = host_states
        self._ownership = HostOwnership(host_store=host_store, super_conductor=super_conductor)
        self._pool = WorkerPool(_WORKERS, "state-sync", _QUEUE_SIZE_MAX)
        self._lock = threading.Lock()
        self._applying = threading.Lock()  # a host is new for one cell at a time
        self._missing: set[str] = {
            _CLUSTER_METADATA
        }  # cell UUIDs, and what the super conductor is asked
        self._fetching: set[str] = set()
        self._tried: set[str] = set()
        self._ready = threading.Event()
        self._heard = threading.Condition()
        self._doubts: dict[str, tuple[float, float]] = {}  # cell -> last heard, end of the wait
        self._outages: dict[str, OutageLog] = {}

    def start(self, *, is_restored: bool = False) -> None:
        """Start to fetch everything; return immediately.

        ``is_restored``: the host store has metadata and hosts from a snapshot, which answer until
        they are replaced.
        """
        self._ask(_CLUSTER_METADATA)
        if is_restored:
            with self._lock:
                self._tried.add(_CLUSTER_METADATA)
            self.ask_cells(self._host_store.cluster_metadata.enabled_cells)

    def stop(self, grace_seconds: float) -> None:
        """Stop fetching."""
        self._pool.shutdown(min(grace_seconds, _STOP_SECONDS_MAX))

    def wait_ready(self, seconds: float) -> bool:
        """Wait for the metadata and a query of each enabled cell; return whether all happened."""
        return self._ready.wait(seconds)

    def wait_for_cells_in_doubt(self, seconds: float) -> None:
        """Wait for cells that may be silent only because this process was cut off.

        Each is asked once, and waited for once: if it has not answered by then, it counts as down.
        """
        doubtful = self._cells_in_doubt()
        if not doubtful:
            return
        with self._heard:
            for cell_uuid, heard_at in doubtful.items():
                if self._doubts.get(cell_uuid, (None,))[0] != heard_at:
                    self._doubts[cell_uuid] = heard_at, time.monotonic() + seconds
                    LOG.info(
                        "Polling %s, because no cell has sent anything for a while",
                        self._title(cell_uuid),
                    )
                    self._ask_beside(cell_uuid)
            while (remaining := self._doubt_ends_at() - time.monotonic()) > 0:
                self._heard.wait(remaining)

    def _cells_in_doubt(self) -> dict[str, float]:
        enabled = self._host_store.cluster_metadata.enabled_cells
        return self._host_store.heartbeats.in_doubt(enabled)

    def _doubt_ends_at(self) -> float:
        """Return when the wait for the cells in doubt ends; 0 if there is none to wait for."""
        doubtful = self._cells_in_doubt()
        ends = [
            ends_at
            for cell_uuid, (heard_at, ends_at) in self._doubts.items()
            if doubtful.get(cell_uuid) == heard_at
        ]
        return max(ends, default=0.0)

    @property
    def has_cluster_metadata(self) -> bool:
        """Whether the super conductor has responded yet."""
        return _CLUSTER_METADATA in self._tried

    @property
    def is_complete(self) -> bool:
        """Whether every enabled cell has sent its hosts, even if these are not up to date."""
        return self.can_answer and not self._host_store.restored_cells()

    @property
    def can_answer(self) -> bool:
        """Whether the hosts of every enabled cell are known, perhaps from a snapshot."""
        cluster_metadata = self._host_store.cluster_metadata
        return self.has_cluster_metadata and all(
            self._host_store.seq_of(cell) for cell in cluster_metadata.enabled_cells
        )

    # Pushes ---------------------------------------------------------------------------------------

    def apply_batch(self, batch: HostStateBatch) -> None:
        """Apply pushed host states; fetch from the cell if earlier ones are missing.

        A push with hosts that are new for the cell is not applied: they are fetched and checked.
        """
        cell_uuid = batch.cell_uuid
        if cell_uuid not in self._host_store.cluster_metadata.cell_names:
            with self._lock:
                self._missing.add(_CLUSTER_METADATA)
            return
        batch = self._ownership.without_refused(batch)
        with self._applying:
            if self._ownership.has_new(batch):
                self._host_store.heartbeats.note(cell_uuid)
                found = "new hosts are to be checked"
            elif self._host_store.apply(batch) is Outcome.GAP:
                found = f"host states before {batch.first_seq} are missing"
            else:
                found = ""
        self._end_doubt()
        if found:
            LOG.debug("Cell %s: %s", cell_uuid, found)
            self._ask(cell_uuid)

    def take_cluster_metadata(
        self, cluster_metadata: Mapping[str, Any], *, is_newest: bool = False
    ) -> None:
        """Apply metadata, unless it is older than the current one; ``is_newest`` always is."""
        made = ClusterMetadata.from_plain(cluster_metadata)
        with self._lock:
            before = self._host_store.cluster_metadata
            if self.has_cluster_metadata and not is_newest and made.seq <= before.seq:
                return
            self._host_store.set_cluster_metadata(made)
            self._tried = {_CLUSTER_METADATA, *self._tried.intersection(made.enabled_cells)}
            self._missing &= _FROM_SUPER_CONDUCTOR | made.enabled_cells
            news = made.enabled_cells - self._tried
        for cell_uuid in sorted(news):
            self._ask(cell_uuid)
        if len(self._host_store) and (is_newest or made.hosts_seq != before.hosts_seq):
            self._ask(_HOSTS)
        self._note_ready()

    def take_aggregates(
        self, changed: Iterable[Aggregate], removed: Iterable[str], seq: int | None
    ) -> None:
        """Apply a change of aggregates; fetch the metadata if an earlier change is missing.

        Without a number it applies until the next metadata arrives.
        """
        with self._lock:
            cluster_metadata = self._host_store.cluster_metadata
            is_next = seq is not None and seq == cluster_metadata.seq + 1
            if not self.has_cluster_metadata or (seq is not None and seq <= cluster_metadata.seq):
                return
            if (is_next or seq is None) and not cluster_metadata.is_restored:
                made = cluster_metadata.changed(
                    changed, removed, seq=cluster_metadata.seq if seq is None else seq
                )
                self._host_store.set_cluster_metadata(made)
                return
        self._ask(_CLUSTER_METADATA)

    def ask_cells(self, cell_uuids: Iterable[str]) -> None:
        """Fetch changes since the last push from cells."""
        for cell_uuid in sorted(cell_uuids):
            self._ask(cell_uuid)

    # Fetches --------------------------------------------------------------------------------------

    def refresh_cluster_metadata(self) -> None:
        """Fetch the metadata, in case a push was lost."""
        self._ask(_CLUSTER_METADATA)

    def fetch_missing(self) -> None:
        """Fetch again what is still missing, and from cells that stopped pushing."""
        with self._lock:
            missing = set(self._missing)
        if self._ownership.has_refused:
            missing.add(_REFUSED)
        enabled = self._host_store.cluster_metadata.enabled_cells
        missing.update(self._host_store.heartbeats.silent(enabled, _SILENT_SECONDS))
        for what in sorted(missing):
            self._ask(what)

    def _ask(self, what: str) -> None:
        with self._lock:
            self._missing.add(what)
            if what in self._fetching:
                return
            self._fetching.add(what)
        try:
            self._pool.submit(self._work, what)
        except (WorkerPoolFull, RuntimeError):  # retried later, or shutting down
            with self._lock:
                self._fetching.discard(what)

    def _ask_beside(self, cell_uuid: str) -> None:
        """Fetch from a cell, although an earlier fetch may wait for an answer that was lost."""
        with contextlib.suppress(WorkerPoolFull, RuntimeError):
            self._pool.submit(self._fetch_beside, cell_uuid)

    def _fetch_beside(self, cell_uuid: str) -> None:
        try:
            self._fetch_cell(cell_uuid)
        except exception.ArmillaryError as error:  # the fetches of ``fetch_missing`` say so
            LOG.debug("%s did not answer: %s", self._title(cell_uuid), error)

    def _work(self, what: str) -> None:
        outage = self._outages.setdefault(what, OutageLog(LOG, self._title(what)))
        with self._lock:
            self._missing.discard(what)  # a gap detected after this needs another fetch
        try:
            self._fetch(what)
        except Exception as error:
            if not isinstance(error, exception.ArmillaryError):
                LOG.exception("%s: the fetch failed", self._title(what))
            outage.failed(error)
            self._done(what, succeeded=False)
        else:
            outage.succeeded()
            self._done(what, succeeded=True)

    def _done(self, what: str, *, succeeded: bool) -> None:
        with self._lock:
            self._fetching.discard(what)
            if what not in _FROM_SUPER_CONDUCTOR:
                self._tried.add(what)
            is_wanted_again = succeeded and what in self._missing
            if not succeeded:
                self._missing.add(what)
        self._note_ready()
        if is_wanted_again:
            self._ask(what)

    def _note_ready(self) -> None:
        if (
            self.has_cluster_metadata
            and self._host_store.cluster_metadata.enabled_cells <= self._tried
        ):
            self._ready.set()

    def _fetch(self, what: str) -> None:
        if what == _CLUSTER_METADATA:
            self._fetch_cluster_metadata()
        elif what == _HOSTS:
            self._ownership.check_known()
        elif what == _REFUSED:
            self.ask_cells(self._ownership.cells_to_ask_again())
        else:
            self._fetch_cell(what)

    def _fetch_cluster_metadata(self) -> None:
        seq = self._host_store.cluster_metadata.seq
        cluster_metadata = self._super_conductor.get_cluster_metadata(admin_context())
        # A lower number than before means that the super conductor's database was restored.
        self.take_cluster_metadata(cluster_metadata, is_newest=cluster_metadata["seq"] < seq)

    def _fetch_cell(self, cell_uuid: str) -> None:
        batch = self._host_states.get_host_states(
            admin_context(),
            cell_uuid,
            after_seq=self._host_store.seq_of(cell_uuid),
            timeout_seconds=self._conf.scheduler.sync_timeout_seconds,
        )
        batch, new = self._ownership.check(batch)
        with self._applying:
            self._ownership.evict(cell_uuid, new)
            self._host_store.apply(batch)
        self._end_doubt()

    def _end_doubt(self) -> None:
        """Let the requests look again that wait for cells in doubt."""
        if self._doubts:
            with self._heard:
                self._heard.notify_all()

    def _title(self, what: str) -> str:
        if what in _FROM_SUPER_CONDUCTOR:
            return "The super conductor"
        name = self._host_store.cluster_metadata.cell_names.get(what, what)
        return f"Cell {name}'s conductor"
