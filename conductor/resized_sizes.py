"""Count instances again with one flavor when their resize is confirmed, reverted or undone."""

from __future__ import annotations

import logging

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import admin_context
from armillary.db import Database
from conductor.api_db import instance_mappings
from conductor.cells import Cells
from objects.cell_mapping import CELL0_UUID
from objects.instance import Instance
from objects.instance_mapping import InstanceMapping

LOG = logging.getLogger(__name__)

BATCH_SIZE = 100


class ResizedSizes:
    """Asks the cells what became of resizes. Any number of conductors may do so at once.

    Each look is about some, the next one goes on after them: those that wait to be confirmed for
    long hold up no others.
    """

    def __init__(self, database: Database, cells: Cells) -> None:
        self._database = database
        self._cells = cells
        self._after = ""

    def settle(self) -> int:
        """Settle what can be of the next ones; return how many instances that were."""
        with self._database.reader() as session:
            waiting = instance_mappings.list_resizing(session, after=self._after, limit=BATCH_SIZE)
        self._after = waiting[-1].instance_uuid if len(waiting) == BATCH_SIZE else ""
        return sum(self._settle(mapping) for mapping in waiting)

    def _settle(self, mapping: InstanceMapping) -> bool:
        if mapping.cell_uuid in (None, CELL0_UUID):
            return False
        try:
            instance = self._cells.call(
                str(mapping.cell_uuid),
                lambda cell: cell.get_instance(admin_context(), mapping.instance_uuid),
            )
        except (exception.NotFound, exception.Unavailable) as error:
            LOG.debug("%s: its flavor is not known: %s", mapping.instance_uuid, error)
            return False
        if instance.task_state is not None or instance.vm_state == "resized":
            return False
        return self._database.run_in_writer(lambda session: _note(session, instance))


def _note(session: Session, instance: Instance) -> bool:
    return instance_mappings.settle_sizes(
        session,
        instance.uuid,
        vcpus=instance.flavor.vcpus,
        memory_mb=instance.flavor.memory_mb,
    )
