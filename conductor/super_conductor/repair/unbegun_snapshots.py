"""Images of snapshots that no operation makes, such as one whose conductor died before it began."""

import logging
from datetime import timedelta

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import admin_context
from armillary.db import Database
from conductor.common.clock import Clock, moment
from conductor.super_conductor.db import instance_mappings
from conductor.super_conductor.db.catalogue import images
from conductor.super_conductor.hosts.cells import Cells
from objects.cell_mapping import CELL0_UUID
from objects.images.image_record import INSTANCE_UUID, SAVING, ImageRecord

LOG = logging.getLogger(__name__)

MIN_AGE = timedelta(minutes=10)
"""The request of a younger image may still be on its way to the server's cell."""


class UnbegunSnapshots:
    """Ends images that are ``saving``, and whose servers no operation is running on."""

    def __init__(self, database: Database, cells: Cells, now: Clock) -> None:
        self._database = database
        self._cells = cells
        self._now = now

    def end_all(self) -> int:
        """End them, and return their number; those of silent cells have to wait."""
        before = moment(self._now()) - MIN_AGE
        found = [
            record
            for record in self._database.read(images.list_saving, created_before=before)
            if INSTANCE_UUID in record.image.properties and not self._may_be_made(record)
        ]
        for record in found:
            LOG.warning(
                "Image %s of server %s is removed: it is saving, and no operation makes it",
                record.image.id, record.image.properties[INSTANCE_UUID],
            )  # fmt: skip
            self._database.run_in_writer(self._end, record.image.id)
        return len(found)

    def _end(self, session: Session, image_id: str) -> None:
        record = images.find_record(session, image_id)
        if record is None or record.image.status != SAVING:
            return
        images.give_up(session, record, now=moment(self._now()))

    def _may_be_made(self, record: ImageRecord) -> bool:
        """Return whether an operation is running on the image's server, or that is unknown."""
        instance_uuid = record.image.properties[INSTANCE_UUID]
        mapping = self._database.read(instance_mappings.find_mapping, instance_uuid)
        if mapping is None:
            return True  # it is another program's: both use a Glance
        if mapping.cell_uuid in (None, CELL0_UUID):
            return False
        try:
            server = self._cells.call_briefly(
                mapping.cell_uuid, lambda cell: cell.get_instance(admin_context(), instance_uuid)
            )
        except exception.InstanceNotFound:
            return not mapping.queued_for_delete  # it may have just moved to another cell
        except exception.ArmillaryError as error:
            LOG.debug("Image %s: its server's cell did not answer: %s", record.image.id, error)
            return True
        return server.task_state is not None
