"""cell0: the database of unschedulable instances, owned by the super conductor.

They stay in ERROR with the reason, and are not queued again when capacity appears.
"""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.common.cell_db import actions, faults, instance_changes, instances
from conductor.common.clock import Clock, moment
from objects.cell_mapping import CELL0_UUID
from objects.instance import Instance
from objects.instances.instance_action import InstanceAction
from objects.instances.instance_fault import InstanceFault
from objects.instances.server_answers import InstanceMarker
from objects.instances.server_changes import ServerChanges
from objects.instances.server_filters import ServerFilters

_BATCH_SIZE = 200


class Cell0:
    """Answers for cell0 what a cell's conductor answers for its cell."""

    def __init__(self, database: Database, now: Clock) -> None:
        self._database = database
        self._now = now

    def store_in_cell0(
        self, context: RequestContext, failed: Sequence[Instance], fault: InstanceFault
    ) -> None:
        """Store instances in ERROR with their fault and failed action. Idempotent."""
        for start in range(0, len(failed), _BATCH_SIZE):
            self._store_batch(context, failed[start : start + _BATCH_SIZE], fault)

    def get_instance(self, instance_uuid: str) -> Instance:
        """Return an instance. Raises InstanceNotFound, also for a deleted one."""
        return self._database.read(instances.get, instance_uuid, cell_uuid=CELL0_UUID)

    def list_instances(
        self, *, filters: ServerFilters, limit: int, marker: InstanceMarker | None
    ) -> list[Instance]:
        """Return a page of instances, newest first."""
        return self._database.read(
            instances.list_page, filters=filters, limit=limit, marker=marker, cell_uuid=CELL0_UUID
        )

    def update_instance(self, instance_uuid: str, changes: ServerChanges) -> None:
        """Change name, metadata, tags and settings. Idempotent.

        Raises InstanceNotFound, Invalid (too many tags), QuotaExceeded (metadata).
        """

        def write(session: Session) -> None:
            row = instances.lock(session, instance_uuid)
            if row is None or row.deleted_at is not None:
                raise exception.InstanceNotFound(instance_uuid=instance_uuid)
            instance_changes.apply(row, changes, now=moment(self._now()))

        self._database.run_in_writer(write)

    def delete_instances(self, instance_uuids: Sequence[str]) -> None:
        """Delete instances; unknown and deleted ones are ignored."""
        now = moment(self._now())
        self._database.run_in_writer(instances.delete_all, instance_uuids, now=now)

    def purge(self, *, keep_days: int) -> int:
        """Remove the rows of instances deleted more than ``keep_days`` ago; return their number."""
        before = moment(self._now()) - timedelta(days=keep_days)
        return instances.purge(self._database, deleted_before=before)

    def list_actions(self, instance_uuid: str) -> list[InstanceAction]:
        """Return the actions of an instance, newest first."""
        return self._database.read(actions.list_of, instance_uuid)

    def list_faults(self, instance_uuid: str) -> list[InstanceFault]:
        """Return the faults of an instance, oldest first."""
        return self._database.read(faults.list_of, instance_uuid)

    def _store_batch(
        self, context: RequestContext, failed: Sequence[Instance], fault: InstanceFault
    ) -> None:
        now = moment(self._now())

        self._database.run_in_writer(instances.insert_failed, context, failed, fault, now=now)
