"""Heartbeats, and reports of the resources and usage of the agent's hosts."""

import dataclasses
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence

from oslo_config import cfg

from armillary import exception
from armillary.backoff import Backoff
from armillary.context import admin_context
from armillary.logs.outage_log import OutageLog
from armillary.service_history import CURRENT_VERSION
from compute_agent import boot_clock
from compute_agent.host.resource_tracker import ResourceTracker
from compute_agent.journal.journal import Journal
from compute_agent.reporting.admission import Admission
from compute_agent.work.wakeable_loop import WakeableLoop
from conductor.cell_conductor.interface import CellConductorAPI
from objects.hosts.agent_run import AgentRun
from objects.hosts.compute_node import ComputeNode
from objects.hosts.host_answers import NodeReportResult
from rpc.notifications import SILENT, Notifier

LOG = logging.getLogger(__name__)

DEBOUNCE_SECONDS = 0.2
"""Changes within this time are sent in one message."""
REST_SECONDS = 1.0
"""Minimum seconds between messages while hosts change continuously."""
RETRY_BACKOFF = Backoff(1.0, 30.0)
NODES_PER_MESSAGE_MAX = 500
DEFAULT_UPDATE_SECONDS = 60.0


class Reporter:
    """Sends heartbeats for all hosts in one message, and records of changed hosts.

    The first answered heartbeat creates the service records. Then the records of all hosts are
    sent, and again every ``update_resources_interval``, with those named by ``touch`` in between.
    The metrics in a record are also sent as a notification. ``on_connected`` is called on the
    conductor's first answer and after a long outage; ``on_versions`` with the oldest conductor
    versions (interface -> service version); ``on_answered`` with the time when the heartbeat was
    sent. ``admission`` hears whether this ``run`` of the agent may act; ``is_settled`` is asked
    before each heartbeat; ``final_heartbeats`` is the client for the report that this
    run has ended.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        journal: Journal,
        trackers: Iterable[ResourceTracker],
        heartbeats: CellConductorAPI,
        conductor: CellConductorAPI,
        final_heartbeats: CellConductorAPI | None = None,
        agent: str,
        on_connected: Callable[[], None],
        on_versions: Callable[[Mapping[str, int]], None] = lambda versions: None,
        on_answered: Callable[[float], None] = lambda asked_at: None,
        admission: Admission | None = None,
        run: AgentRun | None = None,
        is_settled: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = boot_clock.seconds,
        notifier: Notifier = SILENT,
    ) -> None:
        self._conf = conf
        self._journal = journal
        self._trackers = {tracker.host: tracker for tracker in trackers}
        self._heartbeats = heartbeats
        self._conductor = conductor
        self._final_heartbeats = final_heartbeats or heartbeats
        self._agent = agent
        self._on_connected = on_connected
        self._on_versions = on_versions
        self._on_answered = on_answered
        self._admission = admission or Admission(agent, lambda is_admitted: None)
        self._run = run
        self._is_settled = is_settled
        self._clock = clock
        self._notifier = notifier
        self._outage = OutageLog(LOG, "the cell conductor (heartbeats)", clock=clock)
        self._loop = WakeableLoop(f"{agent}-reporter", self.step)
        self._lock = threading.Lock()
        self._answered_at: float | None = None
        self._answer_asked_at: float | None = None
        """When the last heartbeat that was answered was sent."""
        self._touched: dict[str, float] = {}  # host -> earliest time to send
        self._rests_until = 0.0
        self._full_report_at = 0.0
        self._failures = 0
        self._said_of: dict[str, str] = {}  # host -> last error logged
        self._said_of_approval = ""  # last error logged about all hosts
        self._lost: set[str] = set()  # hosts whose driver failed the last time
        self._to_shape = set(self._trackers)
        """Hosts not recorded since startup, whose provider trees may need a reshape."""

    def start(self) -> None:
        self._loop.start()

    def stop(self, wait_seconds: float) -> None:
        self._loop.stop(wait_seconds)

    def touch(self, host: str) -> None:
        """Schedule a report of a changed host, together with others."""
        with self._lock:
            if host in self._touched:
                return
            at = max(self._clock() + DEBOUNCE_SECONDS, self._rests_until)
            is_first = not self._touched or at < min(self._touched.values())
            self._touched[host] = at
        if is_first:
            self._loop.wake()

    def touch_all(self) -> None:
        """Report every host as soon as possible."""
        with self._lock:
            self._full_report_at = 0.0
        self._loop.wake()

    def heartbeat(self) -> None:
        """Send a heartbeat for the agent and its hosts, with its unfinished builds."""
        asked_at = self._clock()
        try:
            versions = self._report_services(asked_at)
        except exception.AgentNotAdmitted as error:
            with self._lock:
                self._answered_at = self._answer_asked_at = None
            self._admission.refused(str(error))
            return
        except exception.HostsNotApproved as error:
            self._say_once_of_approval(str(error))
            return
        except exception.ArmillaryError as error:
            self._outage.failed(error)
            return
        self._say_once_of_approval("")
        self._outage.succeeded()
        self._on_versions(versions)
        self._on_answered(asked_at)
        self._admission.admitted()
        now = self._clock()
        with self._lock:
            is_back = self._is_back(now)
            self._answered_at, self._answer_asked_at = now, asked_at
        if is_back:
            self.touch_all()
            self._on_connected()

    def _report_services(self, asked_at: float) -> dict[str, int]:
        """Send a heartbeat, and another one if the cell takes it for one that came late."""
        answered = self._answer_asked_at
        try:
            return self._send_heartbeat(None if answered is None else asked_at - answered)
        except exception.HeartbeatTooLate as error:
            LOG.info("%s, says the conductor; sending another one", error)
            return self._send_heartbeat(None)

    def _send_heartbeat(self, answered_seconds_ago: float | None) -> dict[str, int]:
        return self._heartbeats.report_services(
            admin_context(),
            self._agent,
            sorted(self._trackers),
            self._journal.unfinished_builds(),
            service_version=CURRENT_VERSION,
            run=self._run
            and dataclasses.replace(
                self._run, is_settled=self._is_settled(), answered_seconds_ago=answered_seconds_ago
            ),
        )

    def report_end(self) -> None:
        """Tell the cell that this run has ended, so that another one may begin immediately."""
        if self._run is None or not self._admission.is_admitted():
            return
        try:
            self._final_heartbeats.report_services(
                admin_context(), self._agent, [], {}, service_version=CURRENT_VERSION,
                run=dataclasses.replace(self._run, is_over=True),
            )  # fmt: skip
        except exception.ArmillaryError as error:
            LOG.info("Cannot report to the conductor that this agent is stopping: %s", error)

    def _say_once_of_approval(self, refusal: str) -> None:
        if refusal and refusal != self._said_of_approval:
            LOG.error(
                "%s. Nothing is built here until the conductor accepts this; asking again", refusal
            )
        self._said_of_approval = refusal

    def step(self) -> float | None:
        """Send the due records; return the seconds until the next ones are due."""
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
            for host in failed:
                self._touched[host] = now + RETRY_BACKOFF.seconds(self._failures)
            self._failures = self._failures + 1 if failed else 0
            return self._next_due(now)

    def _is_back(self, now: float) -> bool:
        return (
            self._answered_at is None or now - self._answered_at > self._conf.service_down_time / 2
        )

    def _due(self, now: float) -> list[str]:
        if now >= self._full_report_at:
            self._full_report_at = now + self._update_seconds()
            return sorted(self._trackers)
        if not any(at <= now for at in self._touched.values()):
            return []
        self._rests_until = now + REST_SECONDS
        soon = now + DEBOUNCE_SECONDS  # include hosts that are due shortly
        return sorted(host for host, at in self._touched.items() if at <= soon)

    def _next_due(self, now: float) -> float:
        return max(0.0, min([self._full_report_at, *self._touched.values()]) - now)

    def _update_seconds(self) -> float:
        seconds = self._conf.update_resources_interval
        return threading.TIMEOUT_MAX / 2 if seconds < 0 else seconds or DEFAULT_UPDATE_SECONDS

    def _report(self, hosts: Sequence[str]) -> list[str]:
        """Send the records of these hosts; return those to be sent again."""
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
                LOG.exception("Cannot read the resources of host %s", host)
            return None
        self._lost.discard(host)
        self._notifier.metrics_update(host, node.node, node.attributes.get("metrics") or [])
        return node

    def _send(self, nodes: Sequence[ComputeNode]) -> set[str]:
        """Send one message; return the hosts whose records were accepted."""
        try:
            answers = self._conductor.report_compute_nodes(
                admin_context(), self._agent, nodes,
                reshape=[node.uuid for node in nodes if node.host in self._to_shape],
            )  # fmt: skip
        except exception.ArmillaryError as error:
            LOG.warning("Cannot report hosts (%d), retrying: %s", len(nodes), error)
            return set()
        by_uuid = {answer.uuid: answer for answer in answers}
        return {node.host for node in nodes if self._note_answer(node.host, by_uuid.get(node.uuid))}

    def _note_answer(self, host: str, answer: NodeReportResult | None) -> bool:
        error = "the answer does not include it" if answer is None else answer.error
        if answer is None or error:
            if self._said_of.get(host) != error:
                self._said_of[host] = str(error)
                LOG.warning("Host %s could not be recorded, retrying: %s", host, error)
            return False
        self._to_shape.discard(host)
        if self._said_of.pop(host, None):
            LOG.info("Host %s is recorded now", host)
        if self._trackers[host].note_ratios(answer.allocation_ratios):
            self.touch(host)
        return True
