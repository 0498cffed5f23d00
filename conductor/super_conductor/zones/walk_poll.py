"""Polling of attempts in other zones; stores the resulting state changes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from sqlalchemy.orm import Session

from armillary.context import RequestContext
from conductor.super_conductor.base_task import Environment, Peers
from conductor.super_conductor.db import build_requests, instance_mappings, zone_walks
from conductor.super_conductor.db.zone_walks import Walk, WalkState
from conductor.super_conductor.zones import walk_changes
from conductor.super_conductor.zones.attempt_states import AttemptState
from conductor.super_conductor.zones.paths import Path
from conductor.super_conductor.zones.routes import Attempts, Waiting
from conductor.super_conductor.zones.walk_store import WalkStore

LOG = logging.getLogger(__name__)


class WalkPoller:
    """Polls the attempts in progress and cancels those that failed."""

    def __init__(
        self,
        env: Environment,
        peers: Peers,
        store: WalkStore,
        context: RequestContext,
        clean_up: Callable[[Sequence[str]], None],
    ) -> None:
        self._env = env
        self._peers = peers
        self._store = store
        self._context = context
        self._clean_up = clean_up

    def hear(self) -> None:
        """Poll all zones at the same time, then cancel the attempts that failed."""
        self._poll(self._store.by_place({WalkState.ASKED, WalkState.WATCHED}), self._look)
        self._poll(self._store.by_place({WalkState.CANCELLING}), self._cancel)

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

    def _look(self, path: Path, walks: Sequence[Walk]) -> Waiting[Attempts]:
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
            if answer is not None and answer["attempt"] != one.attempt:
                answer = None
            if one.state == WalkState.CANCELLING:
                changed.append(walk_changes.after_cancel(one, answer, now))
            elif answer is not None and answer["state"] == AttemptState.ACTIVE:
                won.append(one)
            else:
                changed.append(walk_changes.after_look(one, answer, now, limit))
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
                failures = walk_changes.failures_with(one, reason)
                values = {"state": WalkState.UNKNOWN, "failures": failures}
                zone_walks.update_walk(session, one.instance_uuid, values)
                instance_mappings.map_to_zone(session, one.instance_uuid, one.path)

        self._store.write(write)
        for one in lost:
            LOG.warning("%s: zone %s does not answer; it may be there", one.instance_uuid, one.path)

    def _arrive(self, won: Sequence[Walk]) -> None:
        """Map instances to the zones that built them and end their walks."""

        def write(session: Session) -> list[str]:
            walks = {one.instance_uuid: one for one in self._store.list_in(session)}
            deleted = [uuid for uuid, one in walks.items() if one.is_deleting]
            for one in won:
                instance_mappings.map_to_zone(session, one.instance_uuid, one.path)
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
