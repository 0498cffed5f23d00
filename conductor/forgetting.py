"""Forget what is old: decision traces, and what is kept of instances and guests that are gone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary.db import Database
from conductor.api_db import (
    instance_mappings,
    move_traces,
    request_specs,
    traces,
    zone_guests,
)
from conductor.moments import Now, moment

_INSTANCES_MAX = 500
_MOVES_MAX = 500
_GUESTS_MAX = 500
_TRACES_MAX = 20  # a transaction; each may have the choices of a thousand instances


class Forgetting:
    """Removes, now and then, what ``[scheduler] trace_retention_hours`` no longer keeps."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database, now: Now) -> None:
        self._conf = conf
        self._database = database
        self._now = now

    def run(self) -> None:
        """Remove all that is due, a batch a transaction."""
        now = moment(self._now())
        before = now - timedelta(hours=self._conf.scheduler.trace_retention_hours)
        self._database.run_in_writer(lambda session: traces.date_traces(session, now=now))
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
        self._in_batches(lambda session: _forget_instances(session, before), _INSTANCES_MAX)
        self._in_batches(
            lambda session: zone_guests.delete_old(
                session, created_before=before, limit=_GUESTS_MAX
            ),
            _GUESTS_MAX,
        )
        self._database.run_in_writer(traces.delete_unused_traces)

    def _in_batches(self, forget: Callable[[Session], int], size: int) -> None:
        while self._database.run_in_writer(forget) == size:
            pass


def _forget_instances(session: Session, deleted_before: datetime) -> int:
    uuids = instance_mappings.list_forgettable(
        session, deleted_before=deleted_before, limit=_INSTANCES_MAX
    )
    traces.delete_choices(session, uuids)
    move_traces.delete_of(session, uuids)
    request_specs.delete_specs(session, uuids)
    instance_mappings.delete_mappings(session, uuids)
    return len(uuids)
