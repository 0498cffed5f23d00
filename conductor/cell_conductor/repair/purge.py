"""Purge of records past their retention.

These are deleted instances, removals and changes of hosts, and stored answers. The faults, instance
actions and migrations of an instance go with it.
"""

from datetime import timedelta

from oslo_config import cfg

from armillary.db import Database, idempotency
from conductor.common.cell_db import host_events, host_seq, instances, models
from conductor.common.clock import Clock, moment

REMOVALS_KEEP_DAYS = 7
HOST_EVENTS_KEEP_DAYS = 90


def purge(conf: cfg.ConfigOpts, database: Database, now: Clock) -> int:
    """Purge instances deleted for ``[cell] instance_keep_deleted_days``; return how many."""
    today = moment(now())
    deleted_before = today - timedelta(days=conf.cell.instance_keep_deleted_days)
    removed_before = today - timedelta(days=REMOVALS_KEEP_DAYS)
    database.run_in_writer(host_seq.purge_removals, before=removed_before)
    changed_before = today - timedelta(days=HOST_EVENTS_KEEP_DAYS)
    database.run_in_writer(host_events.purge, before=changed_before)
    idempotency.delete_old(database, models.IdempotencyRecord, now=now())
    return instances.purge(database, deleted_before=deleted_before)
