"""Retention: removes old decision traces, and records of deleted and cancelled instances."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary.db import Database
from conductor.common.clock import Clock, moment
from conductor.super_conductor.db import (
    instance_mappings,
    move_traces,
    request_specs,
    traces,
    zone_attempts,
)

_INSTANCES_MAX = 500
_MOVES_MAX = 500
_GUESTS_MAX = 500
_TRACES_MAX = 20  # in a transaction; each may contain the choices of a thousand instances


class Retention:
    """Periodically removes what is older than ``[scheduler] trace_retention_hours``."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database, now: Clock) -> None:
        self._conf = conf
        self._database = database
        self._now = now

    def run(self) -> None:
        """Remove everything that is due, one batch a transaction."""
        now = moment(self._now())
        before = now - timedelta(hours=self._conf.scheduler.trace_retention_hours)
        self._in_batches(
            lambda session: traces.delete_old_traces(
                session, stored_before=before, limit=_TRACES_MAX
            ),
            _TRACES_MAX,
        )
        self._in_batches(
            lambda session: move_traces.delete_old(session, stored_before=before, limit=_MOVES_MAX),
            _MOVES_MAX,
        )
        self._in_batches(lambda session: _delete_expired_instances(session, before), _INSTANCES_MAX)
        self._in_batches(
            lambda session: zone_attempts.delete_old(
                session, created_before=before, limit=_GUESTS_MAX
            ),
            _GUESTS_MAX,
        )
        self._database.run_in_writer(traces.delete_unused_traces)

    def _in_batches(self, forget: Callable[[Session], int], size: int) -> None:
        while self._database.run_in_writer(forget) == size:
            pass


def _delete_expired_instances(session: Session, deleted_before: datetime) -> int:
    uuids = instance_mappings.list_purgeable(
        session, deleted_before=deleted_before, limit=_INSTANCES_MAX
    )
    traces.delete_choices(session, uuids)
    move_traces.delete_of(session, uuids)
    request_specs.delete_specs(session, uuids)
    instance_mappings.delete_mappings(session, uuids)
    return len(uuids)
