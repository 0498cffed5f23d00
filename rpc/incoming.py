"""Incoming messages of RabbitMQ: what of them is not signed must stop no server.

Where the answer to a call goes is not signed, and the answer of a caller that has gone goes
nowhere. The library lets a thread of the server wait for such a caller for a minute, and each
thread can do so at the same time: some calls with the names of queues that do not exist would keep
a service from answering anybody.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from oslo_messaging import MessageUndeliverable

from rpc import oslo_internals
from rpc.broker_logs import IGNORED

LOG = logging.getLogger("rpc.incoming_of_brokers")
"""Limited by ``rpc.broker_logs``: any account fills it as fast as it sends."""

WAIT_SECONDS_MAX = 10.0
"""How long an answer waits for its caller's queue: the caller may be connecting again."""
PAUSE_SECONDS = 0.25
NAME_BYTES_MAX = 255
"""Of a queue, by the protocol."""

_GONE = (MessageUndeliverable, oslo_internals.DestinationNotFound)


class QueueRefused(Exception):
    """The broker does not let this process put anything into the queue that a call names."""


class IncomingMessage(oslo_internals.AmqpIncomingMessage):  # type: ignore[misc]
    """A message whose answer waits for its caller within bounds: see ``message_class``."""

    places: threading.BoundedSemaphore
    """For the answers of a server that wait."""

    def reply(self, reply: Any = None, failure: Any = None) -> None:
        """Send the answer, if the message is a call whose caller is there."""
        if not self.orig_msg_id:
            return
        failure = failure and (*failure[:2], None)  # a traceback concerns this process alone
        if not _is_name(self.reply_q):
            LOG.warning("Dropped an answer: its call names no queue for it")
            return
        try:
            is_sent = self._is_sent(reply, failure) or self._is_sent_later(reply, failure)
        except QueueRefused:
            LOG.warning("Dropped an answer: its call names a queue that is not for answers of ours")
            return
        if not is_sent:
            LOG.warning("Dropped an answer: the queue %.80s of its caller is gone", self.reply_q)

    def _is_sent_later(self, reply: Any, failure: Any) -> bool:
        """Return whether the answer was sent to a caller that came back, if one may wait."""
        if not self.places.acquire(blocking=False):
            return False
        try:
            return self._is_sent_in_time(reply, failure)
        finally:
            self.places.release()

    def _is_sent_in_time(self, reply: Any, failure: Any) -> bool:
        ends_at = time.monotonic() + WAIT_SECONDS_MAX
        while time.monotonic() < ends_at:
            time.sleep(PAUSE_SECONDS)
            if self._is_sent(reply, failure):
                return True
        return False

    def _is_sent(self, reply: Any, failure: Any) -> bool:
        """Return whether the answer was put into its caller's queue. Raises QueueRefused."""
        purpose = oslo_internals.PURPOSE_SEND
        try:
            with self.listener.driver._get_connection(purpose) as connection:
                self._send_reply(connection, reply, failure)
        except _GONE:
            return False
        return True


def message_class(threads: int) -> type[IncomingMessage]:
    """Return the class of the messages of a server with this number of threads.

    Half of them may wait for callers that have gone; further answers of that kind are dropped.
    """
    places = threading.BoundedSemaphore(max(1, threads // 2))
    return type("IncomingMessage", (IncomingMessage,), {"places": places})


def guarded(take: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return ``take`` without its errors.

    It acknowledges a message first and then reads it. The driver would reject one that cannot be
    read a second time, which ends the connection.
    """

    def take_safely(message: Any) -> None:
        try:
            take(message)
        except Exception as error:
            LOG.warning("%s: %s", IGNORED, type(error).__name__)

    return take_safely


def _is_name(queue: Any) -> bool:
    if not isinstance(queue, str):
        return False
    try:
        return 0 < len(queue.encode()) <= NAME_BYTES_MAX
    except UnicodeEncodeError:
        return False
