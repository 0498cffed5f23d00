"""Checks made all the time in a run, and when all is quiet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from compute_agent.virt.simulated.simulated_guest import Role
from objects.cell_mapping import CELL0_UUID
from objects.instances.migration import ENDED
from tests.simulation.hub import HUB
from tests.simulation.world import AGENTS, CELLS, World

AT_REST = frozenset(
    {"active", "stopped", "resized", "shelved", "shelved_offloaded", "soft-delete", "error"}
)
HEARING_SECONDS = 20.0
"""Seconds after its return until an agent knows what became of its instances."""
_INTENTS = {
    "api": ("reservations", "build_requests", "cleanups", "moves"),
    **dict.fromkeys(CELLS, ("instance_builds", "instance_deletes", "instance_operations")),
}
_OVERFULL = """
SELECT p.name, c.name, sum(a.amount), i.total, i.reserved, i.allocation_ratio
FROM allocations a JOIN inventories i USING (resource_provider_id, resource_class_id)
JOIN resource_providers p ON p.id = a.resource_provider_id
JOIN resource_classes c ON c.id = a.resource_class_id
GROUP BY a.resource_provider_id, a.resource_class_id
HAVING sum(a.amount) > (i.total - i.reserved) * i.allocation_ratio + 0.001
"""
_HELD = """
SELECT a.consumer_uuid, p.uuid, c.name, a.amount
FROM allocations a JOIN resource_providers p ON p.id = a.resource_provider_id
JOIN resource_classes c ON c.id = a.resource_class_id
ORDER BY 1, 2, 3
"""

Row = dict[str, Any]


class Checks:
    """Looks at the databases, journals and guests of a world from outside."""

    def __init__(self, world: World) -> None:
        self._world = world
        world.on_guest = self._one_guest_runs
        world.on_placement = self._nothing_is_overfull

    # At every moment

    def _one_guest_runs(self, uuid: str) -> None:
        """A guest runs once; but for hosts that cannot be reached, or could not a moment ago.

        They are given up, or evacuated, and hear of that when they are back.
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
        for row in self._query("placement", _OVERFULL):
            self._fail(f"placement gave away too much: {tuple(row.values())}")

    # When all is quiet

    def is_quiet(self) -> bool:
        """Return whether nothing is still to be done; looks no further than at the first."""
        return next(self._left(), None) is None

    def left(self) -> list[str]:
        """Return what is still to be done."""
        return list(self._left())

    def _left(self) -> Iterator[str]:
        for database, tables in _INTENTS.items():
            for table in tables:
                for row in self._rows(database, table):
                    yield f"{database}.{table}: {row}"
        for agent in AGENTS:
            yield from (f"{agent} reports {row}" for row in self._journal(agent, "outbox"))
            yield from (f"{agent} has an open command {row}" for row in self._open_commands(agent))
            for row in self._journal(agent, "instances"):
                if row["state"] in ("building", "deleting"):
                    yield f"{agent} works on {row['uuid']} {row['state']}"
        waiting = {
            row["instance_uuid"]
            for cell in CELLS
            for row in self._rows(cell, "migrations")
            if row["status"] == "finished"  # for its user: for as long as that takes
        }
        for agent in AGENTS:
            for uuid in self._world.undecided(agent):
                if uuid not in waiting:
                    yield f"{agent} looks again at {uuid}"

    def check(self, accepted: set[str]) -> None:
        """Note everything that is not as it must be when nothing is left to do."""
        living = self._living()
        self._check_servers(living, accepted)
        self._check_guests(living)
        self._check_allocations(living)
        self._check_history(living)
        self._nothing_is_overfull()

    def _living(self) -> dict[str, Row]:
        """Return the living instances, each of which is in one place."""
        found: dict[str, Row] = {}
        for cell in (*CELLS, "cell0"):
            for row in self._rows(cell, "instances"):
                if row["deleted_at"] is None:
                    if row["uuid"] in found:
                        self._fail(f"{row['uuid']} is in {cell} and {found[row['uuid']]['cell']}")
                    found[row["uuid"]] = {**row, "cell": cell}
        return found

    def _check_servers(self, living: dict[str, Row], accepted: set[str]) -> None:
        mappings = {row["instance_uuid"]: row for row in self._rows("api", "instance_mappings")}
        uuids = {"cell0": CELL0_UUID, **CELLS}
        for uuid in sorted(accepted - mappings.keys()):
            self._fail(f"{uuid} was accepted and is nowhere")
        for uuid, mapping in mappings.items():
            if mapping["queued_for_delete"]:
                if uuid in living:
                    self._fail(f"{uuid} is deleted for users and lives in {living[uuid]['cell']}")
            elif uuid not in living:
                self._fail(f"{uuid} is in no cell")
            elif uuids[living[uuid]["cell"]] != mapping["cell_uuid"]:
                self._fail(f"{uuid} is mapped to {mapping['cell_uuid']}, not {living[uuid]}")
        for uuid, row in living.items():
            if uuid not in mappings:
                self._fail(f"{uuid} is in {row['cell']} and has no mapping")
            if row["vm_state"] not in AT_REST or row["task_state"] is not None:
                self._fail(f"{uuid} ended as {row['vm_state']}, {row['task_state']}")
            faults = [each for each in self._rows(row["cell"], "instance_faults")
                      if each["instance_uuid"] == uuid]  # fmt: skip
            if row["vm_state"] == "error" and not any(fault["message"] for fault in faults):
                self._fail(f"{uuid} is in error for no reason")

    def _check_guests(self, living: dict[str, Row]) -> None:
        migrations = [row for cell in CELLS for row in self._rows(cell, "migrations")]
        leaving = {
            (row["instance_uuid"], row["source_host"])
            for row in migrations
            if row["status"] == "finished"
        }
        for host, guests in self._world.guests.items():
            for uuid, guest in guests.items():
                row = living.get(uuid)
                if (uuid, host) in leaving and not guest.is_running:
                    continue
                if row is None:
                    self._fail(f"{host} keeps {uuid} ({guest.role}), which is gone")
                elif row["host"] != host:
                    self._fail(f"{host} keeps {uuid} ({guest.role}), which is on {row['host']}")
        for uuid, row in living.items():
            own = self._world.guests.get(row["host"], {}).get(uuid)
            is_running = own is not None and own.is_running and own.role is Role.HERE
            if row["vm_state"] == "active" and not is_running:
                self._fail(f"{uuid} is active on {row['host']}: {own}")
            if row["vm_state"] in ("stopped", "shelved", "soft-delete") and is_running:
                self._fail(f"{uuid} is {row['vm_state']} and runs on {row['host']}")

    def _check_allocations(self, living: dict[str, Row]) -> None:
        held: dict[str, dict[str, dict[str, int]]] = {}
        for row in self._query("placement", _HELD):
            providers = held.setdefault(row["consumer_uuid"], {})
            providers.setdefault(row["uuid"], {})[row["name"]] = row["amount"]
        wanted = dict(self._wanted(living))
        for consumer in sorted(held.keys() | wanted.keys()):
            if held.get(consumer) != wanted.get(consumer):
                row = living.get(consumer, {})
                self._fail(
                    f"{consumer} ({row.get('vm_state', 'no instance')}, {row.get('host')}) holds "
                    f"{held.get(consumer)}, not {wanted.get(consumer)}"
                )

    def _wanted(self, living: dict[str, Row]) -> Iterator[tuple[str, dict[str, dict[str, int]]]]:
        nodes = {
            row["host"]: row["uuid"] for cell in CELLS for row in self._rows(cell, "compute_nodes")
        }
        for uuid, row in living.items():
            if row["host"] is not None:
                yield uuid, {nodes[row["host"]]: _resources(row["flavor"])}
        for cell in CELLS:
            for row in self._rows(cell, "migrations"):
                if row["status"] == "finished":
                    yield row["uuid"], {nodes[row["source_host"]]: _resources(row["old_flavor"])}
                elif row["status"] not in ENDED:
                    self._fail(f"migration {row['uuid']} ended as {row['status']}")

    def _check_history(self, living: dict[str, Row]) -> None:
        for cell in CELLS:
            waiting = {
                row["instance_uuid"]
                for row in self._rows(cell, "migrations")
                if row["status"] == "finished"
            }
            resized = {uuid for uuid, row in living.items()
                       if row["cell"] == cell and row["vm_state"] == "resized"}  # fmt: skip
            if waiting != resized:
                self._fail(f"{cell}: resized are {resized}, migrations wait of {waiting}")
            for row in self._rows(cell, "instance_actions"):
                if row["finish_time"] is None:
                    self._fail(f"{row['instance_uuid']}: {row['action']} never ended")

    # Looking

    def _open_commands(self, agent: str) -> list[Row]:
        return [row for row in self._journal(agent, "commands") if not row["is_done"]]

    def _rows(self, database: str, table: str) -> list[Row]:
        return self._query(database, f"SELECT * FROM {table}")

    def _journal(self, agent: str, table: str) -> list[Row]:
        return self._query(f"{agent}/journal", f"SELECT * FROM {table}")

    def _query(self, name: str, statement: str) -> list[Row]:
        return [dict(row) for row in self._world.look(name, statement)]

    @staticmethod
    def _fail(text: str) -> None:
        HUB.watch("check", text)
        HUB.failures.append(text)


def _resources(flavor: str) -> dict[str, int]:
    """Return what an instance with a flavor, in its wire form, takes of its host."""
    values = json.loads(flavor)
    values = values.get("armillary_object.data", values)
    disk = values["root_gb"] + values.get("ephemeral_gb", 0) + -(-values.get("swap_mb", 0) // 1024)
    return {
        name: amount
        for name, amount in (
            ("VCPU", values["vcpus"]),
            ("MEMORY_MB", values["memory_mb"]),
            ("DISK_GB", disk),
        )
        if amount
    }
