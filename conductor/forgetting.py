"""Forget instances that are gone for long: mapping, request spec and decision trace."""

from __future__ import annotations

from datetime import timedelta

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary.db import Database
from conductor.api_db import instance_mappings, request_specs, traces
from conductor.moments import Now, moment

_BATCH_SIZE = 500


class Forgetting:
    """Removes, now and then, what ``[conductor] trace_keep_days`` no longer keeps."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database, now: Now) -> None:
        self._conf = conf
        self._database = database
        self._now = now

    def run(self) -> None:
        """Remove all that is due, a batch a transaction."""
        keep = timedelta(days=self._conf.conductor.trace_keep_days)
        before = moment(self._now()) - keep

        def forget(session: Session) -> int:
            uuids = instance_mappings.list_forgettable(
                session, deleted_before=before, limit=_BATCH_SIZE
            )
            traces.delete_choices(session, uuids)
            request_specs.delete_specs(session, uuids)
            instance_mappings.delete_mappings(session, uuids)
            return len(uuids)

        while self._database.run_in_writer(forget) == _BATCH_SIZE:
            pass
        self._database.run_in_writer(traces.delete_unused_traces)
