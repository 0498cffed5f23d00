"""Heartbeats that change nothing, kept by the service group driver instead of the database.

A record in the database is never older than ``KEPT_SHARE`` of the down time, and one heartbeat,
while its host is alive: a heartbeat that finds it older goes to the database, whatever the driver
has. So whether a host is up follows from its record alone, and a driver that is down, slow or empty
has no host marked as down.
"""

from __future__ import annotations

import collections
import logging
import time
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from oslo_config import cfg

from armillary.db import Database
from armillary.logs.outage_log import OutageLog
from conductor.cell_conductor.hosts import agent_runs
from conductor.cell_conductor.servicegroup import OPTION, ServiceGroupDriver
from conductor.common.cell_db import models, services
from conductor.common.clock import Clock, moment
from objects.hosts.agent_run import AgentRun

LOG = logging.getLogger(__name__)

KEPT_SHARE = 1 / 2
"""Share of the down time after which a heartbeat goes to the database."""
COPY_SHARE = 1 / 3
"""Share after which a record is brought up to date from the driver."""
COPY_BATCH_SIZE = 500
PAUSE_SECONDS = 5.0
"""Seconds without calls of a driver that failed."""

T = TypeVar("T")


class HostHeartbeats:
    """Heartbeats of a cell's hosts, as far as they are kept by the driver."""

    def __init__(
        self, conf: cfg.ConfigOpts, driver: ServiceGroupDriver, *, database: Database, now: Clock
    ) -> None:
        self._conf = conf
        self._driver = driver
        self._database = database
        self._now = now
        self._outage = OutageLog(LOG, f"The store of heartbeats ({OPTION})")
        self._paused_until = 0.0

    def keep(
        self, agent: str, hosts: Collection[str], *, version: int, run: AgentRun | None
    ) -> bool:
        """Give a heartbeat to the driver; return False if it has to go to the database.

        The driver gets only one that leaves all records as they are. Everything else is decided
        in the transaction that stores it.
        """
        if not self._driver.is_outside_database or not hosts:
            return False
        now = self._now()
        since = self._past(now, KEPT_SHARE)
        run_id = None if run is None else run.id
        known = self._database.read(services.find_by_hosts, hosts)
        for host in hosts:
            row = known.get(host)
            if row is None or not _is_unchanged(row, agent, version, run_id, since):
                return False
        if run is not None:
            self.check_in_time(agent, run, known)

        def record() -> bool:
            self._driver.record(hosts, int(now))
            return True

        return self._call(record) is True

    def check_in_time(self, agent: str, run: AgentRun, known: Mapping[str, models.Service]) -> None:
        """Raise HeartbeatTooLate for one that its agent no longer expects to be answered."""
        own = {host: row for host, row in known.items() if row.run == run.id}
        contacts = [at for row in own.values() if (at := services.last_contact(row)) is not None]
        if own and self._driver.is_outside_database:
            seen = self._call(lambda: self._driver.last_seen(own.keys()))
            contacts += [moment(at_seconds) for at_seconds in (seen or {}).values()]
        agent_runs.check_in_time(
            agent, run, contacts, now=moment(self._now()), seconds_max=self._conf.report_interval
        )

    def copy(self) -> None:
        """Bring the records of hosts that are up to date, in batches, before they are checked."""
        if not self._driver.is_outside_database:
            return
        now = self._now()
        before = self._past(now, COPY_SHARE)
        stored = self._database.read(services.list_up_before, before)
        seen = self._call(lambda: self._driver.last_seen(stored.keys())) if stored else None
        of_second: dict[int, list[str]] = collections.defaultdict(list)
        for host, at_seconds in (seen or {}).items():
            if stored[host].timestamp() < at_seconds <= now:
                of_second[at_seconds].append(host)
        for at_seconds, found in sorted(of_second.items()):
            for first in range(0, len(found), COPY_BATCH_SIZE):
                self._store(found[first : first + COPY_BATCH_SIZE], moment(at_seconds))

    def _store(self, hosts: list[str], at: datetime) -> None:
        self._database.run_in_writer(services.note_seen, hosts, at=at)

    def _past(self, now: float, share: float) -> datetime:
        return moment(now) - timedelta(seconds=self._conf.service_down_time * share)

    def _call(self, fn: Callable[[], T]) -> T | None:
        """Return the driver's answer; None if it fails, or has failed a moment ago."""
        if time.monotonic() < self._paused_until:
            return None
        try:
            answer = fn()
        except Exception as error:  # a plugin can raise anything
            self._paused_until = time.monotonic() + PAUSE_SECONDS
            self._outage.failed(f"{error}; heartbeats go to the database")
            return None
        self._outage.succeeded()
        return answer


def _is_unchanged(
    row: models.Service, agent: str, version: int, run: str | None, since: datetime
) -> bool:
    """Return whether a heartbeat would change nothing in a record but its time."""
    return (
        row.is_up
        and not row.forced_down
        and (row.agent, row.version, row.run) == (agent, version, run)
        and row.last_seen_up is not None
        and row.last_seen_up >= since
    )
