"""Waiting for the reply to a call, whose contents are verified before they are believed.

oslo.messaging's driver takes the first message that names a call for its reply. It raises the
exception that a failure describes, ends a call at a repeated message, and none of that is signed.
A signed call takes the contents of a message from :data:`OpenReply` alone, and keeps waiting
after each one that is refused: forged messages in a reply queue cannot end a call.
"""

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from oslo_messaging import MessagingTimeout

from rpc import oslo_internals, send_limit

OpenReply = Callable[[Mapping[str, Any]], Any]
"""Returns the result in a message from a reply queue. Raises ReplyRefused to wait for another,
anything else to end the call with it."""


class ReplyRefused(Exception):
    """A message is not the reply; why is known to who refused it."""


class SignedCaller(Protocol):
    """A driver that can make signed calls."""

    def verifying(self, open_reply: OpenReply) -> contextlib.AbstractContextManager[None]: ...


class _Calls(threading.local):
    """The signed call that each thread is making."""

    open_reply: OpenReply | None = None


class _ReplyWaiter(oslo_internals.ReplyWaiter):  # type: ignore[misc]
    """The driver's waiter, with replies to signed calls verified in the caller's thread."""

    def __init__(self, calls: _Calls, outage: send_limit.Outage, *arguments: Any) -> None:
        self._calls = calls
        super().__init__(*arguments)
        self.waiters: Any = _Replies(self.waiters, outage)

    def wait(
        self, msg_id: str, timeout: float | None, call_monitor_timeout: Any, reply_q: str
    ) -> Any:
        """Return the reply. Raises MessagingTimeout, or the failure that the reply contains.

        The wait for the broker is part of ``timeout``.
        """
        left = send_limit.remaining_seconds()
        if timeout is not None and left is not None:
            timeout = min(timeout, left)
        open_reply = self._calls.open_reply
        if open_reply is None:
            return super().wait(msg_id, timeout, call_monitor_timeout, reply_q)
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            message = self.waiters.get(msg_id, left)
            with contextlib.suppress(ReplyRefused):
                return open_reply(message)


class _Replies:
    """The library's queues of replies; the wait for one ends early if the broker is unreachable."""

    def __init__(self, queues: Any, outage: send_limit.Outage) -> None:
        self._queues = queues
        self._outage = outage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queues, name)

    def get(self, msg_id: str, timeout: float | None) -> Any:
        """Return the next message. Raises MessagingTimeout."""
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while self._outage.fails_fast and deadline - time.monotonic() > send_limit.LOOK_SECONDS:
            with contextlib.suppress(MessagingTimeout):
                return self._queues.get(msg_id, send_limit.LOOK_SECONDS)
            if self._outage.is_known():
                raise MessagingTimeout("The broker is unreachable, or does not respond")
        left = None if deadline == math.inf else max(0.0, deadline - time.monotonic())
        return self._queues.get(msg_id, left)


class VerifiesReplies(oslo_internals.RabbitDriver):  # type: ignore[misc]
    """The RabbitMQ driver: replies to calls made under :meth:`verifying` are verified."""

    _reply_q: str | None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._calls = _Calls()
        self.outage = send_limit.Outage()

    @contextlib.contextmanager
    def verifying(self, open_reply: OpenReply) -> Iterator[None]:
        """Take replies to the calls that this thread makes meanwhile from ``open_reply``."""
        self._calls.open_reply = open_reply
        try:
            yield
        finally:
            self._calls.open_reply = None

    def _get_reply_q(self) -> str:
        with self._reply_q_lock:
            if self._reply_q is None:
                name = self._get_reply_queue_name()
                connection = self._get_connection(oslo_internals.PURPOSE_LISTEN)
                try:
                    self._waiter = _ReplyWaiter(
                        self._calls, self.outage, name, connection, self._allowed_remote_exmods
                    )
                except Exception:
                    connection.close()
                    raise
                self._reply_q, self._reply_q_conn = name, connection
            return self._reply_q


def unsigned_result(message: Mapping[str, Any], allowed_modules: list[str]) -> Any:
    """Return the result in an unsigned reply. Raises the failure that it describes."""
    if message.get("failure"):
        raise oslo_internals.deserialize_failure(message["failure"], allowed_modules)
    return message.get("result")
