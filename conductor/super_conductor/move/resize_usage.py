"""Quota usage of resizes, reconciled with the records of the instance's cell.

A resize counts with the larger of both flavors from its acceptance on, before its cell knows of it.
From then on the cell's records decide, whatever happened to the messages in between.
"""

import logging
import time
from collections.abc import Callable, Sequence

from armillary import exception
from armillary.backoff import Backoff, KeyedBackoff
from armillary.context import admin_context
from armillary.db import Database
from conductor.super_conductor.db import instance_mappings
from conductor.super_conductor.db.instance_mappings import Resizing, Size
from conductor.super_conductor.hosts import cell_reports
from conductor.super_conductor.hosts.cells import Cells
from objects.cell_mapping import CELL0_UUID
from objects.flavor import Flavor
from objects.instance import Instance
from objects.instances.migration import Migration
from objects.instances.server_filters import MigrationFilters

LOG = logging.getLogger(__name__)

BATCH_SIZE = 100
BACKOFF = Backoff(1.0, 30.0)
"""Backoff of queries about an instance that waits to be confirmed."""
FORGET_SECONDS = 600.0
"""Seconds to remember the backoff of an instance that no longer waits."""


class ResizeUsage:
    """Asks the cells for the outcome of resizes. Several conductors may do so at the same time.

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
        found = self._database.read(
            instance_mappings.list_resizing, after=self._after, limit=BATCH_SIZE
        )
        self._after = found[-1].instance_uuid if len(found) == BATCH_SIZE else ""
        waiting = self._unconfirmed.waiting()
        return sum(self._reconcile(one) for one in found if one.instance_uuid not in waiting)

    def poll_soon(self, instance_uuid: str) -> None:
        """Ask in the next pass, because the resize is being ended. Thread-safe."""
        self._unconfirmed.forget(instance_uuid)

    def recheck(self, instances: Sequence[Instance]) -> list[str]:
        """Have the usage of these instances reconciled where it differs from their cell's records.

        An idle one counts with its flavor; one that waits to be confirmed, with the larger of two.

        ``instances`` are as their cells have just listed them. Returns those that differ, which the
        next passes correct.
        """
        known = {one.uuid: one for one in instances if one.task_state is None}
        counted = self._database.read(instance_mappings.sizes, known)
        wrong = {
            uuid: size
            for uuid, size in counted.items()
            if not size.is_resizing
            and (not _is_idle(known[uuid]) or _amounts(size) != _amounts(known[uuid].flavor))
        }
        if not wrong:
            return []
        found = self._database.run_in_writer(instance_mappings.recheck_sizes, wrong)
        for uuid in found:
            LOG.warning(
                "%s is %s: its quota usage (vCPUs, MiB) is %s, its flavor has %s; correcting it",
                uuid, known[uuid].vm_state, _amounts(wrong[uuid]), _amounts(known[uuid].flavor),
            )  # fmt: skip
        return found

    def _reconcile(self, resizing: Resizing) -> bool:
        uuid, cell_uuid = resizing.instance_uuid, resizing.cell_uuid
        if cell_uuid is None or cell_uuid == CELL0_UUID:
            return False
        try:
            instance = self._get_instance(cell_uuid, uuid)
            move = None if _is_idle(instance) else self._find_move(cell_uuid, uuid)
            if move is None and instance.task_state is not None:
                instance = self._get_instance(cell_uuid, uuid)  # a move has ended meanwhile
        except (exception.NotFound, exception.Unavailable) as error:
            LOG.debug("%s: cannot get its flavor: %s", uuid, error)
            return False
        if instance.vm_state == "resized":
            self._unconfirmed.add(uuid)
            if move is None:
                return False
        size = _counted(resizing.size, instance, move)
        if size == resizing.size:
            return False
        is_taken = self._database.run_in_writer(
            instance_mappings.replace_size, uuid, resizing.size, size
        )
        return is_taken and not size.is_resizing

    def _get_instance(self, cell_uuid: str, instance_uuid: str) -> Instance:
        found = self._cells.call(
            cell_uuid, lambda cell: cell.get_instance(admin_context(), instance_uuid)
        )
        return cell_reports.asked_for(found, instance_uuid)

    def _find_move(self, cell_uuid: str, instance_uuid: str) -> Migration | None:
        """Return the instance's move that has not ended, or waits to be confirmed."""
        filters = MigrationFilters(instance_uuid=instance_uuid)
        newest = self._cells.call(
            cell_uuid, lambda cell: cell.list_migrations(admin_context(), filters=filters, limit=1)
        )
        return next((one for one in newest if not one.has_ended), None)


def _is_idle(instance: Instance) -> bool:
    """Return whether no move of an instance is in progress, or waits to be confirmed."""
    return instance.task_state is None and instance.vm_state != "resized"


def _amounts(counted: Size | Flavor) -> tuple[int, int]:
    return counted.vcpus, counted.memory_mb


def _counted(former: Size, instance: Instance, move: Migration | None) -> Size:
    """Return what an instance counts: in a move, the larger of both flavors."""
    flavors = [] if move is None else [move.old_flavor, move.new_flavor]
    amounts = [_amounts(one) for one in (instance.flavor, *flavors) if one is not None]
    vcpus, memory_mb = (max(column) for column in zip(*amounts, strict=True))
    return Size(vcpus, memory_mb, move is not None, former.resize_asked_at)
