"""Retention: remove soft-deleted servers, old decision traces and records of deleted instances."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext, admin_context, log_context
from armillary.db import Database, idempotency
from conductor.common.clock import Clock, moment
from conductor.super_conductor.db import (
    deferred_operations,
    instance_mappings,
    models,
    request_specs,
    traces,
)
from conductor.super_conductor.db.zones import zone_attempts
from conductor.super_conductor.hosts import cell_reports
from conductor.super_conductor.hosts.cells import Cells
from objects.instance import Instance
from objects.instances.server_filters import ServerFilters


def _delete_expired_instances(session: Session, *, before: datetime, limit: int) -> int:
    uuids = instance_mappings.list_purgeable(session, deleted_before=before, limit=limit)
    traces.delete_choices(session, uuids)
    traces.delete_move_traces(session, uuids)
    request_specs.delete_specs(session, uuids)
    instance_mappings.delete_mappings(session, uuids)
    return len(uuids)


_REMOVALS = (
    (traces.delete_old_traces, 20),  # each may contain the choices of a thousand instances
    (traces.delete_old_move_traces, 500),
    (_delete_expired_instances, 500),
    (zone_attempts.delete_old, 500),
)
"""What is removed, and how many rows in a transaction."""


class Retention:
    """Periodically removes what is older than ``[scheduler] trace_retention_hours``."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database, now: Clock) -> None:
        self._conf = conf
        self._database = database
        self._now = now

    def run(self) -> None:
        """Remove everything that is due, one batch a transaction."""
        hours = self._conf.scheduler.trace_retention_hours
        before = moment(self._now()) - timedelta(hours=hours)
        for remove, size in _REMOVALS:
            remove_batch = partial(remove, before=before, limit=size)
            while self._database.run_in_writer(remove_batch) == size:
                pass
        self._database.run_in_writer(traces.delete_unused_traces)
        idempotency.delete_old(self._database, models.IdempotencyRecord, now=self._now())


LOG = logging.getLogger(__name__)

BATCH_SIZE = 1000
KEPT = "SOFT_DELETED"
_DELETING = "deleting"
_BEGUN = ServerFilters(status=KEPT, equal={"task_state": _DELETING})


class Reclaimer:
    """Lists soft-deleted servers in the cells and deletes them.

    Any number of conductors may run it.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        database: Database,
        cells: Cells,
        delete: Callable[[RequestContext, str], None],
        now: Clock,
    ) -> None:
        self._conf = conf
        self._database = database
        self._cells = cells
        self._delete = delete
        self._now = now

    def run(self) -> int:
        """Delete servers kept for ``[DEFAULT] reclaim_instance_interval``; return their number.

        A delete that another conductor began and did not end is continued whatever the option says:
        that server cannot be restored any more.
        """
        count = self._reclaim_all(_BEGUN, _is_begun)
        seconds = self._conf.reclaim_instance_interval
        if seconds > 0:
            limit = moment(self._now()) - timedelta(seconds=seconds)
            old = ServerFilters(status=KEPT, changed_before=limit)
            count += self._reclaim_all(old, lambda one: _is_due(one, limit))
        return count

    def _reclaim_all(self, filters: ServerFilters, is_due: Callable[[Instance], bool]) -> int:
        """Delete the listed servers that are due; return their number."""
        answers = self._cells.ask_all(
            lambda cell: cell.list_instances(admin_context(), filters=filters, limit=BATCH_SIZE)
        )
        with self._database.reader() as session:
            own = [
                (cell_uuid, instance)
                for cell_uuid, kept in answers.by_cell.items()
                for instance in cell_reports.own_instances(session, cell_uuid, kept)
            ]
        return sum(self._reclaim(cell_uuid, one) for cell_uuid, one in own if is_due(one))

    def _reclaim(self, cell_uuid: str, instance: Instance) -> bool:
        """Delete a server, unless it was restored, or its restore waits for its cell."""
        instance_uuid, kept_seconds = instance.uuid, float(self._conf.reclaim_instance_interval)
        context = admin_context().for_instance(instance_uuid)
        with log_context(context):
            try:
                with self._database.reader() as session:
                    if deferred_operations.find(session, instance_uuid) is not None:
                        return False
                if not self._cells.call(
                    cell_uuid,
                    lambda cell: cell.begin_reclaim(
                        context, instance_uuid, kept_seconds=kept_seconds
                    ),
                ):
                    return False
                LOG.info("%s: deleting it, soft-deleted at %s", instance_uuid, instance.updated_at)
                self._delete(context, instance_uuid)
            except exception.ArmillaryError as error:
                LOG.warning("%s: cannot delete, will retry: %s", instance_uuid, error)
                return False
        return True


def _is_begun(instance: Instance) -> bool:
    """Return whether the delete of a kept server has begun."""
    return instance.vm_state == "soft-delete" and instance.task_state == _DELETING


def _is_due(instance: Instance, limit: datetime) -> bool:
    """Return whether a server is kept since a time or longer, as its cell listed it."""
    return (
        instance.vm_state == "soft-delete"
        and instance.updated_at is not None
        and instance.updated_at <= limit
    )
