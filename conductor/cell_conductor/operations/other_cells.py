"""Messages to the other cell of a move, through the super conductor.

The state of a move names the cell of each end. The cell that has the instance runs its
operations. Agents of the other cell get commands from that cell's conductor, which stores nothing
of a command: it is asked again until there is an answer, as an agent is.
"""

import contextlib
from collections.abc import Collection

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.common.cell_db import actions, faults, instances, migrations, models
from conductor.common.cell_db.flow_states import End, FinishedMove, Move
from conductor.super_conductor.interface import SuperConductorAPI
from objects.instance import Instance
from objects.instances.instance_command import CommandAnswer, CommandId, InstanceCommand
from objects.instances.instance_fault import InstanceFault
from objects.instances.server_record import ACTIONS_MAX, FAULTS_MAX, ServerRecord

ASKED_MAX = 1000
"""Maximum number of moves asked about in one call."""


def known_moves(
    top: SuperConductorAPI, context: RequestContext, migration_uuids: Collection[str]
) -> set[str]:
    """Return those of these moves that the super conductor still works on."""
    uuids = sorted(migration_uuids)
    parts = [uuids[start : start + ASKED_MAX] for start in range(0, len(uuids), ASKED_MAX)]
    return {uuid for part in parts for uuid in top.list_moves(context, part)}


class OtherCells:
    """Client for the other cell of a move. Raises what ``SuperConductorAPI`` raises."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database, top: SuperConductorAPI) -> None:
        self._cell_uuid = str(conf.cell.uuid)
        self._database = database
        self._top = top

    def send_command(
        self,
        context: RequestContext,
        operation: models.InstanceOperation,
        command: InstanceCommand,
        *,
        to_cell_uuid: str,
    ) -> str | None:
        """Have a command sent; return the reason if it cannot be sent to its host."""
        record = self._database.read(self._record, operation)
        return self._top.execute_in_other_cell(
            context, self._cell_uuid, to_cell_uuid, record, command
        )

    def answer(
        self,
        context: RequestContext,
        migration_uuid: str,
        command: CommandId,
        *,
        answer: CommandAnswer,
        fault: InstanceFault | None,
    ) -> str:
        """Send the cell that has the instance the answer to its command."""
        return self._top.report_to_other_cell(
            context, self._cell_uuid, migration_uuid, command, answer=answer, fault=fault
        )

    def is_expected(self, context: RequestContext, migration_uuid: str, command: CommandId) -> bool:
        """Ask the cell that has the instance whether it expects the answer to a command."""
        return self._top.is_command_wanted_by_other_cell(
            context, self._cell_uuid, migration_uuid, command
        )

    def hand_over(
        self,
        context: RequestContext,
        operation: models.InstanceOperation,
        *,
        side: str,
        status: str,
        vm_state: str,
    ) -> None:
        """Give the instance, in its state after the operation, to the cell of one end."""
        with self._database.reader() as session:
            record = self._record(session, operation)
            record.actions = actions.list_of(session, operation.instance_uuid)[:ACTIONS_MAX]
            record.faults = faults.list_of(session, operation.instance_uuid)[-FAULTS_MAX:]
        if vm_state == "error":
            record.faults = [*record.faults, *_faults_of(operation)]
        end = Move.of(operation).end(side)
        record.instance = _moved(record.instance, end, vm_state)
        record.migration.status = status
        self._top.hand_over_instance(context, self._cell_uuid, record)

    def end(self, context: RequestContext, operation: models.InstanceOperation) -> None:
        """Have the other cell's copy deleted, if there is one."""
        if Move.of(operation).is_between_cells and operation.migration_uuid is not None:
            with contextlib.suppress(exception.Conflict):  # its copy is being deleted there anyway
                self._top.end_cell_change(
                    context, self._cell_uuid, operation.instance_uuid, operation.migration_uuid
                )

    def _record(self, session: Session, operation: models.InstanceOperation) -> ServerRecord:
        assert operation.migration_uuid is not None, "a move has a migration"
        row = instances.find_rows(session, [operation.instance_uuid])[operation.instance_uuid]
        move = migrations.find(session, operation.migration_uuid)
        assert move is not None, "a move has a migration"
        return ServerRecord.from_values(
            instance=instances.to_object(row, cell_uuid=self._cell_uuid),
            migration=migrations.to_object(move, cell_uuid=self._cell_uuid),
            flow_state=FinishedMove.of(operation).stored(),
            commands_total=row.commands_total,
        )


def _faults_of(operation: models.InstanceOperation) -> list[InstanceFault]:
    """Return the fault of a failed operation, as it is stored at its end."""
    fault = Move.of(operation).last_fault
    if fault is None:
        return []
    number = -operation.number
    return [fault.with_values(instance_uuid=operation.instance_uuid, attempt=number)]


def _moved(instance: Instance, end: End, vm_state: str) -> Instance:
    """Return an instance as it is at one end of a move."""
    made: Instance = instance.with_values(
        host=end.host,
        node=end.node,
        attempt=max(end.attempt, instance.attempt),
        cell_uuid=end.cell_uuid,
        vm_state=vm_state,
        task_state=None,
    )
    if end.flavor is not None:
        made.flavor = end.flavor.load()
    if end.availability_zone:
        made.availability_zone = end.availability_zone
    return made
