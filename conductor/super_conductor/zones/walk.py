"""Cross-zone builds: try the hosts that zones offered until one has built the instance.

Each candidate host is tried by an *attempt*, in these states
(``conductor.super_conductor.db.zones.zone_walks.WalkState``):

- next: check that the zone of the next candidate can be reached; store that it gets an order. A
  candidate whose zone is unreachable is passed over, and tried again for a time at the end of the
  list;
- asked: send the order. If its answer is lost, ask the zone what it knows. An order that never
  arrived is cancelled there, so that it cannot take effect later. The same candidate is then tried
  once more, and for a time again at the end of the list;
- watched: poll the attempt. The walk ends when it is active;
- cancelling: cancel the attempt. The next candidate is tried only when the zone reports that
  nothing is left, so two attempts can never both succeed;
- at the end of the list: search zones that were silent when it was made
  (``conductor.super_conductor.zones.repeated_search``), and go on with the hosts that they offer;
- unknown: the zone has not answered for too long. The instance ends in ERROR and is left to
  reconciliation with that zone.

Each state is stored before it is acted upon, and each action is idempotent, so another conductor
can continue a walk from where it stands.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from sqlalchemy.orm import Session

from armillary.context import RequestContext
from conductor.common.leased_work import Step
from conductor.common.leases import Lease, Leases
from conductor.super_conductor.db import build_requests, instance_mappings, traces
from conductor.super_conductor.db.reservations import Reservation
from conductor.super_conductor.db.zones import zone_walks
from conductor.super_conductor.db.zones.zone_walks import Walk, WalkState
from conductor.super_conductor.peers import Environment, Peers
from conductor.super_conductor.permanent_failure import NO_VALID_HOST, PermanentFailure
from conductor.super_conductor.zones import walk_changes
from conductor.super_conductor.zones.paths import Path
from conductor.super_conductor.zones.repeated_search import RepeatedSearch, SearchZones
from conductor.super_conductor.zones.routes import Waiting
from conductor.super_conductor.zones.walk_start import WalkStarter
from conductor.super_conductor.zones.walk_store import WalkStore
from objects.zones.zone_attempt import Attempts, AttemptState

LOG = logging.getLogger(__name__)

_UNDER_WAY = frozenset({WalkState.ASKED, WalkState.WATCHED, WalkState.CANCELLING})


class Walks:
    """One conductor's work on the walks of one reservation, under its lease.

    ``is_waiting`` after the last step: attempts are under way, so run the steps again soon.
    ``wait_reason`` is why, if it is not an attempt.
    """

    def __init__(
        self,
        env: Environment,
        peers: Peers,
        leases: Leases,
        lease: Lease,
        reservation: Reservation,
        *,
        context: RequestContext,
        clean_up: Callable[[Sequence[str]], None],
        search: SearchZones,
    ) -> None:
        self._env = env
        self._peers = peers
        self._context = context
        self._clean_up = clean_up
        self._store = WalkStore(env, leases, lease, reservation)
        self._starter = WalkStarter(env, peers, self._store, context)
        self._repeated_search = RepeatedSearch(
            self._store, search, trace_size_max=env.conf.conductor.trace_size_max
        )
        self.is_waiting = False
        self.wait_reason: str | None = None

    # Steps

    def drop_deleted(self) -> None:
        """Drop instances that their user has deleted; a zone that may have one gets its delete."""

        def write(session: Session) -> list[str]:
            walks = [one for one in self._store.list_in(session) if one.is_deleting]
            for one in walks:
                self._store.delete_where_it_is(session, one)
            gone = [one.instance_uuid for one in self._store.pending_in(session) if one.is_deleting]
            build_requests.delete_build_requests(session, gone)
            return [one.instance_uuid for one in walks]

        if any(one.is_deleting for one in self._store.read(self._store.pending_in)):
            deleted = self._store.write(write)
            if deleted:
                self._clean_up(deleted)

    def poll(self) -> None:
        """Poll all zones at the same time, then cancel the attempts that failed."""
        self._poll(self._store.by_place({WalkState.ASKED, WalkState.WATCHED}), self._ask_state)
        self._poll(self._store.by_place({WalkState.CANCELLING}), self._cancel)

    def start_attempts(self) -> None:
        """Start the next attempts."""
        self._starter.start_attempts()

    def search_again(self) -> None:
        """Search the zones that did not answer, for walks that have no other host left."""
        self._repeated_search.run()
        self.wait_reason = self._repeated_search.wait_reason

    def reconcile(self) -> None:
        """Set ``is_waiting``. Raises PermanentFailure when no walk has a candidate left."""
        walks = self._store.walks()
        self.is_waiting = any(
            one.is_deleting
            or one.state in _UNDER_WAY
            or self._store.entry_of(one) is not None
            or self._store.open_entries(one)
            or self._store.is_in_wait(one)
            for one in walks
            if one.state != WalkState.UNKNOWN
        )
        if walks and not self.is_waiting:
            self._store.write(lambda session: _store_ends(session, walks))
            summary = walk_changes.summary_of(walks)
            waited = self._store.absence_limit.total_seconds()
            if (silent := self._store.offered.silent) and waited:
                summary = f"{summary}. No answer within {waited:.0f} s: zone {', '.join(silent)}"
            raise PermanentFailure(NO_VALID_HOST, summary)

    # Polling

    def _poll(
        self,
        places: Mapping[Path, list[Walk]],
        ask: Callable[[Path, Sequence[Walk]], Waiting[Attempts]],
    ) -> None:
        asked = [(walks, ask(path, walks)) for path, walks in places.items()]
        for walks, waiting in asked:
            try:
                answers = waiting.wait()
            except Exception as error:
                self._note_silence(walks, error)
            else:
                self._note(walks, answers)

    def _ask_state(self, path: Path, walks: Sequence[Walk]) -> Waiting[Attempts]:
        uuids = [one.instance_uuid for one in walks]
        return self._peers.zones.get_attempts(self._context, path, uuids)

    def _cancel(self, path: Path, walks: Sequence[Walk]) -> Waiting[Attempts]:
        attempts = {one.instance_uuid: one.attempt for one in walks}
        return self._peers.zones.cancel(self._context, path, attempts)

    def _note(self, walks: Sequence[Walk], answers: Attempts) -> None:
        won = []
        changed = []
        now = self._store.now
        limit = timedelta(seconds=self._env.conf.zones.attempt_timeout_seconds)
        for one in walks:
            answer = answers.get(one.instance_uuid)
            if answer is not None and answer.attempt != one.attempt:
                answer = None
            if one.state == WalkState.CANCELLING:
                changed.append(walk_changes.after_cancel(one, answer, now))
            elif answer is not None and answer.state == AttemptState.ACTIVE:
                won.append(one)
            else:
                changed.append(walk_changes.after_poll(one, answer, now, limit))
        self._store.write_changes(changed)
        if won:
            self._arrive(won)

    def _note_silence(self, walks: Sequence[Walk], error: Exception) -> None:
        limit = timedelta(seconds=self._env.conf.zones.reconcile_timeout_seconds)
        now = self._store.now
        lost = [one for one in walks if now >= one.heard_at + limit]
        LOG.debug("%s: cannot get the state of %d attempts: %s", self._store.key, len(walks), error)
        if not lost:
            return

        def write(session: Session) -> None:
            deleted = {one.instance_uuid for one in self._store.list_in(session) if one.is_deleting}
            for one in lost:
                if one.instance_uuid in deleted:
                    continue  # its delete is retried until the zone accepts it
                reason = f"outcome unknown, no answer for {limit.total_seconds():.0f} s: {error}"
                zone_walks.update_walk(session, walk_changes.unknown(one, reason))
                instance_mappings.map_to_zone(session, one.instance_uuid, one.path)

        self._store.write(write)
        for one in lost:
            LOG.warning(
                "%s: zone %s does not answer; the instance may exist there",
                one.instance_uuid,
                one.path,
            )

    def _arrive(self, won: Sequence[Walk]) -> None:
        """Map instances to the zones that built them and end their walks."""

        def write(session: Session) -> list[str]:
            walks = {one.instance_uuid: one for one in self._store.list_in(session)}
            deleted = [uuid for uuid, one in walks.items() if one.is_deleting]
            for one in won:
                instance_mappings.map_to_zone(session, one.instance_uuid, one.path)
            _store_ends(session, won)
            late = [walks[one.instance_uuid] for one in won if one.instance_uuid in deleted]
            for one in late:
                self._store.delete_where_it_is(session, one)
            build_requests.delete_build_requests(session, [one.instance_uuid for one in won])
            return [one.instance_uuid for one in late]

        late = self._store.write(write)
        for one in won:
            LOG.info("%s: built in zone %s", one.instance_uuid, one.path or "(this)")
        if late:
            self._clean_up(late)


def _store_ends(session: Session, walks: Sequence[Walk]) -> None:
    """Store how walks ended, for explanations."""
    for one in walks:
        traces.store_walk(session, one.instance_uuid, walk_changes.to_stored(one))


STEPS: Sequence[Step[Walks, None]] = (
    Step("drop deleted on their walks", Walks.drop_deleted),
    Step("poll zones", Walks.poll),
    Step("start attempts", Walks.start_attempts),
    Step("search silent zones", Walks.search_again),
    Step("reconcile walks", Walks.reconcile),
)
