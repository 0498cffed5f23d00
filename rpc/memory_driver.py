"""The driver for the embedded broker: like that of RabbitMQ; its consumers wait for a call."""

from __future__ import annotations

from typing import Any

from oslo_messaging._drivers import impl_rabbit
from oslo_messaging._drivers.common import Timeout

from rpc import patience

_WAIT_SECONDS_MAX = 60.0


class _Connection(impl_rabbit.Connection):  # type: ignore[misc]
    """A connection that looks for messages only when some may have come."""

    _found_nothing_at: int | None = None
    """The count of calls when it was last seen that there is nothing."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._is_patient = patience.may_wait()

    def consume(self, timeout: float | None = None) -> None:
        """Consume what is there or comes; ``timeout`` is the library's idea of when to look up."""
        if not self._is_patient:
            super().consume(timeout)
            return
        waiter = self.connection.transport.waiter
        calls = waiter.calls
        if calls == self._found_nothing_at and not self._consume_loop_stopped:
            waiter.wait(calls, _WAIT_SECONDS_MAX)
            return
        try:
            super().consume(patience.GLANCE_SECONDS)
        except Timeout:
            self._found_nothing_at = calls
            raise

    def stop_consuming(self) -> None:
        super().stop_consuming()
        self.connection.transport.waiter.call()


class Driver(impl_rabbit.RabbitDriver):  # type: ignore[misc]
    """The driver with such connections."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._connection_pool.connection_cls = _Connection
