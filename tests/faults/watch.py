"""Check made all the time: a guest runs once."""

import threading
import time
from collections import defaultdict
from collections.abc import Sequence

from objects.instances.migration import MigrationType
from tests.faults.records import Guest, Records
from tests.fixtures.checks.record_checks import Row

LOOK_SECONDS = 0.5
RETURN_SECONDS = 60.0
"""Seconds that a silent host may need afterwards to learn what is not its own any more."""


class Watch:
    """Looks all the time whether a guest runs on two hosts together, and can be heard on both.

    What was on a host that counts as down is built elsewhere, or goes back to where it came from.
    When that host was only cut off its guests run on meanwhile; it is told when it is back.
    """

    def __init__(self, records: Records, *, pace: float) -> None:
        self._records = records
        self._return_seconds = RETURN_SECONDS * pace
        self._unheard: dict[str, float] = {}
        """When a host counted as down the last time."""
        self._evacuations: set[str] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look_on, name="watch", daemon=True)
        self.found: set[str] = set()
        self.looks = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _look_on(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            try:
                self._look()
            except Exception:
                continue

    def _look(self) -> None:
        self._see_who_is_unheard()
        for uuid, guests in _twice(self._records.guests()).items():
            # They were not looked at in the same moment: guests that still run do run together.
            still = [guest for guest in guests if guest in self._records.guests_of(guest.agent)]
            hosts = {guest.host for guest in still if not self._is_excused(guest)}
            if len(still) > 1 and len(hosts) > 1:
                self.found.add(f"{uuid} ran at the same time on {' and '.join(sorted(hosts))}")
        self.looks += 1

    def _see_who_is_unheard(self) -> None:
        for cell in self._records.cells:
            for row in self._records.rows(cell, "services"):
                if not row["is_up"]:
                    self._unheard[row["host"]] = time.monotonic()
            for row in self._records.rows(cell, "migrations"):
                self._see_evacuation(row)

    def _see_evacuation(self, row: Row) -> None:
        """Note who was given up, perhaps for a moment between two checks, and evacuated then."""
        is_new = row["uuid"] not in self._evacuations
        if row["migration_type"] == MigrationType.EVACUATION and is_new:
            self._evacuations.add(row["uuid"])
            self._unheard[row["source_host"]] = time.monotonic()

    def _is_excused(self, guest: Guest) -> bool:
        """Whether its host cannot know better yet, or is about to build or to destroy it."""
        unheard_at = self._unheard.get(guest.host)
        if unheard_at is not None and time.monotonic() - unheard_at < self._return_seconds:
            return True
        return any(
            row["state"] in ("building", "deleting")
            for row in self._records.journal(guest.agent, "instances")
            if (row["host"], row["uuid"]) == (guest.host, guest.uuid)
        )


def _twice(guests: Sequence[Guest]) -> dict[str, list[Guest]]:
    """Return guests that run on more than one host, by UUID."""
    running: dict[str, list[Guest]] = defaultdict(list)
    for guest in guests:
        if guest.is_running:
            running[guest.uuid].append(guest)
    return {uuid: found for uuid, found in running.items() if len(found) > 1}
