"""Checks of a quiet deployment."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from objects.cell_mapping import CELL0_UUID
from objects.instances.migration import ENDED
from tests.faults.operations import UNRECORDED, Accepted
from tests.faults.records import HELD, MISCOUNTED, OVERFULL, Guest, Records, Row

AT_REST = frozenset(
    {"active", "stopped", "resized", "shelved", "shelved_offloaded", "soft-delete", "error"}
)
OFF = frozenset({"stopped", "shelved", "soft-delete"})
WORKS = {
    "api": ("reservations", "build_requests", "cleanups", "moves"),
    "cell": ("instance_builds", "instance_deletes", "instance_operations"),
}
"""Tables whose rows are tasks, each with its lease."""


def left(records: Records, agents: Sequence[str]) -> list[str]:
    """Return what is still to be done, or on its way."""
    tables = [("api", table) for table in WORKS["api"]]
    tables += [(cell, table) for cell in records.cells for table in WORKS["cell"]]
    found = [
        f"{database}.{table} has {_short(row)}"
        for database, table in tables
        for row in records.rows(database, table)
    ]
    for agent in agents:
        found += [
            f"{agent} has yet to report {_short(row)}" for row in records.journal(agent, "outbox")
        ]
        found += [
            f"{agent} has an open command {_short(row)}"
            for row in records.journal(agent, "commands")
            if not row["is_done"]
        ]
        found += [
            f"{agent} works on {row['uuid']}, {row['state']}"
            for row in records.journal(agent, "instances")
            if row["state"] in ("building", "deleting", "arriving")
        ]
    return found


class Checks:
    """Compares all records of a quiet deployment with each other, once."""

    def __init__(self, records: Records, accepted: Sequence[Accepted]) -> None:
        self._records = records
        self._accepted = accepted
        self.findings: list[str] = []
        self._instances: dict[str, list[Row]] = defaultdict(list)
        for cell in (*records.cells, "cell0"):
            for row in records.rows(cell, "instances"):
                self._instances[row["uuid"]].append({**row, "cell": cell})
        self._living = {
            uuid: row
            for uuid, rows in self._instances.items()
            for row in rows
            if row["deleted_at"] is None
        }
        self._migrations = [
            row for cell in records.cells for row in records.rows(cell, "migrations")
        ]
        self._mappings = {
            row["instance_uuid"]: row for row in records.rows("api", "instance_mappings")
        }

    def check(self) -> list[str]:
        """Return everything that is not as it must be when nothing is left to do."""
        self._check_places()
        self._check_states()
        self._check_guests(self._records.guests())
        self._check_journals()
        self._check_allocations()
        self._check_history()
        self._check_requests()
        if not self.findings:  # to ask the broker takes long, and what is not done has messages
            self._check_litter()
        return self.findings

    def _check_places(self) -> None:
        """Each server is in one cell, the one that its mapping names, or gone for users as well."""
        uuids = {**self._records.cell_uuids, "cell0": CELL0_UUID}
        for uuid, rows in self._instances.items():
            cells = [row["cell"] for row in rows if row["deleted_at"] is None]
            if len(cells) > 1:
                self._find(f"{uuid} lives in {' and '.join(cells)}")
        for uuid, mapping in self._mappings.items():
            row = self._living.get(uuid)
            if mapping["queued_for_delete"]:
                if row is not None:
                    self._find(f"{uuid} is deleted for users and lives in {row['cell']}")
            elif row is None:
                self._find(f"{uuid} is in no cell")
            elif uuids[row["cell"]] != mapping["cell_uuid"]:
                self._find(f"{uuid} is in {row['cell']} and mapped to {mapping['cell_uuid']}")
            elif mapping["is_resizing"] and row["vm_state"] != "resized":
                self._find(f"{uuid} counts as being resized and is {row['vm_state']}")
        for uuid in self._living.keys() - self._mappings.keys():
            self._find(f"{uuid} is in {self._living[uuid]['cell']} and has no mapping")

    def _check_states(self) -> None:
        reasons = {
            fault["instance_uuid"]
            for cell in (*self._records.cells, "cell0")
            for fault in self._records.rows(cell, "instance_faults")
            if fault["message"]
        }
        for uuid, row in self._living.items():
            if row["vm_state"] not in AT_REST or row["task_state"] is not None:
                self._find(f"{uuid} ended as {row['vm_state']}, {row['task_state']}")
            if row["vm_state"] == "error" and uuid not in reasons:
                self._find(f"{uuid} is in error for no reason")

    def _check_guests(self, guests: Sequence[Guest]) -> None:
        """Each guest is where its record says, and nowhere else, on or off as that says."""
        running = {(guest.host, guest.uuid) for guest in guests if guest.is_running}
        for guest in guests:
            row = self._living.get(guest.uuid)
            if not guest.is_running and (guest.uuid, guest.host) in self._left_behind():
                continue
            if row is None:
                self._find(f"{guest.host} keeps {guest.uuid}, which is gone")
            elif row["host"] != guest.host:
                self._find(f"{guest.host} keeps {guest.uuid}, which is on {row['host']}: {guest}")
        for uuid, row in self._living.items():
            is_running = (row["host"], uuid) in running
            if row["vm_state"] == "active" and not is_running:
                self._find(f"{uuid} is active and does not run on {row['host']}")
            if row["vm_state"] in OFF and is_running:
                self._find(f"{uuid} is {row['vm_state']} and runs on {row['host']}")

    def _left_behind(self) -> set[tuple[str, str]]:
        """Return what is kept at sources of moves that wait to be confirmed."""
        return {
            (row["instance_uuid"], row["source_host"])
            for row in self._migrations
            if row["status"] == "finished"
        }

    def _check_journals(self) -> None:
        entries = {
            (row["uuid"], row["host"]): row["state"]
            for agent in self._records.agents
            for row in self._records.journal(agent, "instances")
        }
        placed = {(uuid, row["host"]) for uuid, row in self._living.items() if row["host"]}
        for uuid, host in placed - entries.keys():
            if self._living[uuid]["vm_state"] != "error":
                self._find(f"{uuid} is on {host}, whose journal does not know of it")
        for (uuid, host), state in entries.items():
            if (uuid, host) not in placed | self._left_behind():
                self._find(f"the journal of {host} has {uuid} as {state}, which is not there")

    def _check_allocations(self) -> None:
        held: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
        for row in self._records.query("placement", HELD):
            held[row["consumer_uuid"]][row["provider"]][row["class"]] = int(row["amount"])
        wanted = dict(self._wanted())
        for consumer in sorted(held.keys() | wanted.keys()):
            if held.get(consumer) != wanted.get(consumer):
                row = self._living.get(consumer, {})
                self._find(
                    f"{consumer} ({row.get('vm_state', 'no instance')}, {row.get('host')}) holds "
                    f"{json.dumps(held.get(consumer))}, not {json.dumps(wanted.get(consumer))}"
                )
        for row in self._records.query("placement", OVERFULL):
            self._find(f"placement gave away too much: {row}")
        for row in self._records.query("placement", MISCOUNTED):
            self._find(f"placement counts wrongly: {row}")

    def _wanted(self) -> Iterator[tuple[str, dict[str, dict[str, int]]]]:
        nodes = {
            row["host"]: row["uuid"]
            for cell in self._records.cells
            for row in self._records.rows(cell, "compute_nodes")
        }
        for uuid, row in self._living.items():
            if row["host"] is not None:
                yield uuid, {nodes[row["host"]]: _resources(row["flavor"])}
        for row in self._migrations:
            if row["status"] == "finished":
                yield row["uuid"], {nodes[row["source_host"]]: _resources(row["old_flavor"])}

    def _check_history(self) -> None:
        for row in self._migrations:
            if row["status"] not in ENDED and row["status"] != "finished":
                self._find(f"migration {row['uuid']} ended as {row['status']}")
        waiting = {row["instance_uuid"] for row in self._migrations if row["status"] == "finished"}
        resized = {uuid for uuid, row in self._living.items() if row["vm_state"] == "resized"}
        for uuid in waiting ^ resized:
            self._find(f"{uuid}: either it is resized, or a migration of it waits, not both")

    def _check_requests(self) -> None:
        """Each accepted request is in the history, over, and says why if it failed."""
        actions = {
            (row["request_id"], row["instance_uuid"]): row
            for cell in (*self._records.cells, "cell0")
            for row in self._records.rows(cell, "instance_actions")
        }
        for row in actions.values():
            if row["finish_time"] is None:
                self._find(f"{row['instance_uuid']}: {row['action']} never ended")
        for request in self._accepted:
            for uuid in request.servers:
                self._check_request(request, uuid, actions)

    def _check_request(
        self, request: Accepted, uuid: str, actions: dict[tuple[str, str], Row]
    ) -> None:
        mapping = self._mappings.get(uuid)
        if mapping is None:
            self._find(f"{uuid} was accepted by {request.request_id} and is nowhere")
            return
        if request.operation == "force_delete":
            if not mapping["queued_for_delete"]:
                self._find(f"{uuid} was to be deleted for good and is there")
            return
        if request.operation == "delete" and mapping["queued_for_delete"]:
            return  # perhaps by another request, which it joined
        is_gone = mapping["queued_for_delete"] and uuid not in self._instances
        if request.operation in UNRECORDED or is_gone:
            return
        if (request.request_id, uuid) not in actions:
            self._find(f"{uuid}: {request.operation} was accepted and is nowhere: {request}")

    def _check_litter(self) -> None:
        for path in self._records.litter():
            self._find(f"left over: {path}")
        for name, queue in self._records.queues().items():
            if not queue["consumers"] and "/replies_" in name:
                continue  # it expires: its process has another name for it now
            if queue["messages"] or not queue["consumers"]:
                self._find(
                    f"queue {name} has {queue['messages']} messages, {queue['consumers']} consumers"
                )

    def _find(self, text: str) -> None:
        self.findings.append(text)


def _resources(flavor: Any) -> dict[str, int]:
    """Return what an instance with a flavor, as it is stored, takes of its host."""
    values = json.loads(flavor) if isinstance(flavor, str) else flavor
    values = values.get("armillary_object.data", values)
    disk = values["root_gb"] + values.get("ephemeral_gb", 0) + -(-values.get("swap_mb", 0) // 1024)
    amounts = {"VCPU": values["vcpus"], "MEMORY_MB": values["memory_mb"], "DISK_GB": disk}
    return {name: amount for name, amount in amounts.items() if amount}


def _short(row: Row) -> str:
    """Return a row without its big parts."""
    return str({name: value for name, value in row.items() if len(str(value)) < 80})
