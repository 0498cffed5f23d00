"""Keep the fleet complete: ask for facts and host states that are missing."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.concurrency import WorkerPool, WorkerPoolFull
from armillary.context import admin_context
from armillary.log_once import OutageLog
from conductor.cell_rpcapi import HostStatesAPI
from conductor.rpcapi import SuperConductorAPI
from objects.aggregate import Aggregate
from objects.host_states import HostStateBatch
from scheduler.facts import Facts
from scheduler.fleet import Fleet, Outcome

LOG = logging.getLogger(__name__)

_WORKERS = 8
_QUEUE_SIZE_MAX = 10000
_SILENT_SECONDS = 15.0  # a cell says something every 5 s
_STOP_SECONDS_MAX = 1.0  # who is asked may have stopped before us
_FACTS = "facts"


class StateSync:
    """Takes what is pushed, notices what is missing, asks for it in the background. Thread-safe.

    Nothing here is done inside a decision, but for waiting once until every cell was asked
    (``wait_ready``). What could not be had is asked for again by ``look_after``, which is to be
    called every few seconds.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        fleet: Fleet,
        super_conductor: SuperConductorAPI,
        host_states: HostStatesAPI,
    ) -> None:
        self._conf = conf
        self._fleet = fleet
        self._super_conductor = super_conductor
        self._host_states = host_states
        self._pool = WorkerPool(_WORKERS, "state-sync", _QUEUE_SIZE_MAX)
        self._lock = threading.Lock()
        self._missing: set[str] = {_FACTS}  # the facts, or cells
        self._in_hand: set[str] = set()
        self._tried: set[str] = set()
        self._ready = threading.Event()
        self._outages: dict[str, OutageLog] = {}

    def start(self) -> None:
        """Ask for everything; return at once."""
        self._ask(_FACTS)

    def stop(self, grace_seconds: float) -> None:
        """Ask no more."""
        self._pool.shutdown(min(grace_seconds, _STOP_SECONDS_MAX))

    def wait_ready(self, seconds: float) -> bool:
        """Wait until the facts are there and each enabled cell was asked once; tell whether so."""
        return self._ready.wait(seconds)

    @property
    def has_facts(self) -> bool:
        """Whether the super conductor has answered yet."""
        return _FACTS in self._tried

    @property
    def is_complete(self) -> bool:
        """Whether the hosts of every enabled cell are known, perhaps as of a while ago."""
        facts = self._fleet.facts
        return self.has_facts and all(self._fleet.seq_of(cell) for cell in facts.enabled_cells)

    # What is pushed -------------------------------------------------------------------------------

    def take_batch(self, batch: HostStateBatch) -> None:
        """Take over pushed host states; ask the cell when some before them are missing."""
        if batch.cell_uuid not in self._fleet.facts.cell_names:
            with self._lock:
                self._missing.add(_FACTS)
        elif self._fleet.apply(batch) is Outcome.GAP:
            LOG.debug(
                "cell %s: host states before %d are missing", batch.cell_uuid, batch.first_seq
            )
            self._ask(batch.cell_uuid)

    def take_facts(self, facts: Mapping[str, Any]) -> None:
        """Take over pushed facts, unless they are older than those here."""
        self._set_facts(facts)

    def take_aggregates(
        self, changed: Iterable[Aggregate], removed: Iterable[str], seq: int | None
    ) -> None:
        """Take over a change of aggregates; ask for the facts when one before it is missing.

        Without a number it holds until other facts come.
        """
        with self._lock:
            facts = self._fleet.facts
            is_next = seq is not None and seq == facts.seq + 1
            if not self.has_facts or (seq is not None and seq <= facts.seq):
                return
            if is_next or seq is None:
                made = facts.changed(changed, removed, seq=facts.seq if seq is None else seq)
                self._fleet.set_facts(made)
                return
        self._ask(_FACTS)

    def ask_cells(self, cell_uuids: Iterable[str]) -> None:
        """Ask cells for what changed since they were heard last."""
        for cell_uuid in sorted(cell_uuids):
            self._ask(cell_uuid)

    # What is asked for ----------------------------------------------------------------------------

    def refresh_facts(self) -> None:
        """Ask for the facts, in case a push got lost."""
        self._ask(_FACTS)

    def look_after(self) -> None:
        """Ask again for what is still missing, and cells that fell silent."""
        with self._lock:
            missing = set(self._missing)
        for what in sorted(missing.union(self._fleet.silent_cells(_SILENT_SECONDS))):
            self._ask(what)

    def _ask(self, what: str) -> None:
        with self._lock:
            self._missing.add(what)
            if what in self._in_hand:
                return
            self._in_hand.add(what)
        try:
            self._pool.submit(self._work, what)
        except (WorkerPoolFull, RuntimeError):  # it stays missing; or we are stopping
            with self._lock:
                self._in_hand.discard(what)

    def _work(self, what: str) -> None:
        outage = self._outages.setdefault(what, OutageLog(LOG, self._title(what)))
        with self._lock:
            self._missing.discard(what)  # what is noticed from now on is to be asked for again
        try:
            self._fetch_facts() if what == _FACTS else self._fetch_cell(what)
        except Exception as error:
            if not isinstance(error, exception.ArmillaryError):
                LOG.exception("asking %s failed", self._title(what))
            outage.failed(error)
            self._done(what, succeeded=False)
        else:
            outage.succeeded()
            self._done(what, succeeded=True)

    def _done(self, what: str, *, succeeded: bool) -> None:
        with self._lock:
            self._in_hand.discard(what)
            if what != _FACTS:
                self._tried.add(what)
            is_wanted_again = succeeded and what in self._missing
            if not succeeded:
                self._missing.add(what)
        self._note_ready()
        if is_wanted_again:
            self._ask(what)

    def _note_ready(self) -> None:
        if self.has_facts and self._fleet.facts.enabled_cells <= self._tried:
            self._ready.set()

    def _fetch_facts(self) -> None:
        seq = self._fleet.facts.seq
        facts = self._super_conductor.get_facts(admin_context())
        # Less than what was known when we asked: the super conductor's database was put back.
        self._set_facts(facts, is_newest=facts["seq"] < seq)

    def _set_facts(self, facts: Mapping[str, Any], *, is_newest: bool = False) -> None:
        made = Facts.from_plain(facts)
        with self._lock:
            if self.has_facts and not is_newest and made.seq <= self._fleet.facts.seq:
                return
            self._fleet.set_facts(made)
            self._tried = {_FACTS, *self._tried.intersection(made.enabled_cells)}
            self._missing &= {_FACTS, *made.enabled_cells}
            news = made.enabled_cells - self._tried
        for cell_uuid in sorted(news):
            self._ask(cell_uuid)
        self._note_ready()

    def _fetch_cell(self, cell_uuid: str) -> None:
        batch = self._host_states.get_host_states(
            admin_context(),
            cell_uuid,
            after_seq=self._fleet.seq_of(cell_uuid),
            timeout_seconds=self._conf.scheduler.sync_timeout_seconds,
        )
        self._fleet.apply(batch)

    def _title(self, what: str) -> str:
        if what == _FACTS:
            return "The super conductor"
        name = self._fleet.facts.cell_names.get(what, what)
        return f"Cell {name}'s conductor"
