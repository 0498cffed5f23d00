"""Affinity across zones: keep the servers of an affinity group on one host during their walks.

A zone knows the group members on its own hosts, and no members in other zones. Only the origin zone
knows all of them. So it never sends a build to a zone while members are in another one, and to no
more than one host at a time until the first member has been placed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy.orm import Session

from conductor.super_conductor.build import group_members
from conductor.super_conductor.build.group_members import Places
from conductor.super_conductor.db import request_specs, server_groups
from conductor.super_conductor.db.zone_walks import Entry, Walk
from conductor.super_conductor.zones import paths
from conductor.super_conductor.zones.walk_store import WalkStore
from objects.instances.instance_group import AFFINITY

PassOver = Callable[[Walk, Entry, str], None]
"""Moves a walk on to its next candidate host, for the given reason."""


class Affinity:
    """Selects the walks of one reservation that may start an attempt now."""

    def __init__(self, store: WalkStore) -> None:
        self._store = store
        self._group: str | None = None
        self._is_read = False

    def allowed(
        self, ready: Sequence[tuple[Walk, Entry]], pass_over: PassOver
    ) -> list[tuple[Walk, Entry]]:
        """Return the walks that may be ordered now; the others wait or skip their candidate.

        A walk waits while members of its group are being built elsewhere, because those builds may
        still fail.
        """
        group = self._affinity_group(ready)
        if group is None:
            return list(ready)
        walking = {one.instance_uuid for one, _entry in ready}
        places = self._store.read(lambda session: _places_of_others(session, group, walking))
        may_go = []
        for one, entry in ready:
            if not places.under_way <= {_under_way(entry)}:
                continue
            if places.settled and paths.to_text(entry.path) not in places.settled:
                pass_over(one, entry, _reason(places))
                continue
            may_go.append((one, entry))
        return [(one, entry) for one, entry in may_go if entry == may_go[0][1]]

    def _affinity_group(self, ready: Sequence[tuple[Walk, Entry]]) -> str | None:
        """Return the UUID of the reservation's group; None unless its policy is affinity."""
        if not self._is_read and ready:
            uuid = ready[0][0].instance_uuid
            spec = self._store.read(lambda session: request_specs.get_spec(session, uuid))
            group = spec.instance_group
            self._group = group.uuid if group and group.policy == AFFINITY else None
            self._is_read = True
        return self._group


def _places_of_others(session: Session, group: str, walking: set[str]) -> Places:
    members = server_groups.list_members(session, group)
    return group_members.places_of(session, [uuid for uuid in members if uuid not in walking])


def _under_way(entry: Entry) -> tuple[str, str]:
    return paths.to_text(entry.path), entry.host_id


def _reason(places: Places) -> str:
    names = ", ".join(sorted(path or "(this)" for path in places.settled))
    return f"other members of its affinity server group are in zone {names}"
