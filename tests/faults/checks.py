"""Checks of a quiet deployment of real processes."""

from collections.abc import Collection, Sequence

from tests.faults.operations import UNRECORDED, Accepted
from tests.faults.records import MISCOUNTED, Records
from tests.fixtures.checks.record_checks import FoundGuest, RecordChecks, tasks_left


def left(records: Records, agents: Sequence[str]) -> list[str]:
    """Return what is still to be done, or on its way."""
    return list(tasks_left(records, records.cells, agents))


class Checks(RecordChecks):
    """Compares journals, requests and what is left over, too."""

    def __init__(self, records: Records, accepted: Sequence[Accepted]) -> None:
        self.findings: list[str] = []
        cells = {name: records.cell_uuids[name] for name in records.cells}
        super().__init__(records, cells, self.findings.append)
        self._looked_at = records
        self._accepted = accepted

    def check(self) -> list[str]:
        """Return everything that is not as it must be when nothing is left to do."""
        guests = self._looked_at.guests()
        self.check_all(FoundGuest(each.host, each.uuid, each.is_running) for each in guests)
        for row in self._looked_at.query("placement", MISCOUNTED):
            self._find(f"placement counts wrongly: {row}")
        self._check_journals()
        self._check_requests()
        if not self.findings:  # to ask the broker takes long, and what is not done has messages
            self._check_litter()
        return self.findings

    def _check_journals(self) -> None:
        entries = {
            (row["uuid"], row["host"]): row["state"]
            for agent in self._looked_at.agents
            for row in self._looked_at.journal(agent, "instances")
        }
        placed = {(uuid, row["host"]) for uuid, row in self._living.items() if row["host"]}
        for uuid, host in placed - entries.keys():
            if self._living[uuid]["vm_state"] != "error":
                self._find(f"{uuid} is on {host}, whose journal does not know of it")
        for (uuid, host), state in entries.items():
            if (uuid, host) not in placed | self._left_behind():
                self._find(f"the journal of {host} has {uuid} as {state}, which is not there")

    def _check_requests(self) -> None:
        """Each accepted request is in the history."""
        actions = {
            (row["request_id"], row["instance_uuid"])
            for row in self._rows_of(self._uuids, "instance_actions")
        }
        for request in self._accepted:
            for uuid in request.servers:
                self._check_request(request, uuid, actions)

    def _check_request(self, request: Accepted, uuid: str, actions: set[tuple[str, str]]) -> None:
        mapping = self._mappings.get(uuid)
        if mapping is None:
            self._find(f"{uuid} was accepted by {request.request_id} and is nowhere")
            return
        if request.operation == "force_delete":
            if not mapping["queued_for_delete"]:
                self._find(f"{uuid} was to be deleted permanently and is there")
            return
        if request.operation == "delete" and (
            mapping["queued_for_delete"] or is_undone(uuid, self._accepted, actions)
        ):
            return  # perhaps by another request, which it joined
        is_gone = mapping["queued_for_delete"] and uuid not in self._instances
        if request.operation in UNRECORDED or is_gone:
            return
        if (request.request_id, uuid) not in actions:
            self._find(f"{uuid}: {request.operation} was accepted and is nowhere: {request}")

    def _check_litter(self) -> None:
        for path in self._looked_at.litter():
            self._find(f"left over: {path}")
        for name, queue in self._looked_at.queues().items():
            if not queue["consumers"] and "/replies_" in name:
                continue  # it expires: its process has another name for it now
            if queue["messages"] or not queue["consumers"]:
                self._find(
                    f"queue {name} has {queue['messages']} messages, {queue['consumers']} consumers"
                )


def is_undone(
    uuid: str, accepted: Sequence[Accepted], actions: Collection[tuple[str, str]]
) -> bool:
    """Whether the history of a server that lives has a delete, which others join, and a restore."""
    done = {
        each.operation
        for each in accepted
        if uuid in each.servers and (each.request_id, uuid) in actions
    }
    return {"delete", "restore"} <= done
