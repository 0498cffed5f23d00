"""Quota usage after resizes: count one flavor again once a resize has ended either way."""

import logging
import time
from collections.abc import Callable

from sqlalchemy.orm import Session

from armillary import exception
from armillary.backoff import Backoff, KeyedBackoff
from armillary.context import admin_context
from armillary.db import Database
from conductor.super_conductor.db import instance_mappings
from conductor.super_conductor.hosts import cell_reports
from conductor.super_conductor.hosts.cells import Cells
from objects.cell_mapping import CELL0_UUID
from objects.instance import Instance

LOG = logging.getLogger(__name__)

BATCH_SIZE = 100
BACKOFF = Backoff(1.0, 30.0)
"""Backoff of queries about an instance that waits to be confirmed."""
FORGET_SECONDS = 600.0
"""Seconds to remember the backoff of an instance that no longer waits."""


class ResizeUsage:
    """Asks the cells for the outcome of resizes. Any number of conductors may do so at once.

    Each pass covers one batch, and the next pass continues after it. So instances that wait long
    for their confirmation do not delay others; they are asked about with a backoff. ``reconcile``
    is for one thread. ``monotonic`` is a monotonic clock in seconds.
    """

    def __init__(
        self, database: Database, cells: Cells, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._database = database
        self._cells = cells
        self._after = ""
        self._unconfirmed = KeyedBackoff[str](BACKOFF, monotonic, forget_seconds=FORGET_SECONDS)

    def reconcile(self) -> int:
        """Reconcile the next batch; return the number of instances whose resize has ended."""
        with self._database.reader() as session:
            found = instance_mappings.list_resizing(session, after=self._after, limit=BATCH_SIZE)
        self._after = found[-1][0] if len(found) == BATCH_SIZE else ""
        waiting = self._unconfirmed.waiting()
        return sum(self._reconcile(uuid, cell) for uuid, cell in found if uuid not in waiting)

    def poll_soon(self, instance_uuid: str) -> None:
        """Ask in the next pass, because the resize is being ended. Thread-safe."""
        self._unconfirmed.forget(instance_uuid)

    def _reconcile(self, instance_uuid: str, cell_uuid: str | None) -> bool:
        if cell_uuid is None or cell_uuid == CELL0_UUID:
            return False
        try:
            found = self._cells.call(
                cell_uuid, lambda cell: cell.get_instance(admin_context(), instance_uuid)
            )
            instance = cell_reports.asked_for(found, instance_uuid)
        except (exception.NotFound, exception.Unavailable) as error:
            LOG.debug("%s: cannot get its flavor: %s", instance_uuid, error)
            return False
        if instance.task_state is not None:
            return False
        if instance.vm_state == "resized":
            self._unconfirmed.add(instance_uuid)
            return False
        return self._database.run_in_writer(lambda session: _note(session, instance))


def _note(session: Session, instance: Instance) -> bool:
    return instance_mappings.end_resize(
        session, instance.uuid, vcpus=instance.flavor.vcpus, memory_mb=instance.flavor.memory_mb
    )
