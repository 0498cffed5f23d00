"""Relay between two cells while an instance moves from one to the other.

Cells do not know each other: their messages go through here, and only for a move that is allowed to
change cells. At any time exactly one of the two cells has the instance and drives the move. The
instance's mapping is changed here. Callers retry until they get an answer, so nothing is stored
here except which cells take part.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.db import Database
from conductor.super_conductor.db import cell_changes, cleanups, instance_mappings, moves
from conductor.super_conductor.db.cell_changes import CellChange
from conductor.super_conductor.db.cleanups import Cleanup, CleanupKind
from conductor.super_conductor.delete.delete_task import Deletes
from conductor.super_conductor.hosts.cells import Cells
from objects.instances.instance_command import CommandAnswer, CommandId, InstanceCommand
from objects.instances.instance_fault import InstanceFault
from objects.instances.server_record import ServerRecord
from placement.interface import PlacementAPI

LOG = logging.getLogger(__name__)

ASKED_MAX = 1000


class CellRelay:
    """Endpoint for moves between cells, see ``SuperConductorAPI``."""

    def __init__(
        self, database: Database, cells: Cells, deletes: Deletes, placement: PlacementAPI
    ) -> None:
        self._database = database
        self._cells = cells
        self._placement = placement
        self._deletes = deletes

    def execute_in_other_cell(
        self,
        context: RequestContext,
        cell_uuid: str,
        to_cell_uuid: str,
        record: ServerRecord,
        command: InstanceCommand,
    ) -> str | None:
        migration_uuid = record.migration.uuid
        change = self._find(migration_uuid, record.instance.uuid)
        self._check_owner(record)
        if change.target_cell_uuid is None:
            if cell_uuid != change.source_cell_uuid:
                raise _foreign(cell_uuid, change)
            self._database.run_in_writer(cell_changes.set_target, migration_uuid, to_cell_uuid)
        other = self._other(migration_uuid, record.instance.uuid, cell_uuid)
        if other != to_cell_uuid:
            raise exception.Conflict(
                reason=f"migration {migration_uuid} goes to cell {other}, not to {to_cell_uuid}"
            )
        return self._cells.call(
            other, lambda cell: cell.execute_for_other_cell(context, record, command)
        )

    def report_to_other_cell(
        self,
        context: RequestContext,
        cell_uuid: str,
        migration_uuid: str,
        command: CommandId,
        *,
        answer: CommandAnswer,
        fault: InstanceFault | None,
    ) -> str:
        other = self._other(migration_uuid, command.instance_uuid, cell_uuid)
        return self._cells.call(
            other,
            lambda cell: cell.other_cell_command_answered(
                context, migration_uuid, command, answer=answer, fault=fault
            ),
        )

    def is_command_wanted_by_other_cell(
        self, context: RequestContext, cell_uuid: str, migration_uuid: str, command: CommandId
    ) -> bool:
        other = self._other(migration_uuid, command.instance_uuid, cell_uuid)
        return self._cells.call(
            other, lambda cell: cell.is_other_cell_command_wanted(context, migration_uuid, command)
        )

    def hand_over_instance(
        self, context: RequestContext, cell_uuid: str, record: ServerRecord
    ) -> None:
        migration_uuid, instance_uuid = record.migration.uuid, record.instance.uuid
        other = self._other(migration_uuid, instance_uuid, cell_uuid)
        self._check_owner(record)
        self._cells.call(other, lambda cell: cell.take_over_instance(context, record))
        self._database.run_in_writer(self._map, record, other)
        LOG.info("%s: handed over to cell %s", instance_uuid, other)

    def _map(self, session: Session, record: ServerRecord, cell_uuid: str) -> None:
        """Map an instance to a cell. Raises Conflict when the instance is being deleted."""
        migration_uuid, instance_uuid = record.migration.uuid, record.instance.uuid
        instance_mappings.map_to_cell(session, [instance_uuid], cell_uuid)
        if cell_changes.find(session, migration_uuid) is None:  # after the lock, as a delete does
            raise _not_moving(instance_uuid, migration_uuid)

    def end_cell_change(
        self, context: RequestContext, cell_uuid: str, instance_uuid: str, migration_uuid: str
    ) -> None:
        present = self._database.read(cell_changes.find, migration_uuid)
        if present is None or present.instance_uuid != instance_uuid:
            return
        if not present.has(cell_uuid):
            raise _foreign(cell_uuid, present)
        # The other cell may not write the instance's allocations any more.
        self._placement.set_consumer_cells(admin_context(), [instance_uuid], [cell_uuid])

        def write(session: Session) -> bool:
            change = cell_changes.find(session, migration_uuid, locked=True)
            other = None if change is None else change.other(cell_uuid)
            if change is None or change.instance_uuid != instance_uuid:
                return False
            cell_changes.remove(session, migration_uuid)
            if other is None:
                return False
            kind = CleanupKind.DROP_COPY
            cleanups.add(session, Cleanup(instance_uuid, kind, context, other, migration_uuid))
            return True

        if self._database.run_in_writer(write):
            self._deletes.clean_up([instance_uuid])

    def list_cell_changes(
        self, context: RequestContext, migration_uuids: Sequence[str]
    ) -> list[str]:
        _check_count(migration_uuids)
        with self._database.reader() as session:
            return sorted(cell_changes.known(session, migration_uuids))

    def list_deleted_instances(
        self, context: RequestContext, instance_uuids: Sequence[str]
    ) -> list[str]:
        _check_count(instance_uuids)
        mappings = self._database.read(instance_mappings.find_mappings, instance_uuids)
        return sorted(
            uuid
            for uuid in set(instance_uuids)
            if uuid not in mappings or mappings[uuid].queued_for_delete
        )

    def list_moves(self, context: RequestContext, migration_uuids: Sequence[str]) -> list[str]:
        _check_count(migration_uuids)
        with self._database.reader() as session:
            return sorted(moves.known(session, migration_uuids))

    def _find(self, migration_uuid: str, instance_uuid: str) -> CellChange:
        change = self._database.read(cell_changes.find, migration_uuid)
        if change is None or change.instance_uuid != instance_uuid:
            raise _not_moving(instance_uuid, migration_uuid)
        return change

    def _check_owner(self, record: ServerRecord) -> None:
        """Raise NotItsOwn unless a record names the instance's own project and user."""
        said = record.instance
        mapping = self._database.read(instance_mappings.find_mapping, said.uuid)
        if mapping is not None and (mapping.project_id, mapping.user_id) != (
            said.project_id, said.user_id,
        ):  # fmt: skip
            raise exception.NotItsOwn(
                reason=f"instance {said.uuid} does not belong to project {said.project_id} and "
                f"user {said.user_id}"
            )

    def _other(self, migration_uuid: str, instance_uuid: str, cell_uuid: str) -> str:
        change = self._find(migration_uuid, instance_uuid)
        if not change.has(cell_uuid):
            raise _foreign(cell_uuid, change)
        other = change.other(cell_uuid)
        if other is None:
            raise exception.Conflict(reason=f"migration {migration_uuid} has no other cell yet")
        return other


def _not_moving(instance_uuid: str, migration_uuid: str) -> exception.Conflict:
    return exception.Conflict(
        reason=f"instance {instance_uuid} does not change cells in migration {migration_uuid}; "
        "it has ended, or the instance is being deleted"
    )


def _foreign(cell_uuid: str, change: CellChange) -> exception.NotItsOwn:
    return exception.NotItsOwn(
        reason=f"cell {cell_uuid} does not take part in migration {change.migration_uuid}"
    )


def _check_count(uuids: Sequence[str]) -> None:
    if len(uuids) > ASKED_MAX:
        raise exception.Invalid(reason=f"got {len(uuids)} UUIDs, at most {ASKED_MAX} are allowed")
