"""Cross-zone builds: try the hosts that zones offered until one has built the instance.

Each candidate host is tried by an *attempt*, in these states
(``conductor.super_conductor.db.zone_walks.WalkState``):

- next: check that the zone of the next candidate can be reached; store that it gets an order;
- asked: send the order. If its answer is lost, ask the zone what it knows. An order that never
  arrived is cancelled there, so that it cannot take effect later. The same candidate is then tried
  once more;
- watched: poll the attempt. The walk ends when it is active;
- cancelling: cancel the attempt. The next candidate is tried only when the zone reports that
  nothing is left, so two attempts can never both succeed;
- unknown: the zone has not answered for too long. The instance ends in ERROR and is left to
  reconciliation with that zone.

Each state is stored before it is acted upon, and each action is idempotent, so another conductor
can continue a walk from where it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy.orm import Session

from conductor.common import stored_contexts
from conductor.common.leases import Lease, Leases
from conductor.super_conductor.base_task import (
    NO_VALID_HOST,
    Environment,
    Peers,
    PermanentFailure,
)
from conductor.super_conductor.db import build_requests
from conductor.super_conductor.db.reservations import Reservation
from conductor.super_conductor.db.zone_walks import WalkState
from conductor.super_conductor.zones import walk_changes
from conductor.super_conductor.zones.walk_poll import WalkPoller
from conductor.super_conductor.zones.walk_start import WalkStarter
from conductor.super_conductor.zones.walk_store import WalkStore

_UNDER_WAY = frozenset({WalkState.ASKED, WalkState.WATCHED, WalkState.CANCELLING})


class Walks:
    """One conductor's work on the walks of one reservation, under its lease."""

    def __init__(
        self,
        env: Environment,
        peers: Peers,
        leases: Leases,
        lease: Lease,
        reservation: Reservation,
        clean_up: Callable[[Sequence[str]], None],
    ) -> None:
        context = stored_contexts.from_plain(reservation.context)
        self._store = WalkStore(env, leases, lease, reservation)
        self._poller = WalkPoller(env, peers, self._store, context, clean_up)
        self._starter = WalkStarter(env, peers, self._store, context)
        self._clean_up = clean_up

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

    def hear(self) -> None:
        """Poll the attempts, and cancel those that failed."""
        self._poller.hear()

    def order(self) -> None:
        """Start the next attempts."""
        self._starter.order()

    def settle(self) -> bool:
        """Return whether work is left; raise PermanentFailure when no walk has a candidate left."""
        walks = self._store.walks()
        if not walks:
            return False
        if any(
            one.is_deleting or one.state in _UNDER_WAY or self._store.entry_of(one) is not None
            for one in walks
            if one.state != WalkState.UNKNOWN
        ):
            return True
        raise PermanentFailure(NO_VALID_HOST, walk_changes.summary_of(walks))
