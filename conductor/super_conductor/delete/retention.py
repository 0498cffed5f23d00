"""Retention: removes old decision traces, and records of deleted and cancelled instances."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary.db import Database
from conductor.common.clock import Clock, moment
from conductor.super_conductor.db import (
    instance_mappings,
    request_specs,
    traces,
    zone_attempts,
)


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
