"""Moves between cells: what another cell asks of this one, by way of the super conductor."""

from armillary.context import RequestContext
from objects.instances.instance_command import CommandAnswer, CommandId, InstanceCommand
from objects.instances.instance_fault import InstanceFault
from objects.instances.server_record import ServerRecord
from rpc.callers import CONDUCTOR
from rpc.interface import Interface, call


class OtherCellsAPI(Interface):
    """Between cells, relayed by the super conductor."""

    @call(CONDUCTOR)
    def execute_for_other_cell(
        self, context: RequestContext, record: ServerRecord, command: InstanceCommand
    ) -> str | None:
        """Store a copy of another cell's instance, and send a command to one of this cell's hosts.

        Returns why the command could not be sent, None when it was; a repeated call sends it again.
        The answer goes to the other cell. Raises Conflict when the move has ended here, or the
        instance is not a copy.
        """

    @call(CONDUCTOR)
    def other_cell_command_answered(
        self,
        context: RequestContext,
        migration_uuid: str,
        command: CommandId,
        *,
        answer: CommandAnswer,
        fault: InstanceFault | None,
    ) -> str:
        """Process the answer of another cell's host to a command; return "accepted" or "stale"."""

    @call(CONDUCTOR)
    def is_other_cell_command_wanted(
        self, context: RequestContext, migration_uuid: str, command: CommandId
    ) -> bool:
        """Return whether the answer of another cell's host to a command is still expected."""

    @call(CONDUCTOR)
    def take_over_instance(self, context: RequestContext, record: ServerRecord) -> None:
        """Turn the copy into the instance. Idempotent. Raises Conflict when there is no copy."""

    @call(CONDUCTOR)
    def drop_copy(self, context: RequestContext, instance_uuid: str, migration_uuid: str) -> None:
        """Remove a copy left here after a move; an instance that lives here is kept."""
