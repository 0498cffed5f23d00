"""Reports to the cell conductor: sent in their order, again and again until they are answered."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable

from armillary import exception
from armillary.concurrency import WorkerPool
from armillary.context import RequestContext, admin_context
from armillary.log_once import OutageLog
from compute_agent.journal import Journal, Kind, Report
from compute_agent.wakeable_loop import WakeableLoop
from conductor.rpcapi import CellConductorAPI
from objects.instance_fault import InstanceFault

LOG = logging.getLogger(__name__)

STALE = "stale"
SENDERS = 4
"""Reports under way at a time, each of another instance."""
PAUSE_SECONDS_MIN = 0.5
PAUSE_SECONDS_MAX = 30.0
REFUSAL_KEEP_SECONDS = 600.0
"""A refused report that was not sent again by then was dropped from the journal."""

OnStale = Callable[[Report], None]


class Outbox:
    """Delivers the reports in the journal; those of one instance one after the other.

    While the conductor is out of reach everything waits, longer each time; a report that it cannot
    digest waits alone. ``on_stale`` is told of a report that came too late, before it is removed.
    """

    def __init__(
        self,
        *,
        journal: Journal,
        conductor: CellConductorAPI,
        agent: str,
        senders: WorkerPool,
        on_stale: OnStale,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._journal = journal
        self._conductor = conductor
        self._agent = agent
        self._on_stale = on_stale
        self._clock = clock
        self._senders = senders
        self._loop = WakeableLoop(f"{agent}-outbox", self.step)
        self._outage = OutageLog(LOG, "the cell conductor (reports)")
        self._lock = threading.Lock()
        self._under_way: set[str] = set()
        self._failures = 0
        self._pause_until = 0.0
        self._refused: dict[int, tuple[int, float]] = {}  # report -> failures, not before

    def start(self) -> None:
        """Begin to deliver what is there."""
        self._loop.start()

    def wake(self) -> None:
        """There is a new report."""
        self._loop.wake()

    def stop(self, wait_seconds: float) -> None:
        """Deliver no more; what was not answered is in the journal."""
        deadline = time.monotonic() + wait_seconds
        self._loop.stop(wait_seconds)
        self._senders.shutdown(max(0.0, deadline - time.monotonic()))

    def step(self) -> float | None:
        """Send what is due; return the seconds until more is, None if nothing waits for time."""
        now = self._clock()
        with self._lock:
            if now < self._pause_until:
                return self._pause_until - now
            self._refused = {
                id_: (failures, at)
                for id_, (failures, at) in self._refused.items()
                if at > now - REFUSAL_KEEP_SECONDS
            }
            held_back = {id_: at for id_, (_, at) in self._refused.items() if at > now}
            under_way = sorted(self._under_way)
        wait: float | None = None
        for report in self._journal.next_reports(SENDERS + len(held_back), skip=under_way):
            if report.id in held_back:
                seconds = held_back[report.id] - now
                wait = seconds if wait is None else min(wait, seconds)
            elif not self._send(report):
                break
        return wait

    def _send(self, report: Report) -> bool:
        with self._lock:
            if len(self._under_way) >= SENDERS:
                return False
            self._under_way.add(report.instance_uuid)
        self._senders.submit(self._deliver, report)
        return True

    def _deliver(self, report: Report) -> None:
        try:
            self._note_answer(report, self._call(report))
        except exception.Unavailable as error:
            self._note_outage(error)
        except Exception as error:
            self._note_refusal(report, error)
        finally:
            with self._lock:
                self._under_way.discard(report.instance_uuid)
            self._loop.wake()

    def _call(self, report: Report) -> str:
        context = _context_of(report)
        where = (self._agent, report.host, report.instance_uuid)
        payload = report.payload
        match report.kind:
            case Kind.BUILD_SUCCEEDED:
                return self._conductor.build_succeeded(
                    context, *where, report.attempt, power_state=payload["power_state"]
                )
            case Kind.BUILD_FAILED:
                return self._conductor.build_failed(
                    context,
                    *where,
                    report.attempt,
                    fault=InstanceFault.obj_from_primitive(payload["fault"]),
                    retry=payload["retry"],
                )
            case Kind.INSTANCE_DELETED:
                return self._conductor.instance_deleted(context, *where)
            case Kind.INSTANCE_ENDED:
                return self._conductor.instance_ended(
                    context, *where, report.attempt, exit_code=payload["exit_code"]
                )
            case Kind.ORDER_ANSWERED:
                fault = payload["fault"]
                return self._conductor.order_answered(
                    context,
                    *where,
                    report.attempt,
                    answer=payload["answer"],
                    fault=None if fault is None else InstanceFault.obj_from_primitive(fault),
                )

    def _note_answer(self, report: Report, answer: str) -> None:
        with self._lock:
            self._failures = 0
            self._pause_until = 0.0
            self._refused.pop(report.id, None)
            self._outage.succeeded()
        if answer == STALE:
            LOG.info(
                "%s: %s of attempt %d on %s came too late",
                report.instance_uuid, report.kind, report.attempt, report.host,
            )  # fmt: skip
            self._on_stale(report)
        self._journal.remove_report(report)

    def _note_outage(self, error: Exception) -> None:
        with self._lock:
            self._failures += 1
            self._pause_until = self._clock() + _pause_seconds(self._failures)
            self._outage.failed(error)

    def _note_refusal(self, report: Report, error: Exception) -> None:
        with self._lock:
            failures = self._refused.get(report.id, (0, 0.0))[0] + 1
            pause_seconds = _pause_seconds(failures)
            self._refused[report.id] = (failures, self._clock() + pause_seconds)
        LOG.error(
            "%s: the conductor could not take %s from %s, again in %.0f s: %r",
            report.instance_uuid, report.kind, report.host, pause_seconds, error,
        )  # fmt: skip


def _pause_seconds(failures: int) -> float:
    longest = min(PAUSE_SECONDS_MAX, PAUSE_SECONDS_MIN * 2.0 ** min(failures - 1, 16))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing


def _context_of(report: Report) -> RequestContext:
    context = admin_context(report.request_id).for_instance(report.instance_uuid)
    context.update_store()  # log lines of this delivery carry it
    return context
