"""Execution of operation commands from the journal, and reports of their results."""

import logging
import threading
import time
from collections.abc import Callable, Mapping

from oslo_utils import timeutils

from armillary import exception
from armillary.context import RequestContext, admin_context
from compute_agent.environment import Environment
from compute_agent.host.claims import Claims
from compute_agent.journal.command_log import NO_CHANGE, CommandLog, Key, Signal
from compute_agent.journal.held_guests import HeldGuests
from compute_agent.journal.journal import Acceptance
from compute_agent.operations.step import Outcome, Postponed, Step, Superseded
from compute_agent.operations.verbs import VERBS
from compute_agent.reporting.outbox import Outbox
from compute_agent.reporting.staleness_check import OUT_OF_REACH, StalenessCheck
from compute_agent.virt.image_service import ImageService
from compute_agent.work.work_queue import WorkQueue
from objects.instances.instance_command import InstanceCommand, Verb
from objects.instances.instance_fault import (
    FAILED,
    GUEST_ASIDE,
    GUEST_KEPT,
    GUEST_LOST,
    InstanceFault,
)

LOG = logging.getLogger(__name__)

PROGRESS_SECONDS = 2.0
"""Interval of live migration progress messages to the conductor."""
_FAULT_CODES = (
    (exception.GuestLost, GUEST_LOST),
    (exception.GuestKept, GUEST_KEPT),
    (exception.GuestAside, GUEST_ASIDE),
)
EARLY_SIGNALS_MAX = 1000
"""Maximum number of signals to remember whose commands have not arrived."""


