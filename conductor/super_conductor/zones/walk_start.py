"""Start of the next attempts: check that a zone is reachable, store the attempt, send the order.

The servers of an affinity group stay on one host during their walks. A zone knows the group members
on its own hosts, and no members in other zones; only the origin zone knows all of them. So it never
sends a build to a zone while members are in another one, and to no more than one host at a time
until the first member has been placed.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from conductor.super_conductor.builds import group_members
from conductor.super_conductor.builds.group_members import Places
from conductor.super_conductor.db import build_requests, request_specs
from conductor.super_conductor.db.catalogue import server_groups
from conductor.super_conductor.db.zones import zone_walks
from conductor.super_conductor.db.zones.zone_attempts import OWN as OWN_ORIGIN
from conductor.super_conductor.db.zones.zone_walks import Entry, Walk, WalkState
from conductor.super_conductor.peers import Environment, Peers
from conductor.super_conductor.servers.image_tickets import ImageTickets
from conductor.super_conductor.zones import paths, walk_changes
from conductor.super_conductor.zones.paths import Path
from conductor.super_conductor.zones.routes import Waiting
from conductor.super_conductor.zones.walk_store import WalkStore
from objects.instances.instance_group import AFFINITY
from objects.request_spec import RequestSpec
from objects.zones.zone_query import ZoneOrder

LOG = logging.getLogger(__name__)

_REFUSED = (exception.Conflict, exception.NotFound, exception.Invalid, exception.Forbidden)
"""Errors of a zone that has not accepted an order; after any other error the outcome is unknown."""

_Ready = list[tuple[Walk, Entry]]


class WalkStarter:
    """Starts the next attempt of walks that are at a new candidate host."""

    def __init__(
        self, env: Environment, peers: Peers, store: WalkStore, context: RequestContext
    ) -> None:
        self._env = env
        self._peers = peers
        self._store = store
        self._context = context
        self._tickets = ImageTickets(env.conf, env.database, env.now)
        self._group: str | None = None
        self._is_group_read = False
        self._away: dict[Path, str] = {}
        """Zones that did not answer in this step, and why."""

    def start_attempts(self) -> None:
        """Start the next attempts; if a candidate is refused immediately, try the next one."""
        for _entry in self._store.offered.entries:
            if not self._start_next():
                return

    def _start_next(self) -> bool:
        """Send orders to all zones in parallel; return whether some walks can continue now."""
        ready = self._ready()
        allowed = self._allowed(ready)
        places: dict[Path, _Ready] = {}
        for one, entry in allowed:
            places.setdefault(entry.path, []).append((one, entry))
        reached = self._within_reach(places)
        is_refused = len(reached) < len(places) or (bool(ready) and not allowed)
        begun = [(path, self._begin(walks)) for path, walks in reached.items()]
        waiting = [(walks, self._give_order(path, walks)) for path, walks in begun if walks]
        for walks, answer in waiting:
            try:
                answer.wait()
            except _REFUSED as error:
                is_refused = True
                now, reason = self._store.now, error.message
                self._store.write_changes([walk_changes.failed(one, reason, now) for one in walks])
            except Exception as error:
                LOG.warning("%s: the build order may not have arrived: %s", self._store.key, error)
            else:
                now = self._store.now
                self._store.write_changes([walk_changes.watched(one, now) for one in walks])
        return is_refused

    def _ready(self) -> _Ready:
        found = []
        for one in self._store.walks():
            if one.state != WalkState.NEXT or one.is_deleting:
                continue
            entry = self._store.entry_of(one)
            others = (each for each in self._store.open_entries(one) if each.path not in self._away)
            entry = entry or next(others, None)
            if entry is not None:
                found.append((one, entry))
        return found

    def _allowed(self, ready: _Ready) -> _Ready:
        """Return the walks that may start now; the others wait or skip their candidate.

        A walk waits while members of its group are being built elsewhere, because those builds may
        still fail.
        """
        group = self._affinity_group(ready)
        if group is None:
            return ready
        walking = set(_uuids(ready))
        places = self._store.read(lambda session: _places_of_others(session, group, walking))
        may_go = []
        for one, entry in ready:
            if not places.under_way <= {_under_way(entry)}:
                continue
            if places.settled and paths.to_text(entry.path) not in places.settled:
                self._pass_over(one, entry, _reason(places))
                continue
            may_go.append((one, entry))
        return [(one, entry) for one, entry in may_go if entry == may_go[0][1]]

    def _affinity_group(self, ready: _Ready) -> str | None:
        """Return the UUID of the reservation's group; None unless its policy is affinity."""
        if not self._is_group_read and ready:
            uuid = ready[0][0].instance_uuid
            spec = self._store.read(lambda session: request_specs.get_spec(session, uuid))
            group = spec.instance_group
            self._group = group.uuid if group and group.policy == AFFINITY else None
            self._is_group_read = True
        return self._group

    def _pass_over(self, one: Walk, entry: Entry, reason: str) -> None:
        change = walk_changes.passed_over(one, entry, reason, self._store.now)
        self._store.write_changes([change])

    def _within_reach(self, places: dict[Path, _Ready]) -> dict[Path, _Ready]:
        """Return the zones that answer; walks at a candidate of another zone move on.

        No order was sent there yet, so the next candidate can be tried immediately. An unreachable
        zone is asked once in a step.
        """
        asked = [
            (path, self._peers.zones.get_attempts(self._context, path, _uuids(walks)))
            for path, walks in places.items()
            if path not in self._away
        ]
        reached = {}
        for path, waiting in asked:
            try:
                waiting.wait()
            except exception.Unavailable as error:
                self._away[path] = f"the zone could not be reached: {error}"
            except Exception as error:
                reason = f"the zone could not be reached: {error}"
                for one, entry in places[path]:
                    self._pass_over(one, entry, reason)
            else:
                reached[path] = places[path]
        now = self._store.now
        self._store.write_changes(
            [
                walk_changes.unreached(one, entry, self._away[path], now)
                for path in places.keys() & self._away.keys()
                for one, entry in places[path]
            ]
        )
        return reached

    def _begin(self, walks: _Ready) -> list[Walk]:
        """Store that the zones get an order; return the updated walks."""
        now = self._store.now

        def write(session: Session) -> list[Walk]:
            known = self._store.list_in(session)
            living = {one.instance_uuid for one in known if not one.is_deleting}
            begun = []
            for one, entry in walks:
                if one.instance_uuid not in living:
                    continue
                begun.append(walk_changes.begun(entry, one, now))
                zone_walks.update_walk(session, begun[-1])
            return begun

        return self._store.write(write)

    def _give_order(self, path: Path, walks: Sequence[Walk]) -> Waiting[None]:
        return self._peers.zones.create(self._context, path, self._order_of(path, walks))

    def _order_of(self, path: Path, walks: Sequence[Walk]) -> ZoneOrder:
        uuids = [one.instance_uuid for one in walks]
        with self._env.database.reader() as session:
            requests = {
                one.instance_uuid: one for one in build_requests.list_build_requests(session, uuids)
            }
            spec = request_specs.get_spec(session, uuids[0])
        tickets = self._tickets.of_servers(spec.image, uuids) if path else []
        return ZoneOrder.from_values(
            origin=str(self._env.conf.zones.name) if path else OWN_ORIGIN,
            request_spec=self._with_group(spec),
            instances=[requests[uuid].instance.obj_to_primitive() for uuid in uuids],
            host_ids=[str(one.host_id) for one in walks],
            attempts=[one.attempt for one in walks],
            image_tickets=[dataclasses.asdict(each) for each in tickets],
        )

    def _with_group(self, spec: RequestSpec) -> RequestSpec:
        """Return the spec with its current group, without what only the origin can use."""
        if spec.instance_group is not None:
            group_members.refresh(
                spec.instance_group,
                self._env.database,
                self._peers.cells,
                request_id=self._context.request_id,
            )
            spec.instance_group = spec.instance_group.with_values(zone_paths=[])
        return spec


def _uuids(walks: _Ready) -> list[str]:
    return [one.instance_uuid for one, _entry in walks]


def _places_of_others(session: Session, group: str, walking: set[str]) -> Places:
    members = server_groups.list_members(session, group)
    return group_members.places_of(session, [uuid for uuid in members if uuid not in walking])


def _under_way(entry: Entry) -> tuple[str, str]:
    return paths.to_text(entry.path), entry.host_id


def _reason(places: Places) -> str:
    names = ", ".join(sorted(path or "(this)" for path in places.settled))
    return f"other members of its affinity server group are in zone {names}"
