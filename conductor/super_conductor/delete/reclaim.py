"""Final deletion of soft-deleted servers whose retention time has passed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext, admin_context
from conductor.common.clock import Clock, moment
from conductor.super_conductor.hosts.cells import Cells
from objects.instance import Instance

LOG = logging.getLogger(__name__)

BATCH_SIZE = 1000
KEPT = "SOFT_DELETED"


class Reclaimer:
    """Lists soft-deleted servers in the cells and deletes them.

    Any number of conductors may run it.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        cells: Cells,
        delete: Callable[[RequestContext, str], None],
        now: Clock,
    ) -> None:
        self._conf = conf
        self._cells = cells
        self._delete = delete
        self._now = now

    def run(self) -> int:
        """Delete servers kept for ``[DEFAULT] reclaim_instance_interval``; return their number."""
        seconds = self._conf.reclaim_instance_interval
        if seconds <= 0:
            return 0
        limit = moment(self._now()) - timedelta(seconds=seconds)
        answers = self._cells.ask_all(
            lambda cell: cell.list_instances(
                admin_context(), filters={"status": KEPT}, limit=BATCH_SIZE
            )
        )
        due = [
            instance
            for kept in answers.by_cell.values()
            for instance in kept
            if instance.task_state is None
            and instance.updated_at is not None
            and instance.updated_at <= limit
        ]
        return sum(self._reclaim(instance) for instance in due)

    def _reclaim(self, instance: Instance) -> bool:
        LOG.info("%s: deleting it, soft-deleted at %s", instance.uuid, instance.updated_at)
        try:
            self._delete(admin_context(), instance.uuid)
        except exception.ArmillaryError as error:
            LOG.warning("%s: cannot delete, will retry: %s", instance.uuid, error)
            return False
        return True
