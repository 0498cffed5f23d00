"""Moves between cells: what a cell tells the other one by way of the super conductor."""

from collections.abc import Sequence

from armillary.context import RequestContext
from objects.images.image_meta import ImageMeta
from objects.images.image_record import StoredImage
from objects.images.image_ticket import ImageTicket
from objects.instances.instance_command import CommandAnswer, CommandId, InstanceCommand
from objects.instances.instance_fault import InstanceFault
from objects.instances.server_record import ServerRecord
from rpc.callers import CELL, CELL_ITSELF
from rpc.interface import Interface, call


class CellMovesAPI(Interface):
    """Between cells, called by the conductor of the cell ``cell_uuid``.

    They raise CellUnavailable, Conflict when the instance does not (or no longer) change cells in
    that move, and NotItsOwn when the cell does not take part in it.
    """

    @call(CELL_ITSELF)
    def execute_in_other_cell(
        self,
        context: RequestContext,
        cell_uuid: str,
        to_cell_uuid: str,
        record: ServerRecord,
        command: InstanceCommand,
    ) -> str | None:
        """Send a command to a host of the move's other cell; return why that failed, or None."""

    @call(CELL_ITSELF)
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
        """Send the other cell the answer to its command; return "accepted" or "stale"."""

    @call(CELL_ITSELF)
    def is_command_wanted_by_other_cell(
        self, context: RequestContext, cell_uuid: str, migration_uuid: str, command: CommandId
    ) -> bool:
        """Return whether the other cell still waits for the answer to a command."""

    @call(CELL_ITSELF)
    def hand_over_instance(
        self, context: RequestContext, cell_uuid: str, record: ServerRecord
    ) -> None:
        """Hand an instance over to the other cell and map it there. Idempotent."""

    @call(CELL_ITSELF)
    def end_cell_change(
        self, context: RequestContext, cell_uuid: str, instance_uuid: str, migration_uuid: str
    ) -> None:
        """Remove the copy in the other cell, soon. Idempotent; never raises Conflict."""

    @call(CELL_ITSELF)
    def create_shelved_image(
        self, context: RequestContext, cell_uuid: str, instance_uuid: str, image: ImageMeta
    ) -> bool:
        """Create the image that keeps the disk of a shelved server of this cell.

        Its owner is the server's project. Idempotent. Returns False if the server is not the
        cell's, or the image is not for it.
        """

    @call(CELL_ITSELF)
    def end_snapshot(
        self,
        context: RequestContext,
        cell_uuid: str,
        instance_uuid: str,
        image_id: str,
        stored: StoredImage | None,
    ) -> bool:
        """Make a snapshot of an instance of this cell active, or delete it without data.

        Without data, that of a shelved server is marked as pending deletion, even if it is active:
        the image service deletes it with its data. Idempotent. Returns False if the image is gone,
        or is not such a snapshot.
        """

    @call(CELL_ITSELF)
    def issue_image_ticket(
        self,
        context: RequestContext,
        cell_uuid: str,
        instance_uuid: str,
        image_id: str,
        access: str,
    ) -> ImageTicket | None:
        """Let a host of this cell ``read`` an image for an instance, or ``write`` its snapshot.

        Returns None if hosts find images by themselves: ``[image] endpoint`` is not set, or there
        is no data. Raises InstanceNotFound for an instance of other cells, ImageNotFound for an
        image that is not for it.
        """

    @call(CELL)
    def list_cell_changes(
        self, context: RequestContext, migration_uuids: Sequence[str]
    ) -> list[str]:
        """Return which of these migrations (at most 1,000) move between cells.

        Raises Invalid.
        """

    @call(CELL)
    def list_deleted_instances(
        self, context: RequestContext, instance_uuids: Sequence[str]
    ) -> list[str]:
        """Return which of these instances (at most 1,000) were deleted, or are unknown.

        A cell asks before it releases what an instance holds that its own records call deleted.
        Raises Invalid.
        """

    @call(CELL)
    def list_moves(self, context: RequestContext, migration_uuids: Sequence[str]) -> list[str]:
        """Return which of these moves (at most 1,000) are still being scheduled.

        Raises Invalid.
        """
