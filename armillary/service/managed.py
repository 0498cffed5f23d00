"""Lifecycle of one manager in one process, from its factory to its drained end."""

import gc
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import NoReturn, Protocol, runtime_checkable

from oslo_config import cfg
from oslo_service.backend.base import ServiceBase

from armillary import exception
from armillary.concurrency.periodic import PeriodicRunner, PeriodicTask
from armillary.logs.masking import mask_passwords
from armillary.service.supervisor import Supervisor
from armillary.service.worker_states import WorkerSlot

LOG = logging.getLogger(__name__)

PARENT_SECONDS_MAX = 10.0  # ends a worker that requested the end of the service
PARENT_POLL_SECONDS = 0.1


class Server(Protocol):
    """A component that receives requests: an RPC server, an HTTP server."""

    def start(self) -> None: ...

    def stop(self) -> None:
        """Stop accepting requests."""
        ...

    def wait(self) -> None:
        """Return when the requests in progress are done."""
        ...


class Manager(Protocol):
    """The work of a service, made by a factory in its process; ``stop`` may come at any time."""

    def start(self) -> None:
        """Prepare (wait for the database, recover), before any server accepts requests."""
        ...

    def servers(self) -> Sequence[Server]:
        """Return the servers to run, not yet started; called once, after ``start``."""
        ...

    def periodic_tasks(self) -> Sequence[PeriodicTask]:
        """Return the tasks to run; called once, after the servers were started."""
        ...

    def stop(self, grace_seconds: float) -> None:
        """End its own threads within the time given; servers and periodic tasks have ended."""
        ...

    def reload(self) -> None:
        """Apply changed mutable options (SIGHUP)."""
        ...


@runtime_checkable
class HasHealth(Protocol):
    """A manager with a health check; while it is unhealthy, systemd's watchdog is not fed."""

    def is_healthy(self) -> bool: ...


Factory = Callable[[], Manager]


