"""A worker thread that runs a step periodically or when woken."""

import logging
import threading
import time
from collections.abc import Callable

from armillary import exception

LOG = logging.getLogger(__name__)

FAILURE_PAUSE_SECONDS = 5.0


class WakeableLoop:
    """Calls ``step`` in one thread: immediately after ``start`` and ``wake``.

    ``step`` returns the seconds until the next call, or None to wait for ``wake``. An exception is
    logged, unless the journal has done so, and the step is called again after a pause.
    """

    def __init__(self, name: str, step: Callable[[], float | None]) -> None:
        self._name = name
        self._step = step
        self._changed = threading.Condition()
        self._is_woken = False
        self._is_stopping = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread; call once."""
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Run the step as soon as possible; if it is running, run it once more afterwards."""
        with self._changed:
            self._is_woken = True
            self._changed.notify_all()

    def stop(self, wait_seconds: float) -> bool:
        """Start no further step; return whether the current one ended in time."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
        if self._thread is None or self._thread is threading.current_thread():
            return True
        self._thread.join(wait_seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._is_stopping:
            self._is_woken = False
            self._wait(self._step_safely())

    def _step_safely(self) -> float | None:
        try:
            return self._step()
        except exception.JournalUnwritable as error:
            LOG.debug("%s waits: %s", self._name, error)
            return FAILURE_PAUSE_SECONDS
        except Exception:
            LOG.exception("%s failed; retrying in %.0f s", self._name, FAILURE_PAUSE_SECONDS)
            return FAILURE_PAUSE_SECONDS

    def _wait(self, seconds: float | None) -> None:
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._changed:
            while not (self._is_woken or self._is_stopping):
                remaining = None if deadline is None else deadline - time.monotonic()
                if remaining is not None and remaining <= 0:
                    return
                self._changed.wait(remaining)
