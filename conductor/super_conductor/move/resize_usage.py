"""Quota usage after resizes: count one flavor again once a resize has ended either way."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import admin_context
from armillary.db import Database
from conductor.super_conductor.db import instance_mappings
from conductor.super_conductor.hosts.cells import Cells
from objects.cell_mapping import CELL0_UUID
from objects.instance import Instance

LOG = logging.getLogger(__name__)

BATCH_SIZE = 100
PAUSE_SECONDS_MIN = 1.0
PAUSE_SECONDS_MAX = 30.0
"""Bounds of the growing pause between two queries about an instance that waits to be confirmed."""


@dataclass(frozen=True)
class _Waiting:
    """An instance that was not confirmed yet when its cell was last asked."""

    pause_seconds: float
    due_at: float


class ResizeUsage:
    """Asks the cells for the outcome of resizes. Any number of conductors may do so at once.

    Each pass covers one batch, and the next pass continues after it. So instances that wait long
    for their confirmation do not delay others; they are asked about with growing pauses. ``settle``
    is for one thread. ``monotonic`` is a monotonic clock in seconds.
    """

    def __init__(
        self,
        database: Database,
        cells: Cells,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._cells = cells
        self._monotonic = monotonic
        self._after = ""
        self._waiting: dict[str, _Waiting] = {}
        self._seen: set[str] = set()

    def settle(self) -> int:
        """Settle the next batch; return the number of instances that were settled."""
        with self._database.reader() as session:
            found = instance_mappings.list_resizing(session, after=self._after, limit=BATCH_SIZE)
        self._note_seen([uuid for uuid, _cell in found])
        return sum(self._settle(uuid, cell) for uuid, cell in found if self._is_due(uuid))

    def poll_soon(self, instance_uuid: str) -> None:
        """Ask in the next pass, because the resize is being ended. Thread-safe."""
        self._waiting.pop(instance_uuid, None)

    def _note_seen(self, uuids: Sequence[str]) -> None:
        """Continue after these; at the end of a round drop instances that did not occur in it."""
        self._seen.update(uuids)
        self._after = uuids[-1] if len(uuids) == BATCH_SIZE else ""
        if not self._after:
            for uuid in set(self._waiting) - self._seen:  # a copy: ``poll_soon`` may change it
                self._waiting.pop(uuid, None)
            self._seen = set()

    def _is_due(self, instance_uuid: str) -> bool:
        waiting = self._waiting.get(instance_uuid)
        return waiting is None or self._monotonic() >= waiting.due_at

    def _settle(self, instance_uuid: str, cell_uuid: str | None) -> bool:
        if cell_uuid is None or cell_uuid == CELL0_UUID:
            return False
        try:
            instance = self._cells.call(
                cell_uuid, lambda cell: cell.get_instance(admin_context(), instance_uuid)
            )
        except (exception.NotFound, exception.Unavailable) as error:
            LOG.debug("%s: cannot get its flavor: %s", instance_uuid, error)
            return False
        if instance.task_state is not None:
            return False
        if instance.vm_state == "resized":
            self._wait(instance_uuid)
            return False
        return self._database.run_in_writer(lambda session: _note(session, instance))

    def _wait(self, instance_uuid: str) -> None:
        before = self._waiting.get(instance_uuid)
        pause = PAUSE_SECONDS_MIN if before is None else before.pause_seconds * 2
        pause = min(pause, PAUSE_SECONDS_MAX)
        self._waiting[instance_uuid] = _Waiting(pause, self._monotonic() + pause)


def _note(session: Session, instance: Instance) -> bool:
    return instance_mappings.settle_sizes(
        session,
        instance.uuid,
        vcpus=instance.flavor.vcpus,
        memory_mb=instance.flavor.memory_mb,
    )