class ManagedService(ServiceBase):  # type: ignore[misc]
    """oslo.service service around the manager that ``factory`` makes when it starts.

    When launched, the same object exists in parent and worker. The parent never starts it; calls
    there (``reset``, ``stop``) concern the service as a whole.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        binary: str,
        factory: Factory,
        supervisor: Supervisor,
        slot: WorkerSlot,
    ) -> None:
        self.backdoor_port: int | None = None  # set by oslo.service
        self._conf = conf
        self._binary = binary
        self._factory = factory
        self._supervisor = supervisor
        self._slot = slot
        self._manager: Manager | None = None
        self._servers: list[Server] = []
        self._runners: list[PeriodicRunner] = []
        self._is_told_to_stop = False
        self._stopping = threading.Event()
        self._stopped = threading.Event()

    # Called by oslo.service

    def start(self) -> None:
        """Run the manager in this worker; a failure to start ends the worker or the service."""
        error = self._error_of_run()
        tune_garbage_collector()
        if error is not None:  # not in an except clause, where oslo.log adds the error to each line
            self._exit_failed_start(error)
        if self._slot.worker_states.is_ending and not self._is_told_to_stop:
            os.kill(os.getpid(), signal.SIGTERM)  # the parent's came before this worker heard any

    def stop(self) -> None:
        """Drain within ``graceful_shutdown_timeout``, or leave the process."""
        if self._supervisor.is_here:
            self._supervisor.stopping()
            return
        # Before anything waits: oslo.service has reset its handlers, a second signal would kill.
        self._is_told_to_stop = True
        grace_seconds = self._conf.graceful_shutdown_timeout
        if grace_seconds:
            timer = threading.Timer(grace_seconds, self._abandon_work)
            timer.daemon = True
            timer.start()
        self.drain(grace_seconds)

    def wait(self) -> None:
        self._stopped.wait()

    def reset(self) -> None:
        """Reload, after oslo.service has mutated the options."""
        if self._supervisor.is_here:
            self._supervisor.reloading()
        else:
            self.reload()

    # For a single process without a launcher

    def run(self) -> None:
        """Make the manager, start it, its servers and its tasks; raise any error."""
        self._slot.starting()
        self._manager = manager = self._factory()
        manager.start()
        for server in manager.servers():
            if self._stopping.is_set():
                return
            server.start()
            self._servers.append(server)
        self._start_periodic_tasks(manager)
        self._slot.ready()
        LOG.info("%s is ready", self._binary)

    def stop_scheduling_tasks(self) -> None:
        """Begin no more periodic tasks; running ones continue."""
        for runner in self._runners:
            runner.stop()

    def finish_tasks(self, wait_seconds: float) -> None:
        """Wait for the running periodic tasks, at most ``wait_seconds`` in total."""
        deadline = time.monotonic() + wait_seconds
        for runner in self._runners:
            runner.stop(max(0.0, deadline - time.monotonic()))

    def drain(self, grace_seconds: float) -> None:
        """Accept no more work, finish current work, stop the manager. 0 seconds mean no limit.

        Only the first call has an effect; others wait for it. Errors are logged and do not prevent
        the remaining steps.
        """
        if self._stopping.is_set():
            self._stopped.wait()
            return
        self._stopping.set()
        deadline = time.monotonic() + (grace_seconds or threading.TIMEOUT_MAX)
        for server in self._servers:
            self._attempt(server.stop)
        self.stop_scheduling_tasks()
        for server in self._servers:
            self._attempt(server.wait)
        self.finish_tasks(max(0.0, deadline - time.monotonic()))
        if self._manager is not None:
            remaining = max(0.0, deadline - time.monotonic())
            manager = self._manager
            self._attempt(lambda: manager.stop(remaining))
        self._stopped.set()

    def reload(self) -> None:
        """Notify the manager that options changed."""
        if self._manager is not None:
            self._attempt(self._manager.reload)
            LOG.info("%s reloaded its configuration", self._binary)
        if self._runners:
            self._slot.ready()

    def _error_of_run(self) -> Exception | None:
        try:
            self.run()
        except Exception as error:
            return error
        return None

    def _start_periodic_tasks(self, manager: Manager) -> None:
        tasks = list(manager.periodic_tasks()) if self._conf.periodic_enable else []
        self._runners.append(PeriodicRunner(tasks))
        heartbeat_seconds = self._supervisor.heartbeat_seconds
        if heartbeat_seconds is not None:
            heartbeat = PeriodicTask("heartbeat", heartbeat_seconds, self._show_health)
            self._runners.append(PeriodicRunner([heartbeat]))
        for runner in self._runners:
            runner.start()

    def _show_health(self) -> None:
        if not isinstance(self._manager, HasHealth) or self._manager.is_healthy():
            self._slot.heartbeat()

    def _attempt(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception:
            LOG.exception("%s: %s failed", self._binary, getattr(step, "__qualname__", step))

    def _abandon_work(self) -> None:
        LOG.error("%s: abandoning work that was not finished in time", self._binary)
        leave(1)

    def _exit_failed_start(self, error: Exception) -> NoReturn:
        """Log why in one line and end: the whole service if another worker would fail as well.

        This is the case for a configuration error, and for any error while no worker was ever
        ready. Otherwise only this worker ends, and the launcher replaces it.
        """
        worker_states = self._slot.worker_states
        is_configuration = isinstance(error, exception.ConfigurationError)
        if worker_states.was_ever_ready and not is_configuration:
            LOG.error(
                "%s: a worker could not start, the launcher replaces it",
                self._binary,
                exc_info=error,
            )
            leave(1)
        code = exit_code_for(error)
        if worker_states.report_failed_start(code):
            log_failed_start(self._conf, self._binary, error)
            os.kill(os.getppid(), signal.SIGTERM)
        if not self._is_ended_by_parent():
            os.kill(os.getppid(), signal.SIGTERM)
        leave(code)

    def _is_ended_by_parent(self) -> bool:
        """Wait for the parent to end all workers; return whether it does.

        While it does, a second signal would kill it with another exit code.
        """
        deadline = time.monotonic() + PARENT_SECONDS_MAX
        while not self._stopping.wait(PARENT_POLL_SECONDS):
            if self._slot.worker_states.is_ending:
                return True
            if time.monotonic() >= deadline:
                return False
        return True


def exit_code_for(error: Exception) -> int:
    """Return 78 for a configuration error, which a restart would not fix; else 1."""
    return os.EX_CONFIG if isinstance(error, exception.ConfigurationError) else 1


def log_failed_start(conf: cfg.ConfigOpts, binary: str, error: Exception) -> None:
    """Log one line, on standard error, too; with a traceback only if it is an internal error."""
    line = f"{binary} cannot start: {' '.join(mask_passwords(error).split())}"
    is_explained = isinstance(error, (exception.ArmillaryError, OSError))
    LOG.critical("%s", line, exc_info=None if is_explained else error)
    if not conf.use_stderr:
        sys.stderr.write(f"{line}\n")


def leave(code: int) -> NoReturn:
    """End this process now: other threads may hang."""
    logging.shutdown()
    os._exit(code)


YOUNG_MAX = 20_000
"""Number of new objects that triggers a young-generation collection; Python's default is 700."""


def tune_garbage_collector() -> None:
    """Exclude the current objects from all later collections; for a worker that has started.

    A full collection visits every object, a quarter of a million of them from imports alone, and
    runs more often the more requests there are. Reference counting frees all but cycles anyway.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_MAX, *gc.get_threshold()[1:])