class Progress:
    """Reports live migration progress to the conductor periodically, without blocking."""

    def __init__(
        self,
        book: CommandLog,
        command: InstanceCommand,
        tell: Callable[[int, int], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._book = book
        self._command = command
        self._tell = tell
        self._clock = clock
        self._told_at = float("-inf")

    def progress(self, *, total_mb: int, remaining_mb: int) -> None:
        """Report the memory to copy and what is left of it, MiB."""
        now = self._clock()
        if now - self._told_at >= PROGRESS_SECONDS:
            self._told_at = now
            self._tell(total_mb, remaining_mb)

    def is_aborted(self) -> bool:
        """Return whether the migration is to be aborted or its command was superseded."""
        return self._book.is_aborted(self._command)

    def is_forced(self) -> bool:
        """Return whether the migration is to be completed immediately."""
        return self._book.is_forced(self._command)


class CommandExecution:
    """Receives commands and executes them through the queue.

    ``on_change`` gets the host. ``on_unwanted`` gets (host, instance UUID) when a command is
    dropped whose predecessors may have left something behind. ``on_fault`` gets the same when a
    command failed, and may have had an effect nevertheless.
    """

    def __init__(
        self,
        env: Environment,
        *,
        image_services: Mapping[str, ImageService],
        claims: Claims,
        queue: WorkQueue,
        outbox: Outbox,
        staleness_check: StalenessCheck,
        on_change: Callable[[str], None],
        on_unwanted: Callable[[str, str], None],
        on_fault: Callable[[str, str], None] = lambda host, uuid: None,
    ) -> None:
        self._env = env
        self._book = CommandLog(env.journal)
        self._held = HeldGuests(env.journal)
        self._signal_lock = threading.Lock()
        self._early_signals: dict[tuple[Key, Signal], int] = {}  # command's sequence, oldest first
        self._image_services = image_services
        self._claims = claims
        self._queue = queue
        self._outbox = outbox
        self._thoughts = staleness_check
        self._on_change = on_change
        self._on_unwanted = on_unwanted
        self._on_fault = on_fault

    def take(self, context: RequestContext, command: InstanceCommand) -> None:
        """Record a command and queue it. Duplicate, late and unknown commands are handled."""
        host, uuid = command.host, command.instance.uuid
        if host not in self._env.drivers:
            self._refuse(command, f"agent {self._env.agent} does not manage host {host}")
            return
        if command.verb not in VERBS:
            self._refuse(
                command, f"agent {self._env.agent} does not support the command {command.verb}"
            )
            return
        accepted = self._accept(command)
        LOG.info("%s: command %d, %s on %s: %s",
                 uuid, command.sequence, command.verb, host, accepted.value)  # fmt: skip
        match accepted:
            case Acceptance.NEW:
                self._start(context, command)
            case Acceptance.REPEATED:
                if not self._queue.has_task((host, uuid)):
                    self._start(context, command)
            case Acceptance.OVER:
                self._outbox.wake()
            case Acceptance.IGNORED:
                pass

    def _accept(self, command: InstanceCommand) -> Acceptance:
        """Record a command, and the signals that came before it or with it."""
        key, sequence = (command.host, command.instance.uuid), command.sequence
        with self._signal_lock:
            accepted = self._book.accept(command)
            for signal in Signal:
                is_told = bool(command.arguments.get(signal.value))
                if self._early_signals.get((key, signal)) == sequence:
                    del self._early_signals[key, signal]
                    is_told = True
                if is_told and accepted in (Acceptance.NEW, Acceptance.REPEATED):
                    self._record(key, sequence, signal)
        return accepted

    def signal(self, uuid: str, host: str, sequence: int, signal: Signal) -> None:
        """Tell a running or queued live migration, or one whose command has yet to arrive."""
        key = (host, uuid)
        with self._signal_lock:
            if self._record(key, sequence, signal):
                return
            self._early_signals.pop((key, signal), None)
            self._early_signals[key, signal] = sequence
            if len(self._early_signals) > EARLY_SIGNALS_MAX:
                del self._early_signals[next(iter(self._early_signals))]

    def _record(self, key: Key, sequence: int, signal: Signal) -> bool:
        """Record a signal to a pending command; return whether there is one of this number."""
        host, uuid = key
        if not self._book.signal(host, uuid, sequence, signal):
            return False
        LOG.info("%s: command %d on %s: %s", uuid, sequence, host, signal.name.lower())
        if signal is Signal.ABORT:
            self._queue.lift_limit(key)
        return True

    def resume(self) -> None:
        """Resume commands in the journal that are not queued or running."""
        for host, uuid in self._book.list_open():
            if host not in self._env.drivers or self._queue.has_task((host, uuid)):
                continue
            command = self._book.find_open(host, uuid)
            if command is not None:
                self._start(admin_context().for_instance(uuid), command)

    def execute(self, context: RequestContext, host: str, uuid: str) -> None:
        """Execute the pending command for an instance on a host, if any."""
        command = self._book.find_open(host, uuid)
        if command is None:
            return
        context.update_store()  # request id in this worker's log lines
        if not self._is_wanted(context, command):
            return
        try:
            outcome = VERBS[Verb(command.verb)](self._step(context, command))
        except Superseded:
            LOG.info("%s: command %d was superseded", uuid, command.sequence)
            return
        except Postponed as error:
            LOG.warning("%s: command %d, %s on %s is begun again later: %s",
                        uuid, command.sequence, command.verb, host, error)  # fmt: skip
            return
        except exception.ArmillaryError as error:
            self._finish(command, Outcome(), self._fault(command, error))
        except Exception as error:
            LOG.exception("%s: command %d, %s on %s failed unexpectedly",
                          uuid, command.sequence, command.verb, host)  # fmt: skip
            self._finish(command, Outcome(), self._fault(command, error))
        else:
            if command.verb in (Verb.PAUSE, Verb.SUSPEND):  # it stays as its user wants it
                self._held.remove(host, uuid)
            self._finish(command, outcome, None)

    def _is_wanted(self, context: RequestContext, command: InstanceCommand) -> bool:
        """Return whether to continue a command; drop an obsolete one."""
        host, uuid = command.host, command.instance.uuid
        try:
            if self._thoughts.is_command_wanted(context, command):
                return True
        except OUT_OF_REACH as error:
            LOG.info("%s: command %d waits for the conductor: %s",
                     uuid, command.sequence, error)  # fmt: skip
            return False
        LOG.info("%s: command %d on %s is obsolete", uuid, command.sequence, host)
        self._book.drop(command)
        self._on_unwanted(host, uuid)
        return False

    def _step(self, context: RequestContext, command: InstanceCommand) -> Step:
        return Step(
            conf=self._env.conf,
            context=context,
            command=command,
            entry=self._env.journal.find(command.host, command.instance.uuid),
            driver=self._env.drivers[command.host],
            claims=self._claims,
            watch=Progress(
                self._book, command, lambda total, left: self._tell(command, total, left)
            ),
            image_service=self._image_services[command.host],
            write=lambda change: self._book.change(command, change),
        )

    def _finish(
        self, command: InstanceCommand, outcome: Outcome, fault: InstanceFault | None
    ) -> None:
        change = outcome.change if fault is None else NO_CHANGE
        if not self._book.finish(command, change, answer=outcome.answer, fault=fault):
            LOG.info("%s: command %d was superseded", command.instance.uuid, command.sequence)
        if fault is not None:
            LOG.warning(
                "%s: command %d, %s on %s failed: %s",
                command.instance.uuid, command.sequence, command.verb, command.host, fault.details,
            )  # fmt: skip
            self._on_fault(command.host, command.instance.uuid)
        self._outbox.wake()
        self._on_change(command.host)

    def _start(self, context: RequestContext, command: InstanceCommand) -> None:
        host, uuid = command.host, command.instance.uuid
        is_copy = command.verb == Verb.LIVE_MIGRATE and not self._book.is_aborted(command)
        start = self._queue.copy if is_copy else self._queue.operation
        if command.verb == Verb.SNAPSHOT:
            start = self._queue.snapshot
        start((host, uuid), lambda: self.execute(context, host, uuid))

    def _refuse(self, command: InstanceCommand, reason: str) -> None:
        LOG.warning(
            "%s: command %d is rejected: %s", command.instance.uuid, command.sequence, reason
        )
        error = exception.OperationFailed(
            operation=command.verb,
            instance_uuid=command.instance.uuid,
            host=command.host,
            reason=reason,
        )
        self._book.refuse(command, self._fault(command, error))
        self._outbox.wake()

    def _fault(self, command: InstanceCommand, error: Exception) -> InstanceFault:
        reason = getattr(error, "kwargs", {}).get("reason")
        return InstanceFault.from_values(
            instance_uuid=command.instance.uuid,
            host=command.host,
            code=next((code for kind, code in _FAULT_CODES if isinstance(error, kind)), FAILED),
            message=_sentence_for_user(command, reason),
            details=f"{type(error).__name__}: {error}",
            created_at=timeutils.utcnow(with_timezone=True),
        )

    def _tell(self, command: InstanceCommand, total_mb: int, remaining_mb: int) -> None:
        try:
            self._env.conductor.migration_progress(
                admin_context(),
                self._env.agent,
                command.id,
                total_mb=total_mb,
                remaining_mb=remaining_mb,
            )
        except exception.ArmillaryError as error:
            LOG.debug("%s: cannot send progress: %s", command.instance.uuid, error)


def _sentence_for_user(command: InstanceCommand, reason: str | None) -> str:
    what = command.operation.replace("_", " ")
    return f"The {what} failed: {reason or 'unexpected error on the host'}."
