"""Who receives a message works on it, while another thread goes on receiving.

The library's own way is one thread that receives and a pool that works: each message changes
threads before anything is done with it, and goes to another member of the pool than the last one.
Here the thread that received last is the first to receive again.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from oslo_messaging._drivers import base
from oslo_messaging.rpc.server import RPCServer
from oslo_utils import excutils

LOG = logging.getLogger(__name__)

Baton = SimpleQueue[bool]
"""One thread's own: True lets it receive, False lets it end."""


class Crew:
    """Threads of which one receives; made when they are needed, up to a bound.

    ``receive`` answers None when nothing will come any more. ``work`` is done by so many threads at
    once at most; what comes when all work waits, in order.
    """

    def __init__(
        self,
        receive: Callable[[], Any],
        work: Callable[[Any], None],
        *,
        workers_max: int,
    ) -> None:
        self._receive = receive
        self._work = work
        self._size_max = workers_max + 1  # who receives does not work
        self._guard = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._free: list[Baton] = []
        self._waiting: deque[Any] = deque()
        self._has_ended = False

    def start(self) -> None:
        """Begin to receive."""
        self._find_receiver()

    def wait(self) -> None:
        """Wait until all that was received is done; ``receive`` has answered None, or will."""
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        baton: Baton = SimpleQueue()
        may_receive = True
        while may_receive:
            message = self._receive()
            if message is None:
                self._end()
                return
            if self._find_receiver():
                self._work_off(message, baton)
                may_receive = baton.get()
            else:
                self._waiting.append(message)

    def _work_off(self, message: Any, baton: Baton) -> None:
        """Work on a message and what waits behind it, then be free."""
        while message is not None:
            self._do(message)
            message = self._next_or_free(baton)

    def _next_or_free(self, baton: Baton) -> Any:
        with self._guard:
            if self._waiting:
                return self._waiting.popleft()
            if self._has_ended:
                baton.put(False)
            else:
                self._free.append(baton)
        return None

    def _do(self, message: Any) -> None:
        try:
            self._work(message)
        except Exception:  # the thread is needed for others
            LOG.exception("Work on a message failed")

    def _find_receiver(self) -> bool:
        """Let another thread receive; return whether there is one. Called by who receives."""
        with self._guard:
            if self._free:
                self._free.pop().put(True)
                return True
            if len(self._threads) >= self._size_max:
                return False
            thread = threading.Thread(target=self._serve, name="rpc-server", daemon=True)
            self._threads.append(thread)
        thread.start()
        return True

    def _end(self) -> None:
        with self._guard:
            self._has_ended = True
            for baton in self._free:
                baton.put(False)


class _Listener(base.Listener):  # type: ignore[misc]
    """The driver's listener, polled by a crew."""

    def __init__(self, polled: base.PollStyleListener, workers_max: int) -> None:
        super().__init__(batch_size=1, batch_timeout=None)
        self._polled = polled
        self._workers_max = workers_max
        self._crew: Crew | None = None

    def start(self, on_incoming_callback: Callable[[Any], None]) -> None:
        super().start(on_incoming_callback)
        self._crew = Crew(self._poll, on_incoming_callback, workers_max=self._workers_max)
        self._crew.start()

    def stop(self) -> None:
        self._polled.stop()
        super().stop()

    def cleanup(self) -> None:
        if self._crew is not None:
            self._crew.wait()
        self._polled.cleanup()

    @excutils.forever_retry_uncaught_exceptions
    def _poll(self) -> Any:
        return self._polled.poll(batch_size=1) or None


class ReceivingServer(RPCServer):  # type: ignore[misc]
    """The library's server for threads, which works on a message where it was received."""

    def _create_listener(self) -> _Listener:
        adapter = super()._create_listener()
        return _Listener(adapter._poll_style_listener, self.conf.executor_thread_pool_size)

    def _on_incoming(self, incoming: Any) -> None:
        self._process_incoming(incoming)
