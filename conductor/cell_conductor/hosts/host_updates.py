"""Host states for the schedulers: rows built from records, sent in batches, by sequence number.

A row is at least as new as its number: its content was stored with that number, or with a later one
that is still to be sent. So any conductor of the cell may push, several at the same time, and
receivers ignore repeats.
"""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import admin_context
from armillary.db import Database
from armillary.logs.outage_log import OutageLog
from conductor.common.cell_db import compute_nodes, host_seq, instances, services
from conductor.common.cell_db.compute_nodes import ChangedNode
from conductor.common.cell_db.services import ServiceState
from objects.hosts.host_attributes import HOST_ATTRIBUTES, HostAttribute
from objects.hosts.host_states import HostStateBatch
from scheduler.interface import SchedulerAPI

LOG = logging.getLogger(__name__)

REST_SECONDS = 1.0
"""Minimum seconds between two pushes while hosts change all the time."""


class HostUpdates:
    """A cell's host states: pushed when they change, and returned on request.

    ``monotonic`` is a monotonic clock in seconds. Only one thread may push.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        database: Database,
        scheduler: SchedulerAPI,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._conf = conf
        self._database = database
        self._scheduler = scheduler
        self._monotonic = monotonic
        self._pushed: int | None = None
        self._pushed_at = 0.0
        self._rests_until = float("-inf")
        self._outage = OutageLog(LOG, "The top broker, for pushing host states,")

    def push_in_turn(self) -> int:
        """Push, unless the last push of changes was just now: later changes share the next push."""
        if self._monotonic() < self._rests_until:
            return 0
        rows = self.push()
        if rows:
            self._rests_until = self._monotonic() + REST_SECONDS
        return rows

    def push(self) -> int:
        """Push changes since the last push, or a heartbeat if one is due; return the row count.

        The first push after a start is a heartbeat: its number shows schedulers what they missed.
        What cannot be sent now is sent the next time.
        """
        rows = 0
        current = int(self._database.peek(host_seq.PEEK)[0])
        if self._pushed is None or self._pushed > current:
            self._pushed = current
            self._send(self._batch(current, current))
            return 0
        while self._pushed < current:
            batch = self._read(self._pushed, limit=self._conf.cell.host_push_batch_max)
            if not self._send(batch):
                return rows
            self._pushed = batch.last_seq
            rows += len(batch.node_uuids)
        if self._monotonic() - self._pushed_at >= self._conf.cell.host_push_idle_seconds:
            self._send(self._batch(current, current))
        return rows

    def get(self, after_seq: int) -> HostStateBatch:
        """Return all rows changed after a number.

        Returns all rows (``full``) for 0, for a number older than the record of removed nodes, and
        for one that this cell never assigned (its database was restored).
        """
        with self._database.reader() as session:
            current = host_seq.current(session)
            forgotten = host_seq.removals_from(session)
            if 0 < after_seq <= current and after_seq >= forgotten:
                return self._changed(session, after_seq, current)
            return self._all(session, current)

    def _read(self, after_seq: int, *, limit: int) -> HostStateBatch:
        with self._database.reader() as session:
            current = host_seq.current(session)
            nth = compute_nodes.seq_of_nth_change(session, after_seq=after_seq, nth=limit)
            return self._changed(session, after_seq, current if nth is None else min(nth, current))

    def _changed(self, session: Session, after_seq: int, up_to_seq: int) -> HostStateBatch:
        bounds = {"after_seq": after_seq, "up_to_seq": up_to_seq}
        rows = _with_records(session, compute_nodes.list_changed(session, **bounds))
        removed = compute_nodes.list_removed(session, **bounds)
        return self._batch(after_seq, up_to_seq, rows, removed=removed)

    def _all(self, session: Session, current: int) -> HostStateBatch:
        rows = compute_nodes.list_changed(session, after_seq=-1, up_to_seq=current)
        return self._batch(0, current, _with_records(session, rows), full=True)

    def _batch(
        self,
        first_seq: int,
        last_seq: int,
        rows: Sequence[ChangedNode] | None = None,
        *,
        removed: Sequence[str] = (),
        full: bool = False,
    ) -> HostStateBatch:
        """Return a batch; without rows it is a heartbeat."""
        attributes = HOST_ATTRIBUTES if rows is not None else ()
        rows = rows or ()
        batch: HostStateBatch = HostStateBatch.from_values(
            cell_uuid=self._conf.cell.uuid,
            first_seq=first_seq,
            last_seq=last_seq,
            full=full,
            node_uuids=[row.uuid for row in rows],
            hosts=[row.host for row in rows],
            nodes=[row.node for row in rows],
            attributes={each.name: [_value(each, row) for row in rows] for each in attributes},
            removed=list(removed),
        )
        return batch

    def _send(self, batch: HostStateBatch) -> bool:
        try:
            self._scheduler.update_host_states(admin_context(), batch)
        except exception.Unavailable as error:
            self._outage.failed(error)
            return False
        self._outage.succeeded()
        self._pushed_at = self._monotonic()
        return True


def _with_records(session: Session, rows: Sequence[ChangedNode]) -> list[ChangedNode]:
    """Return nodes with the attributes taken from the cell's own records, too."""
    hosts = {row.host for row in rows}
    found = services.states_by_hosts(session, hosts)
    living = instances.uuids_on_hosts(session, hosts)
    return [_with_record(row, found.get(row.host), living.get(row.host, [])) for row in rows]


def _with_record(
    row: ChangedNode, service: ServiceState | None, living: Sequence[str]
) -> ChangedNode:
    recorded = {
        "num_instances": len(living),
        "instance_uuids": list(living),
        "service_up": service is not None and service.is_up,
        "service_disabled": service is None or service.disabled,
        "service_version": 0 if service is None else service.version,
    }
    return row._replace(attributes={**row.attributes, **recorded})


def _value(attribute: HostAttribute, row: ChangedNode) -> Any:
    value = row.attributes.get(attribute.name, attribute.default)
    return list(value) if isinstance(value, tuple) else value
