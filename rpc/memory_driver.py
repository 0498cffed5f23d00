"""oslo.messaging driver for the embedded broker, with blocking waits instead of polling."""

from typing import Any

from rpc import oslo_internals, polling
from rpc.replies import VerifiesReplies

_WAIT_SECONDS_MAX = 60.0


class _Connection(oslo_internals.Connection):  # type: ignore[misc]
    """A connection that polls for messages only after a wake-up."""

    _found_nothing_at: int | None = None
    """Number of wake-ups when the queues were last seen empty."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._q_manager = None
        self._may_block = polling.may_block()

    def consume(self, timeout: float | None = None) -> None:
        """Consume available or coming messages; ``timeout`` is the library's poll interval."""
        if not self._may_block:
            super().consume(timeout)
            return
        waiter = self.connection.transport.waiter
        calls = waiter.calls
        if calls == self._found_nothing_at and not self._consume_loop_stopped:
            waiter.wait(calls, _WAIT_SECONDS_MAX)
            return
        try:
            super().consume(polling.UPKEEP_SECONDS)
        except oslo_internals.Timeout:
            self._found_nothing_at = calls
            raise

    def stop_consuming(self) -> None:
        super().stop_consuming()
        self.connection.transport.waiter.call()


class Driver(VerifiesReplies):
    """The RabbitMQ driver with these connections."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        oslo_internals.set_connection_class(self, _Connection)
        self._q_manager = None  # names are unique within the process
