"""Checks made all the time in a run, and when all is quiet."""

from collections.abc import Iterator

from compute_agent.virt.simulated.simulated_guest import Role
from tests.fixtures.checks.record_checks import OVERFULL, FoundGuest, RecordChecks, Row, tasks_left
from tests.simulation.hub import HUB
from tests.simulation.world import AGENTS, CELLS, World

HEARING_SECONDS = 20.0
"""Seconds after its return until an agent knows what became of its instances."""


class Checks:
    """Looks at the databases, journals and guests of a world from outside."""

    def __init__(self, world: World) -> None:
        self._world = world
        world.on_guest = self._one_guest_runs
        world.on_placement = self._nothing_is_overfull

    # At every moment

    def _one_guest_runs(self, uuid: str) -> None:
        """A guest runs once; except for hosts that cannot be reached, or could not a moment ago.

        They are given up, or evacuated, and learn of that when they are back.
        """
        hosts = [
            host
            for host, guests in self._world.guests.items()
            if uuid in guests and guests[uuid].is_running and guests[uuid].role is Role.HERE
        ]
        heard = [host for host in hosts if self._world.seconds_in_reach(host) > HEARING_SECONDS]
        if len(heard) > 1:
            self._fail(f"{uuid} runs on {' and '.join(heard)}")

    def _nothing_is_overfull(self) -> None:
        for row in self.query("placement", OVERFULL):
            self._fail(f"placement gave away too much: {tuple(row.values())}")

    # When all is quiet

    def is_quiet(self) -> bool:
        """Return whether nothing is still to be done; looks no further than at the first."""
        return next(self._left(), None) is None

    def left(self) -> list[str]:
        return list(self._left())

    def _left(self) -> Iterator[str]:
        yield from tasks_left(self, CELLS, AGENTS)
        waiting = {
            row["instance_uuid"]
            for cell in CELLS
            for row in self.rows(cell, "migrations")
            if row["status"] == "finished"  # for its user: for as long as that takes
        }
        yield from self._resizes_to_note()
        for agent in AGENTS:
            for uuid in self._world.undecided(agent):
                if uuid not in waiting:
                    yield f"{agent} looks again at {uuid}"

    def _resizes_to_note(self) -> Iterator[str]:
        """A confirmed or reverted resize counts double until its cell is asked, with a backoff."""
        rows = self.rows("api", "instance_mappings")
        resizing = {row["instance_uuid"] for row in rows if row["is_resizing"]}
        if not resizing:
            return
        for cell in CELLS:
            for row in self.rows(cell, "instances"):
                is_living = row["deleted_at"] is None
                if row["uuid"] in resizing and is_living and row["vm_state"] != "resized":
                    yield f"the quota of {row['uuid']} counts its resize"

    def check(self, accepted: set[str], asked: int) -> None:
        """Check all; ``asked`` is the number of servers that users asked for."""
        mapped = {row["instance_uuid"] for row in self.rows("api", "instance_mappings")}
        for uuid in sorted(accepted - mapped):
            self._fail(f"{uuid} was accepted and is nowhere")
        if len(mapped) > asked:
            self._fail(f"{asked} servers were asked for, {len(mapped)} were made")
        guests = [
            FoundGuest(host, uuid, guest.is_running, guest.role is Role.HERE)
            for host, guests in self._world.guests.items()
            for uuid, guest in guests.items()
        ]
        RecordChecks(self, CELLS, self._fail).check_all(guests)

    # Looking

    def rows(self, database: str, table: str) -> list[Row]:
        return self.query(database, f"SELECT * FROM {table}")

    def journal(self, agent: str, table: str) -> list[Row]:
        return self.query(f"{agent}/journal", f"SELECT * FROM {table}")

    def query(self, database: str, statement: str) -> list[Row]:
        return [dict(row) for row in self._world.look(database, statement)]

    @staticmethod
    def _fail(text: str) -> None:
        HUB.watch("check", text)
        HUB.failures.append(text)
