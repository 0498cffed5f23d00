"""Updates for schedulers about instances that were added to or removed from a cell's hosts."""

import logging
import threading
import time
from collections.abc import Callable, Mapping

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.db import Database
from conductor.common.cell_db import compute_nodes, instances, migrations, services
from scheduler.interface import SchedulerAPI

LOG = logging.getLogger(__name__)

_WAITING_MAX = 10_000
"""Maximum number of queued instances; beyond that, only the pushed host states show them."""
REST_SECONDS = 1.0
"""Minimum seconds between two messages while instances change all the time."""


class InstanceUpdates:
    """Queues what this conductor saw, and sends it in one message for all hosts. Thread-safe.

    A message may be lost: the pushed host states are authoritative. ``monotonic`` is a monotonic
    clock in seconds.
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
        self._rests_until = float("-inf")
        self._lock = threading.Lock()
        self._placed: dict[str, str] = {}  # instance -> host
        self._gone: dict[str, str] = {}

    def placed(self, host: str, instance_uuid: str) -> None:
        with self._lock:
            if self._has_room:
                self._placed[instance_uuid] = host

    def gone(self, host: str, instance_uuid: str) -> None:
        """Record that an instance left a host; a queued update that it was there is dropped."""
        with self._lock:
            self._placed.pop(instance_uuid, None)
            if self._has_room:
                self._gone[instance_uuid] = host

    def changed(self, instance_uuid: str) -> None:
        """Record where an instance is, and is no longer, after an operation."""
        with self._database.reader() as session:
            row = instances.find_rows(session, [instance_uuid]).get(instance_uuid)
            ends = migrations.latest_ends(session, instance_uuid)
            ends &= services.find_by_hosts(session, ends).keys()  # the others are of another cell
        host = None if row is None or row.deleted_at is not None else row.host
        for left in ends - {host}:
            self.gone(left, instance_uuid)
        if host is not None:
            self.placed(host, instance_uuid)

    def push_in_turn(self) -> None:
        """Send queued updates, unless a message was sent just now."""
        if self._monotonic() >= self._rests_until and (self._placed or self._gone):
            self._rests_until = self._monotonic() + REST_SECONDS
            self.push()

    def push(self) -> None:
        with self._lock:
            placed, self._placed = self._placed, {}
            gone, self._gone = self._gone, {}
        if placed:
            self._send(self._scheduler.update_instance_info, _by_host(placed))
        if gone:
            self._send(self._scheduler.delete_instance_info, _by_host(gone))

    def sync(self) -> None:
        """Send all instances of all hosts, one batch of hosts a message."""
        if not self._conf.filter_scheduler.track_instance_changes:
            return
        with self._database.reader() as session:
            hosts = compute_nodes.list_hosts(session)
            found = instances.uuids_on_hosts(session)
        size = self._conf.cell.host_push_batch_max
        for start in range(0, len(hosts), size):
            batch = {host: found.get(host, []) for host in hosts[start : start + size]}
            self._send(self._scheduler.sync_instance_info, batch)

    @property
    def _has_room(self) -> bool:
        is_wanted: bool = self._conf.filter_scheduler.track_instance_changes
        return is_wanted and len(self._placed) + len(self._gone) < _WAITING_MAX

    def _send(
        self,
        method: Callable[[RequestContext, Mapping[str, list[str]]], None],
        hosts: Mapping[str, list[str]],
    ) -> None:
        try:
            method(admin_context(), hosts)
        except exception.Unavailable as error:
            LOG.debug("Cannot send schedulers the instances of %d hosts: %s", len(hosts), error)


def _by_host(host_of: Mapping[str, str]) -> dict[str, list[str]]:
    hosts: dict[str, list[str]] = {}
    for uuid, host in host_of.items():
        hosts.setdefault(host, []).append(uuid)
    return hosts
