"""Keep the servers of an affinity group on one host, while they walk along hosts of many zones.

The zone that owns a host knows the members that live there, and nothing of those in other zones:
the origin alone knows of all. So it orders nothing beside members that are elsewhere, and no more
than one host at a time while none has arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy.orm import Session

from conductor import group_members
from conductor.api_db import request_specs, server_groups
from conductor.api_db.zone_walks import Walk
from conductor.group_members import Places
from conductor.zones import paths
from conductor.zones.walk_store import Entry, WalkStore
from objects.instance_group import AFFINITY

PassOver = Callable[[Walk, Entry, str], None]
"""Has a walk go on to its next entry, for a reason."""


class Affinity:
    """Of the walks of one reservation, which may have their turn now."""

    def __init__(self, store: WalkStore) -> None:
        self._store = store
        self._group: str | None = None
        self._is_read = False

    def allowed(
        self, ready: Sequence[tuple[Walk, Entry]], pass_over: PassOver
    ) -> list[tuple[Walk, Entry]]:
        """Return those that may be ordered now; others wait, or pass over their entries.

        Who waits does so for members that are being built elsewhere, which may fail there.
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
        """Return the UUID of the reservation's group, None for one with another policy."""
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
    return f"members of its server group, whose policy is affinity, are in zone {names}"
