"""Thread pool of an RPC server in which the receiving thread handles its message.

oslo.messaging receives in one thread and hands each message to a pool. Each message then changes
threads, and rarely reaches the most recently used one. Here the thread that received a message
handles it while another one receives, and the last to finish is the first to receive again.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from oslo_utils import excutils

from rpc import oslo_internals

LOG = logging.getLogger(__name__)

Leader = SimpleQueue[bool]
"""Channel to one thread: True lets it receive, False ends it."""

WAITING_MAX = 1000
"""Maximum number of messages that wait for a thread; further ones stay at the broker."""
WAITING_BYTES_MAX = 64 * 1024**2
FULL_SECONDS = 5.0
"""How often one more is received nevertheless: reading keeps the connection alive."""


class ThreadPool:
    """A pool of threads, one of which receives; started on demand, up to a limit.

    ``receive`` returns None at the end of all messages. ``work`` runs in at most ``workers_max``
    threads; further messages wait in order. ``size_of`` returns the bytes of a message.
    """

    def __init__(
        self,
        receive: Callable[[], Any],
        work: Callable[[Any], None],
        *,
        workers_max: int,
        size_of: Callable[[Any], int] = lambda _message: 0,
    ) -> None:
        self._receive = receive
        self._work = work
        self._size_of = size_of
        self._size_max = workers_max + 1  # plus the receiving thread
        self._guard = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._free: list[Leader] = []
        self._waiting: deque[tuple[Any, int]] = deque()
        self._waiting_bytes = 0
        self._has_room = threading.Condition(self._guard)
        self._has_ended = False

    def start(self) -> None:
        """Start to receive."""
        self._find_receiver()

    def wait(self) -> None:
        """Wait until all received messages are done; ``receive`` must return None at some point."""
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        leader: Leader = SimpleQueue()
        may_receive = True
        while may_receive:
            message = self._receive()
            if message is None:
                self._end()
                return
            if self._find_receiver() or not self._keep(message):
                self._work_off(message, leader)
                may_receive = leader.get()

    def _work_off(self, message: Any, leader: Leader) -> None:
        """Handle a message and those waiting, then become free."""
        while message is not None:
            self._do(message)
            message = self._next_or_free(leader)

    def _next_or_free(self, leader: Leader) -> Any:
        with self._guard:
            if self._waiting:
                message, size = self._waiting.popleft()
                self._waiting_bytes -= size
                self._has_room.notify()
                return message
            if self._has_ended:
                leader.put(False)
            else:
                self._free.append(leader)
        return None

    def _do(self, message: Any) -> None:
        try:
            self._work(message)
        except Exception:  # keep the thread for other messages
            LOG.exception("Handling a message failed")

    def _find_receiver(self) -> bool:
        """Let another thread receive, if one is available. Called by the receiving thread."""
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

    def _keep(self, message: Any) -> bool:
        """Let a message wait for a thread, and wait while too many do.

        Returns False if a thread has become free, which receives now.
        """
        size = self._size_of(message)
        with self._guard:
            if self._free:
                self._free.pop().put(True)
                return False
            self._waiting.append((message, size))
            self._waiting_bytes += size
            if len(self._waiting) >= WAITING_MAX or self._waiting_bytes >= WAITING_BYTES_MAX:
                self._has_room.wait(FULL_SECONDS)
        return True

    def _end(self) -> None:
        with self._guard:
            self._has_ended = True
            for leader in self._free:
                leader.put(False)


class _Listener(oslo_internals.Listener):  # type: ignore[misc]
    """The driver's listener, polled by a thread pool."""

    def __init__(self, polled: Any, workers_max: int) -> None:
        super().__init__(batch_size=1, batch_timeout=None)
        self._polled = polled
        self._workers_max = workers_max
        self._pool: ThreadPool | None = None

    def start(self, on_incoming_callback: Callable[[Any], None]) -> None:
        super().start(on_incoming_callback)
        self._pool = ThreadPool(
            self._poll, on_incoming_callback, workers_max=self._workers_max, size_of=_size_of
        )
        self._pool.start()

    def stop(self) -> None:
        self._polled.stop()
        super().stop()

    def cleanup(self) -> None:
        if self._pool is not None:
            self._pool.wait()
        self._polled.cleanup()

    @excutils.forever_retry_uncaught_exceptions
    def _poll(self) -> Any:
        return self._polled.poll(batch_size=1) or None


def _size_of(batch: list[Any]) -> int:
    """Return the characters of signed messages; others are counted only."""
    texts = (each.message.get("text") for each in batch)
    return sum(len(text) for text in texts if isinstance(text, str))


class ReceivingServer(oslo_internals.PolledServer):
    """oslo.messaging's threaded server, with messages handled where they were received."""

    def listener_of(self, polled: Any) -> _Listener:
        return _Listener(polled, self.conf.executor_thread_pool_size)
