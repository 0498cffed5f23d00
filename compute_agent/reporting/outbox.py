"""Outbox: reports to the cell conductor, sent in order and retried until acknowledged."""

import logging
import threading
import time
import uuid
from collections.abc import Callable, Sequence

from armillary import exception
from armillary.backoff import Backoff, KeyedBackoff
from armillary.concurrency import WorkerPool
from armillary.context import RequestContext, admin_context
from armillary.logs.outage_log import OutageLog
from compute_agent.environment import Environment
from compute_agent.journal.journal import Kind, Report
from compute_agent.work.wakeable_loop import WakeableLoop
from objects.instances.instance_command import BuiltReport, CommandId

LOG = logging.getLogger(__name__)

STALE = "stale"
SENDERS = 4
"""Number of concurrent messages; each has reports of different instances."""
BATCH_SIZE_MAX = 100
"""Maximum number of reports in one message."""
BACKOFF = Backoff(0.5, 30.0, jitter=0.5)
REFUSAL_KEEP_SECONDS = 600.0
"""Seconds to remember a rejected report; after that it was removed from the journal."""
UNASKED = frozenset({Kind.INSTANCE_ENDED, Kind.POWER_CHANGED})
"""Reports of what no request asked for."""

OnStale = Callable[[Report], None]


class Outbox:
    """Sends the reports in the journal, in order for each instance.

    If the conductor is unreachable, all reports wait with an exponential backoff; a report that it
    cannot process waits alone. ``on_stale`` is called with a stale report before it is removed.
    Successes that accumulate while such a message is pending are sent together in the next one.
    """

    def __init__(
        self,
        env: Environment,
        *,
        senders: WorkerPool,
        on_stale: OnStale,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._env = env
        self._on_stale = on_stale
        self._clock = clock
        self._run = uuid.uuid4()
        self._senders = senders
        self._loop = WakeableLoop(f"{env.agent}-outbox", self.step)
        self._outage = OutageLog(LOG, "the cell conductor (reports)")
        self._lock = threading.Lock()
        self._under_way: set[str] = set()
        self._busy_senders = 0
        self._is_reporting_successes = False
        self._failures = 0
        self._pause_until = 0.0
        self._refused = KeyedBackoff[int](BACKOFF, clock, forget_seconds=REFUSAL_KEEP_SECONDS)

    def start(self) -> None:
        self._loop.start()

    def wake(self) -> None:
        self._loop.wake()

    def stop(self, wait_seconds: float) -> None:
        """Stop sending; unacknowledged reports stay in the journal."""
        deadline = time.monotonic() + wait_seconds
        self._loop.stop(wait_seconds)
        self._senders.shutdown(max(0.0, deadline - time.monotonic()))

    def step(self) -> float | None:
        """Send due reports; return the seconds until the next one is due, else None."""
        if not self._env.is_admitted():
            return None  # woken when it is
        now = self._clock()
        with self._lock:
            if now < self._pause_until:
                return self._pause_until - now
            under_way = sorted(self._under_way)
        refused = self._refused.waiting()
        found = self._env.journal.next_reports(BATCH_SIZE_MAX + len(refused), skip=under_way)
        for batch in self._batches([report for report in found if report.id not in refused]):
            if not self._send(batch):
                break
        return min((refused[report.id] for report in found if report.id in refused), default=None)

    def _batches(self, due: Sequence[Report]) -> list[list[Report]]:
        """Return the reports grouped by message, oldest first."""
        successes = [report for report in due if report.kind is Kind.BUILD_SUCCEEDED]
        others = [[report] for report in due if report.kind is not Kind.BUILD_SUCCEEDED]
        with self._lock:
            if not successes or self._is_reporting_successes:
                return others
        return sorted([successes, *others], key=lambda batch: batch[0].id)

    def _send(self, batch: list[Report]) -> bool:
        with self._lock:
            if self._busy_senders >= SENDERS:
                return False
            self._busy_senders += 1
            self._under_way.update(report.instance_uuid for report in batch)
            if batch[0].kind is Kind.BUILD_SUCCEEDED:
                self._is_reporting_successes = True
        self._senders.submit(self._deliver, batch)
        return True

    def _deliver(self, batch: list[Report]) -> None:
        try:
            if len(batch) > 1:
                self._deliver_together(batch)
            else:
                self._deliver_one(batch[0])
        except exception.Unavailable as error:
            self._note_outage(error)
        finally:
            with self._lock:
                self._busy_senders -= 1
                self._under_way.difference_update(report.instance_uuid for report in batch)
                if batch[0].kind is Kind.BUILD_SUCCEEDED:
                    self._is_reporting_successes = False
            self._loop.wake()

    def _deliver_together(self, batch: Sequence[Report]) -> None:
        """Send successes in one message, or one by one if the conductor rejects it."""
        try:
            answers = self._env.conductor.builds_succeeded(
                admin_context(), self._env.agent, [_built(report) for report in batch]
            )
        except exception.Unavailable:
            raise
        except Exception as error:
            LOG.warning("The conductor rejected a batch of %d reports: %r", len(batch), error)
            for report in batch:
                self._deliver_one(report)
        else:
            self._note_answers(list(zip(batch, answers, strict=True)))

    def _deliver_one(self, report: Report) -> None:
        try:
            self._note_answers([(report, self._call(report))])
        except exception.Unavailable:
            raise
        except Exception as error:
            self._note_refusal(report, error)

    def _call(self, report: Report) -> str:
        context = self._context_of(report)
        where = (self._env.agent, report.host, report.instance_uuid)
        result = report.result
        match report.kind:
            case Kind.BUILD_SUCCEEDED:
                (answer,) = self._env.conductor.builds_succeeded(
                    context, self._env.agent, [_built(report)]
                )
                return answer
            case Kind.BUILD_FAILED:
                assert result.fault is not None
                return self._env.conductor.build_failed(
                    context, *where, report.attempt, fault=result.fault, retry=result.retry
                )
            case Kind.INSTANCE_DELETED:
                return self._env.conductor.instance_deleted(context, *where)
            case Kind.INSTANCE_ENDED:
                return self._env.conductor.instance_ended(
                    context, *where, report.attempt,
                    exit_code=result.exit_code, reason=result.reason,
                )  # fmt: skip
            case Kind.POWER_CHANGED:
                return self._env.conductor.power_changed(
                    context, *where, report.attempt,
                    power_state=result.power_state, reason=result.reason,
                )  # fmt: skip
            case Kind.COMMAND_ANSWERED:
                return self._env.conductor.command_answered(
                    context,
                    self._env.agent,
                    CommandId(report.host, report.instance_uuid, report.attempt),
                    answer=result.answer,
                    fault=result.fault,
                )

    def _context_of(self, report: Report) -> RequestContext:
        """Return the context of a delivery: that of the instance's last request.

        What no request asked for may happen again: with the same request ID, the conductor would
        take its report for a message that comes twice, and answer it from its record. Deliveries of
        one report have one ID: it takes a late one for what it is.
        """
        request_id = report.request_id
        if report.kind in UNASKED:
            request_id = f"req-{uuid.uuid5(self._run, str(report.id))}"
        context = admin_context(request_id).for_instance(report.instance_uuid)
        context.update_store()  # request id in this delivery's log lines
        return context

    def _note_answers(self, answered: Sequence[tuple[Report, str]]) -> None:
        with self._lock:
            self._failures = 0
            self._pause_until = 0.0
            self._outage.succeeded()
        for report, _answer in answered:
            self._refused.forget(report.id)
        for report, answer in answered:
            if answer == STALE:
                LOG.info(
                    "%s: %s of attempt %d on %s was stale",
                    report.instance_uuid, report.kind, report.attempt, report.host,
                )  # fmt: skip
                self._on_stale(report)
        self._env.journal.remove_reports([report for report, _answer in answered])

    def _note_outage(self, error: Exception) -> None:
        with self._lock:
            self._pause_until = self._clock() + BACKOFF.seconds(self._failures)
            self._failures += 1
            self._outage.failed(error)

    def _note_refusal(self, report: Report, error: Exception) -> None:
        pause_seconds = self._refused.add(report.id)
        LOG.error(
            "%s: the conductor cannot process %s from %s, retrying in %.0f s: %r",
            report.instance_uuid, report.kind, report.host, pause_seconds, error,
        )  # fmt: skip


def _built(report: Report) -> BuiltReport:
    return BuiltReport(
        report.host, report.instance_uuid, report.attempt, str(report.result.power_state)
    )
