"""What the agent tells its conductor unasked: that it lives, and what its hosts have and use."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.context import admin_context
from armillary.log_once import OutageLog
from armillary.notifications import SILENT, Notifier
from armillary.service_history import CURRENT_VERSION
from compute_agent.journal import Journal
from compute_agent.resource_tracker import ResourceTracker
from compute_agent.wakeable_loop import WakeableLoop
from conductor.cell_rpcapi import CellConductorAPI
from objects.compute_node import ComputeNode

LOG = logging.getLogger(__name__)

DEBOUNCE_SECONDS = 0.2
"""Changes within this time travel in one message."""
REST_SECONDS = 1.0
"""Seconds from one message to the next while hosts change all the time."""
RETRY_SECONDS_MIN = 1.0
RETRY_SECONDS_MAX = 30.0
NODES_PER_MESSAGE_MAX = 500
DEFAULT_UPDATE_SECONDS = 60.0


class Reporter:
    """Sends heartbeats for all hosts in one message, and records of those that changed.

    Records are sent after the first heartbeat was answered (it makes the service records), for all
    hosts then and every ``update_resources_interval``, and in between for each host that ``touch``
    names. What monitors measured for a record is told as a notification, too. ``on_contact`` is
    called when the conductor answers for the first time, and after it was out of reach for long;
    ``on_versions`` with what it says of the oldest conductors (interface -> service version), and
    ``on_answered`` with when it was asked, by the clock.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        journal: Journal,
        trackers: Iterable[ResourceTracker],
        heartbeats: CellConductorAPI,
        conductor: CellConductorAPI,
        agent: str,
        on_contact: Callable[[], None],
        on_versions: Callable[[Mapping[str, int]], None] = lambda versions: None,
        on_answered: Callable[[float], None] = lambda asked_at: None,
        clock: Callable[[], float] = time.monotonic,
        notifier: Notifier = SILENT,
    ) -> None:
        self._conf = conf
        self._journal = journal
        self._trackers = {tracker.host: tracker for tracker in trackers}
        self._heartbeats = heartbeats
        self._conductor = conductor
        self._agent = agent
        self._on_contact = on_contact
        self._on_versions = on_versions
        self._on_answered = on_answered
        self._clock = clock
        self._notifier = notifier
        self._outage = OutageLog(LOG, "the cell conductor (heartbeats)", clock=clock)
        self._loop = WakeableLoop(f"{agent}-reporter", self.step)
        self._lock = threading.Lock()
        self._answered_at: float | None = None
        self._touched: dict[str, float] = {}  # host -> not to be sent before
        self._rests_until = 0.0
        self._full_report_at = 0.0
        self._failures = 0
        self._said_of: dict[str, str] = {}  # host -> the error it was last warned of
        self._lost: set[str] = set()  # hosts whose driver could not be read the last time
        self._to_shape = set(self._trackers)
        """Hosts that were not recorded since the start: their trees may take another shape."""

    def start(self) -> None:
        """Begin to report what changes."""
        self._loop.start()

    def stop(self, wait_seconds: float) -> None:
        """Report no more."""
        self._loop.stop(wait_seconds)

    def touch(self, host: str) -> None:
        """Something about a host changed: report it soon, with others that did."""
        with self._lock:
            if host in self._touched:
                return
            at = max(self._clock() + DEBOUNCE_SECONDS, self._rests_until)
            is_first = not self._touched or at < min(self._touched.values())
            self._touched[host] = at
        if is_first:
            self._loop.wake()

    def touch_all(self) -> None:
        """Report every host at once."""
        with self._lock:
            self._full_report_at = 0.0
        self._loop.wake()

    def heartbeat(self) -> None:
        """Say that the agent and its hosts are alive, and which builds it has in hand."""
        asked_at = self._clock()
        try:
            versions = self._heartbeats.report_services(
                admin_context(),
                self._agent,
                sorted(self._trackers),
                self._journal.builds_in_hand(),
                version=CURRENT_VERSION,
            )
        except exception.ArmillaryError as error:
            self._outage.failed(error)
            return
        self._outage.succeeded()
        self._on_versions(versions)
        self._on_answered(asked_at)
        now = self._clock()
        with self._lock:
            is_back = self._is_back(now)
            self._answered_at = now
        if is_back:
            self.touch_all()
            self._on_contact()

    def step(self) -> float | None:
        """Send the records that are due; return the seconds until the next ones are."""
        now = self._clock()
        with self._lock:
            if self._answered_at is None:
                return None
            due = self._due(now)
            if not due:
                return self._next_due(now)
            for host in due:
                self._touched.pop(host, None)
        failed = self._report(due)
        now = self._clock()
        with self._lock:
            self._failures = self._failures + 1 if failed else 0
            for host in failed:
                self._touched[host] = now + _retry_seconds(self._failures)
            return self._next_due(now)

    def _is_back(self, now: float) -> bool:
        return self._answered_at is None or now - self._answered_at > self._conf.service_down_time

    def _due(self, now: float) -> list[str]:
        if now >= self._full_report_at:
            self._full_report_at = now + self._update_seconds()
            return sorted(self._trackers)
        if not any(at <= now for at in self._touched.values()):
            return []
        self._rests_until = now + REST_SECONDS
        soon = now + DEBOUNCE_SECONDS  # many hosts change at once: those that are next go along
        return sorted(host for host, at in self._touched.items() if at <= soon)

    def _next_due(self, now: float) -> float:
        return max(0.0, min([self._full_report_at, *self._touched.values()]) - now)

    def _update_seconds(self) -> float:
        seconds = self._conf.update_resources_interval
        return threading.TIMEOUT_MAX / 2 if seconds < 0 else seconds or DEFAULT_UPDATE_SECONDS

    def _report(self, hosts: Sequence[str]) -> list[str]:
        """Send the records of these hosts; return those that have to be sent again."""
        nodes = {host: self._node(host) for host in hosts}
        readable = [node for node in nodes.values() if node is not None]
        done: set[str] = set()
        for first in range(0, len(readable), NODES_PER_MESSAGE_MAX):
            done |= self._send(readable[first : first + NODES_PER_MESSAGE_MAX])
        return [host for host in hosts if host not in done]

    def _node(self, host: str) -> ComputeNode | None:
        try:
            node = self._trackers[host].compute_node()
        except Exception as error:
            if host not in self._lost:
                self._lost.add(host)
                self._notifier.driver_lost(host, error)
            LOG.exception("The resources of host %s cannot be read", host)
            return None
        self._lost.discard(host)
        self._notifier.metrics_update(host, node.node, node.attributes.get("metrics") or [])
        return node

    def _send(self, nodes: Sequence[ComputeNode]) -> set[str]:
        """Send one message; return the hosts whose records were taken."""
        try:
            answers = self._conductor.report_compute_nodes(
                admin_context(), self._agent, nodes,
                reshape=[node.uuid for node in nodes if node.host in self._to_shape],
            )  # fmt: skip
        except exception.ArmillaryError as error:
            LOG.warning("%d hosts could not be reported, again soon: %s", len(nodes), error)
            return set()
        by_uuid = {answer["uuid"]: answer for answer in answers}
        return {node.host for node in nodes if self._note_answer(node.host, by_uuid.get(node.uuid))}

    def _note_answer(self, host: str, answer: dict[str, Any] | None) -> bool:
        error = "it was left out of the answer" if answer is None else answer.get("error")
        if answer is None or error:
            if self._said_of.get(host) != error:
                self._said_of[host] = str(error)
                LOG.warning("Host %s could not be recorded, retrying: %s", host, error)
            return False
        self._to_shape.discard(host)
        if self._said_of.pop(host, None):
            LOG.info("Host %s is recorded now", host)
        if self._trackers[host].note_ratios(answer.get("allocation_ratios") or {}):
            self.touch(host)
        return True


def _retry_seconds(failures: int) -> float:
    return min(RETRY_SECONDS_MAX, RETRY_SECONDS_MIN * 2.0 ** min(failures - 1, 16))
