"""In-memory broker for a deployment in one process.

kombu's own memory transport has one set of queues for the whole process, whatever the virtual host,
and polls them without a pause. This transport derives from it, separates virtual hosts, and wakes
consumers when a message is put in one of their queues.
"""

import threading
import time
import weakref
from queue import Empty, SimpleQueue
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, virtual

from rpc import oslo_internals

ALIAS = "armillary"
"""kombu's name of this transport; ``memory`` stays that of kombu's own."""

_WAIT_SECONDS_MAX = 1.0


class _Waiter:
    """One connection's wait for messages; ``calls`` counts its wake-ups."""

    def __init__(self) -> None:
        self.calls = 0
        self._changed = threading.Condition()

    def call(self) -> None:
        with self._changed:
            self.calls += 1
            self._changed.notify_all()

    def wait(self, seen: int, timeout_seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self.calls != seen, timeout_seconds)


class _Broker:
    """Queues and bindings of one virtual host, with the waiters of each queue."""

    def __init__(self) -> None:
        self.state = virtual.BrokerState()
        self.queues: dict[str, SimpleQueue[Any]] = {}
        self._waiters: dict[str, weakref.WeakSet[_Waiter]] = {}
        self._lock = threading.Lock()

    def put(self, queue: str, message: Any) -> None:
        self.queues.setdefault(queue, SimpleQueue()).put(message)
        with self._lock:
            waiters = list(self._waiters.get(queue, ()))
        for waiter in waiters:
            waiter.call()

    def call_for(self, queue: str, waiter: _Waiter) -> None:
        """Wake a waiter for each message put in a queue from now on."""
        with self._lock:
            self._waiters.setdefault(queue, weakref.WeakSet()).add(waiter)

    def delete(self, queue: str) -> None:
        self.queues.pop(queue, None)
        with self._lock:
            self._waiters.pop(queue, None)


_brokers: dict[str, _Broker] = {}
_brokers_lock = threading.Lock()


def _broker_for(virtual_host: str) -> _Broker:
    with _brokers_lock:
        return _brokers.setdefault(virtual_host, _Broker())


class Channel(oslo_internals.MemoryChannel):  # type: ignore[misc]
    """A channel whose queues belong to the broker of its connection's virtual host."""

    def __init__(self, connection: Any, **kwargs: Any) -> None:
        super().__init__(connection, **kwargs)
        self._broker: _Broker = connection.broker
        self._waiter: _Waiter = connection.waiter

    def basic_consume(self, queue: str, *args: Any, **kwargs: Any) -> Any:
        self._broker.call_for(queue, self._waiter)
        return super().basic_consume(queue, *args, **kwargs)

    def _has_queue(self, queue: str, **kwargs: Any) -> bool:
        return queue in self._broker.queues

    def _new_queue(self, queue: str, **kwargs: Any) -> None:
        self._broker.queues.setdefault(queue, SimpleQueue())

    def _queue_for(self, queue: str) -> SimpleQueue[Any]:
        return self._broker.queues.setdefault(queue, SimpleQueue())

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        return self._queue_for(queue).get(block=False)

    def _put(self, queue: str, message: Any, **kwargs: Any) -> None:
        self._broker.put(queue, message)

    def _put_fanout(
        self, exchange: str, message: Any, routing_key: str | None = None, **kwargs: Any
    ) -> None:
        for queue in self._lookup(exchange, routing_key):
            self._broker.put(queue, message)

    def _size(self, queue: str) -> int:
        return self._queue_for(queue).qsize()

    def _delete(self, queue: str, *args: Any, **kwargs: Any) -> None:
        self._broker.delete(queue)

    def _purge(self, queue: str) -> int:
        size = 0
        waiting = self._queue_for(queue)
        while True:
            try:
                waiting.get(block=False)
            except Empty:
                return size
            size += 1

    def close(self) -> None:
        # Not memory.Channel.close, which drops every queue of the process.
        virtual.Channel.close(self)


class Transport(oslo_internals.MemoryTransport):  # type: ignore[misc]
    """kombu's memory transport with a separate broker for each virtual host."""

    Channel = Channel

    def __init__(self, client: Any, **kwargs: Any) -> None:
        super().__init__(client, **kwargs)
        self.broker = _broker_for(client.virtual_host or "/")
        self.state = self.broker.state
        self.waiter = _Waiter()

    def drain_events(self, connection: Any, timeout: Any = None, **kwargs: Any) -> None:
        cycle: Any = self.cycle
        deadline = None if timeout is None else time.monotonic() + timeout
        is_woken = False
        while True:
            seen = self.waiter.calls
            try:
                cycle.get(self._deliver, timeout=timeout)
            except Empty:
                left = _WAIT_SECONDS_MAX if deadline is None else deadline - time.monotonic()
                # A wake-up without a message may be a stop, which the caller has to notice.
                if left <= 0 or (is_woken and deadline is not None):
                    raise TimeoutError from None
                self.waiter.wait(seen, min(left, _WAIT_SECONDS_MAX))
                is_woken = self.waiter.calls != seen
            else:
                return


def install() -> str:
    """Register this transport with kombu, under a name of its own. Idempotent.

    Returns the name of the driver in the URL of oslo.messaging; it stands for ``kombu+memory``.
    """
    TRANSPORT_ALIASES[ALIAS] = f"{__name__}:Transport"
    return f"kombu+{ALIAS}"
