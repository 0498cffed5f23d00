"""Second search for walks at the end of their list: of zones that did not answer the first one.

A list of hosts leaves out the zones that were late, unreachable or restarting when it was made.
When all its hosts have failed, these zones alone are searched, again and again until
they have answered or ``[zones] absence_wait_seconds`` are over. What they offer is one more list,
tried after the first. Zones that have answered once had their turn and are not searched again, so
a request that fails everywhere ends. Nothing is claimed, so the search may run twice.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Sequence

from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.builds import decision_traces
from conductor.super_conductor.db import traces
from conductor.super_conductor.db.zones import zone_walks
from conductor.super_conductor.db.zones.zone_walks import Entry, Offered
from conductor.super_conductor.permanent_failure import REFUSALS
from conductor.super_conductor.zones import absence
from conductor.super_conductor.zones.walk_store import WalkStore
from objects.destinations import Destinations
from objects.traces.decision_trace import DecisionTrace
from objects.zones.zone_answer import OfferedHost

LOG = logging.getLogger(__name__)

SearchZones = Callable[[Sequence[str], Sequence[str]], Destinations]
"""Asks a scheduler for hosts in zones, given instances and the zones' paths.

Raises as ``SchedulerAPI.select_destinations``.
"""


class RepeatedSearch:
    """Searches silent zones for the walks of one reservation.

    ``wait_reason`` is set while walks wait for them.
    """

    def __init__(self, store: WalkStore, search: SearchZones, *, trace_size_max: int) -> None:
        self._store = store
        self._search = search
        self._trace_size_max = trace_size_max
        self.wait_reason: str | None = None

    def run(self) -> None:
        """Search the silent zones if a walk has no other host left, and store what they say."""
        offered = self._store.offered
        walks = self._store.walks() if offered.silent else []
        waiting = [one.instance_uuid for one in walks if self._store.is_in_wait(one)]
        if not waiting:
            return
        self.wait_reason = (
            f"All hosts failed, waiting for {absence.count_of(offered.silent)}: "
            f"{', '.join(offered.silent)}"
        )
        try:
            found = self._search(waiting, offered.silent)
        except exception.NoValidHost as error:
            self._note(offered, [], decision_traces.from_error(error.kwargs.get("trace")))
        except REFUSALS as error:
            LOG.info("%s: no further host: %s", self._store.key, error.message)
            self._store.update_offered(dataclasses.replace(offered, silent=[]))
        except exception.Unavailable as error:
            LOG.debug("%s: cannot search zones now: %s", self._store.key, error)
        else:
            self._note(offered, found.zone_entries, found.trace)

    def _note(
        self, offered: Offered, hosts: Sequence[OfferedHost], trace: DecisionTrace | None
    ) -> None:
        """Store a new list, if there is one, and which zones are still silent."""
        known = {entry.host_id for entry in offered.entries}
        new = [
            Entry(tuple(one["path"]), one["host_id"])
            for one in hosts
            if one["host_id"] not in known and absence.is_among(one["path"], offered.silent)
        ]
        silent = absence.still_silent(offered.silent, [] if trace is None else trace.zones)
        if not new and silent == sorted(offered.silent):
            return
        after = dataclasses.replace(offered, silent=silent)
        if new:
            LOG.info("%s: %d more hosts to try", self._store.key, len(new))
            after = dataclasses.replace(after, lists=[*offered.lists, new])

        def write(session: Session) -> None:
            zone_walks.update_offered(session, self._store.key, after)
            if trace is not None:
                split = decision_traces.split(trace, size_max=self._trace_size_max)
                traces.add_search(session, self._store.key, split)

        self._store.write(write)
        self._store.offered = after
