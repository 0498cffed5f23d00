"""Walk instances along the hosts that several zones offered, each until one of them has built it.

An entry is tried by an *attempt*, in these states (``conductor.api_db.zone_walks.WalkState``):

- next: ask the zone of the next entry whether it can be spoken to; write down that it is asked;
- asked: give the order. Its answer may be lost: then the zone is asked what it knows, and what
  never came is cancelled there, so that it cannot come later. After that the same entry is tried
  a second time, once;
- watched: ask how it goes. Active is the end of the walk;
- cancelling: have it undone. Only when the zone says that nothing is left the next entry has its
  turn: there are never two attempts that may succeed;
- unknown: the zone has been silent for too long. The instance ends in ERROR, and is that zone's.

Each state is written down before it is acted upon, and what is done is safe to be done again, so
that a walk goes on where it stood, whoever takes it up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy.orm import Session

from conductor import stored_contexts
from conductor.api_db import build_requests
from conductor.api_db.reservations import Reservation
from conductor.api_db.zone_walks import WalkState
from conductor.leases import Lease
from conductor.tasks.base import NO_VALID_HOST, GivenUp, Parts
from conductor.zones import walk_changes
from conductor.zones.walk_hearing import WalkHearing
from conductor.zones.walk_ordering import WalkOrdering
from conductor.zones.walk_store import WalkStore

_UNDER_WAY = frozenset({WalkState.ASKED, WalkState.WATCHED, WalkState.CANCELLING})


class Walks:
    """One conductor's work on the walks of one reservation, under its lease."""

    def __init__(
        self,
        parts: Parts,
        lease: Lease,
        reservation: Reservation,
        clean_up: Callable[[Sequence[str]], None],
    ) -> None:
        context = stored_contexts.from_plain(reservation.context)
        self._store = WalkStore(parts, lease, reservation)
        self._hearing = WalkHearing(parts, self._store, context, clean_up)
        self._ordering = WalkOrdering(parts, self._store, context)
        self._clean_up = clean_up

    def drop_deleted(self) -> None:
        """Let go what its user has deleted; the zone that may have it is told until it agrees."""

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

    def hear(self) -> None:
        """Learn how the attempts go, and have those undone that failed."""
        self._hearing.hear()

    def order(self) -> None:
        """Begin the next attempts."""
        self._ordering.order()

    def settle(self) -> bool:
        """Return whether there is more to be done; raise GivenUp when no entry is left for any."""
        walks = self._store.walks()
        if not walks:
            return False
        if any(
            one.is_deleting or one.state in _UNDER_WAY or self._store.entry_of(one) is not None
            for one in walks
            if one.state != WalkState.UNKNOWN
        ):
            return True
        raise GivenUp(NO_VALID_HOST, walk_changes.summary_of(walks))
