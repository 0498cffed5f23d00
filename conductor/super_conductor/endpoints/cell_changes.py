"""Moves between cells: messages of one cell's conductor to another cell's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armillary.context import RequestContext
from conductor.super_conductor.move.cell_relay import CellRelay
from objects.instance_fault import InstanceFault
from objects.instances.instance_command import InstanceCommand
from objects.instances.server_record import ServerRecord


class CellChangesEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, changes: CellRelay) -> None:
        self._changes = changes

    def execute_in_other_cell(
        self,
        context: RequestContext,
        cell_uuid: str,
        to_cell_uuid: str,
        record: ServerRecord,
        command: InstanceCommand,
    ) -> str | None:
        return self._changes.send_command(context, cell_uuid, to_cell_uuid, record, command)

    def report_to_other_cell(
        self,
        context: RequestContext,
        cell_uuid: str,
        host: str,
        instance_uuid: str,
        migration_uuid: str,
        sequence: int,
        answer: dict[str, Any],
        fault: InstanceFault | None,
    ) -> str:
        return self._changes.answer(
            context, cell_uuid, host, instance_uuid, migration_uuid, sequence,
            answer=answer, fault=fault,
        )  # fmt: skip

    def is_command_wanted_by_other_cell(
        self,
        context: RequestContext,
        cell_uuid: str,
        host: str,
        instance_uuid: str,
        migration_uuid: str,
        sequence: int,
    ) -> bool:
        return self._changes.is_wanted(
            context, cell_uuid, host, instance_uuid, migration_uuid, sequence
        )

    def hand_over_instance(
        self, context: RequestContext, cell_uuid: str, record: ServerRecord
    ) -> None:
        self._changes.hand_over(context, cell_uuid, record)

    def end_cell_change(
        self, context: RequestContext, cell_uuid: str, instance_uuid: str, migration_uuid: str
    ) -> None:
        self._changes.end(context, cell_uuid, instance_uuid, migration_uuid)

    def list_cell_changes(
        self, context: RequestContext, migration_uuids: Sequence[str]
    ) -> list[str]:
        return self._changes.known(migration_uuids)

    def list_moves(self, context: RequestContext, migration_uuids: Sequence[str]) -> list[str]:
        return self._changes.being_scheduled(migration_uuids)
