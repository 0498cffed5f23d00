"""Server queries across build requests, cells and cell0; a server is in exactly one of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.cell_conductor.interface import CellConductorAPI
from conductor.common.cell_db.actions import BUILD_EVENT, CLAIM_EVENT, CREATE, ERROR, SUCCESS
from conductor.super_conductor.builds import decision_traces
from conductor.super_conductor.builds.cell0 import Cell0
from conductor.super_conductor.db import (
    build_requests,
    deferred_operations,
    instance_mappings,
    request_specs,
)
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.hosts import cell_reports
from conductor.super_conductor.hosts.cells import Cells
from conductor.super_conductor.servers import build_waits, decisions, unknown_servers
from conductor.super_conductor.servers.deferred_operations import as_deferred
from conductor.super_conductor.zones import remote_servers
from conductor.super_conductor.zones.remote_servers import RemoteServers
from objects.cell_mapping import CELL0_UUID
from objects.instance import Instance
from objects.instances.explanation import BuildAttempt, Explanation
from objects.instances.instance_action import InstanceAction, InstanceActionEvent
from objects.instances.instance_fault import InstanceFault
from objects.instances.instance_mapping import InstanceMapping

T = TypeVar("T")

REFUSED = "Refused"
"""Result of an alternate whose claim placement refused: no build was started on it."""


class ServerReader:
    """Reads servers from all places, restricted to what the caller may see."""

    def __init__(
        self, database: Database, cells: Cells, cell0: Cell0, remote_servers: RemoteServers
    ) -> None:
        self._database = database
        self._cells = cells
        self._cell0 = cell0
        self._remote_servers = remote_servers

    def get_server(
        self, context: RequestContext, instance_uuid: str, *, is_brief: bool = False
    ) -> Instance:
        """Return a server. Raises InstanceNotFound, CellUnavailable.

        ``is_brief``: do not wait long for a cell that did not answer the last time.
        """
        pending = self._database.read(build_requests.find_instance, instance_uuid)
        # Read afterwards: an instance that has just left the build requests is mapped by now.
        mapping = self._get_mapping(context, instance_uuid)
        if mapping.cell_uuid is None and pending is None:
            raise exception.InstanceNotFound(instance_uuid=instance_uuid)
        if mapping.cell_uuid is None and pending is not None:
            return pending
        return self._get_mapped(context, mapping, is_brief=is_brief)

    def _get_mapped(
        self, context: RequestContext, mapping: InstanceMapping, *, is_brief: bool
    ) -> Instance:
        """Return an instance from its place, even if it is moving to another one."""
        instance_uuid = mapping.instance_uuid
        while True:
            try:
                found = self._ask(
                    mapping,
                    lambda cell: cell.get_instance(context, instance_uuid),
                    lambda: self._cell0.get_instance(instance_uuid),
                    is_brief=is_brief,
                )
            except exception.InstanceNotFound:
                former, mapping = mapping, self._get_mapping(context, instance_uuid)
                if mapping.cell_uuid in (None, former.cell_uuid):
                    raise
            else:
                return as_mapped(cell_reports.asked_for(found, instance_uuid), mapping)

    def check_reachable(self, context: RequestContext, instance_uuid: str) -> None:
        """Raise CellUnavailable if a server's cell did not answer the last time.

        Raises InstanceNotFound for one that the caller cannot see.
        """
        mapping = self._get_mapping(context, instance_uuid)
        if mapping.cell_uuid not in (None, CELL0_UUID):
            self._cells.check_answering(str(mapping.cell_uuid))

    def get_unknown(self, context: RequestContext, instance_uuid: str) -> Instance:
        """Return what is known here of a server whose cell or zone does not answer.

        Raises InstanceNotFound.
        """
        mapping = self._get_mapping(context, instance_uuid)
        with self._database.reader() as session:
            unknown = unknown_servers.of_mapping(mapping)
            return as_mapped(unknown_servers.with_request_spec(session, unknown), mapping)

    def with_requests(self, instances: Sequence[Instance]) -> Sequence[Instance]:
        """Set what was asked of instances, and return these.

        It is the pinned availability zone, the hints, and the operation that waits for the cell.
        """
        uuids = [one.uuid for one in instances]
        with self._database.reader() as session:
            asked = request_specs.asked_of(session, uuids)
            deferred = deferred_operations.find_all(session, uuids)
        for one in instances:
            as_deferred(one, deferred.get(one.uuid))
            one.pinned_availability_zone, one.scheduler_hints = asked.get(one.uuid, (None, {}))
        return instances

    def check_deletable(self, context: RequestContext, instance_uuid: str) -> None:
        """Raise InstanceNotFound if a server is deleted or not visible to the caller."""
        mapping = self._get_mapping(context, instance_uuid)
        if mapping.queued_for_delete:
            here = partial(self.get_server, context, instance_uuid)
            self._remote_servers.get_server(context, instance_uuid, here)

    def list_server_actions(
        self, context: RequestContext, instance_uuid: str
    ) -> list[InstanceAction]:
        """Return a server's actions, newest first, also those of a deleted one.

        Raises InstanceNotFound, CellUnavailable.
        """
        mapping = self._get_mapping(context, instance_uuid)
        if not mapping.queued_for_delete:
            self.get_server(context, instance_uuid)
            mapping = self._get_mapping(context, instance_uuid)
        if mapping.cell_uuid is None:
            return []
        return self._ask(
            mapping,
            lambda cell: cell.list_instance_actions(context, instance_uuid),
            lambda: self._cell0.list_actions(instance_uuid),
        )

    def explain(
        self,
        context: RequestContext,
        instance_uuid: str,
        *,
        with_hosts: bool,
        decision_of: str | None = None,
    ) -> Explanation:
        """Return why a server is on its host; see ``SuperConductorAPI.explain_server``."""
        instance = self.get_server(context, instance_uuid)
        faults = self._list_faults(context, instance_uuid)
        attempts = _attempts(self.list_server_actions(context, instance_uuid), faults)
        built_on = next((each.host for each in attempts if each.result == SUCCESS), None)
        with self._database.reader() as session:
            decided = decisions.read(session, instance, built_on=built_on, request_id=decision_of)
            wait = build_waits.find(session, instance_uuid)
            trace = decided.trace
            if trace is not None:
                trace = decision_traces.with_names(trace, lambda: aggregates.names_by_uuid(session))
        if with_hosts:
            return Explanation(
                instance, trace, decided.decision, decided.decisions, faults, attempts, wait
            )
        return Explanation(
            instance.with_values(host=None, node=None),
            None if trace is None else decision_traces.without_hosts(trace),
            None if decided.decision is None else dataclasses.replace(decided.decision, host=None),
            [dataclasses.replace(each, host=None) for each in decided.decisions],
            [fault.with_values(host=None, details=None) for fault in faults],
            [dataclasses.replace(each, host=None) for each in attempts],
            wait and dataclasses.replace(wait, cell=None, reason=None),
        )

    def _list_faults(self, context: RequestContext, instance_uuid: str) -> list[InstanceFault]:
        mapping = self._get_mapping(context, instance_uuid)
        if mapping.cell_uuid is None:
            return []
        return self._ask(
            mapping,
            lambda cell: cell.list_instance_faults(context, instance_uuid),
            lambda: self._cell0.list_faults(instance_uuid),
        )

    def _get_mapping(self, context: RequestContext, instance_uuid: str) -> InstanceMapping:
        mapping = self._database.read(instance_mappings.find_mapping, instance_uuid)
        if mapping is None or not (context.is_admin or mapping.project_id == context.project_id):
            raise exception.InstanceNotFound(instance_uuid=instance_uuid)
        return mapping

    def _ask(
        self,
        mapping: InstanceMapping,
        question: Callable[[CellConductorAPI], T],
        of_cell0: Callable[[], T],
        *,
        is_brief: bool = False,
    ) -> T:
        if mapping.cell_uuid == CELL0_UUID:
            return of_cell0()
        assert mapping.cell_uuid is not None
        call = self._cells.call_briefly if is_brief else self._cells.call
        return call(mapping.cell_uuid, question)


def as_mapped(instance: Instance, mapping: InstanceMapping) -> Instance:
    """Show an accepted delete, even before its cell knows of it, and whose the instance is."""
    cell_reports.with_owner(instance, mapping)
    if mapping.zone_path is not None and mapping.cell_uuid is None:
        return remote_servers.as_mapped(instance, mapping)
    if mapping.queued_for_delete and instance.vm_state != "deleted":
        instance.task_state = "deleting"
    return instance


def _attempts(
    actions: Sequence[InstanceAction], faults: Sequence[InstanceFault]
) -> list[BuildAttempt]:
    """Return all build attempts, and the alternates whose claims were refused, in order."""
    reasons = {fault.attempt: fault.message for fault in faults}
    events = [
        event
        for action in actions
        if action.action == CREATE
        for event in action.events
        if event.event in (BUILD_EVENT, CLAIM_EVENT)
    ]
    return [_attempt(event, reasons) for event in sorted(events, key=lambda one: one.attempt)]


def _attempt(event: InstanceActionEvent, reasons: dict[int, str]) -> BuildAttempt:
    result = REFUSED if event.event == CLAIM_EVENT else event.result
    return BuildAttempt(event.attempt, event.host, result, _reason(event, reasons))


def _reason(event: InstanceActionEvent, reasons: dict[int, str]) -> str | None:
    if event.event == CLAIM_EVENT:
        return "another request took the resources first"
    return reasons.get(event.attempt) if event.result == ERROR else None
