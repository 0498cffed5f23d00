"""Exchanges and streams on the broker: declared if they are missing.

Not every account may declare them, but any may check passively whether something exists. Declaring
it again needs the permission to configure it, which would also allow deleting it. So check first,
on a separate channel, because the broker closes a channel on which it refuses a request.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from amqp import exceptions as amqp_exceptions
from kombu.entity import Exchange


class NotDeclaredYet(amqp_exceptions.RecoverableChannelError):  # type: ignore[misc]
    """Another account has to create something that is missing; the driver retries until then."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} does not exist, and this account may not create it; waiting for its owner"
        )


class QueueUnavailable(amqp_exceptions.RecoverableChannelError):  # type: ignore[misc]
    """A queue or stream exists but is unavailable; the driver retries until it is available.

    For example a stream whose node answers again after a crash and has not recovered it yet.
    """

    def __init__(self, name: str, error: Exception) -> None:
        super().__init__(f"{name} is unavailable; waiting for its node: {error}")


def make_exchange(channel: Any, exchange: Exchange) -> None:
    """Create an exchange if missing. Raises NotDeclaredYet if the broker refuses."""
    if exchange.name and not is_exchange(channel, exchange.name):
        _make(channel, exchange.name, lambda own: _declare_exchange(own, exchange))


def make_stream(channel: Any, exchange: Exchange, arguments: dict[str, object]) -> None:
    """Create a fanout's exchange and its stream, bound to it.

    Raises NotDeclaredYet like :func:`make_exchange`, and QueueUnavailable.
    """
    make_exchange(channel, exchange)
    _make(channel, exchange.name, lambda own: _declare_stream(own, exchange.name, arguments))


def is_exchange(channel: Any, name: str) -> bool:
    """Return whether an exchange of that name exists."""
    return _is_there(channel, lambda own: own.exchange_declare(name, "topic", passive=True))


def is_queue(channel: Any, name: str) -> bool:
    """Return whether a queue or stream of that name exists."""
    return _is_there(channel, lambda own: own.queue_declare(name, passive=True))


def _declare_exchange(channel: Any, exchange: Exchange) -> None:
    channel.exchange_declare(
        exchange.name, exchange.type, durable=exchange.durable, auto_delete=exchange.auto_delete
    )


def _declare_stream(channel: Any, name: str, arguments: dict[str, object]) -> None:
    channel.queue_declare(name, durable=True, auto_delete=False, arguments=arguments)
    channel.queue_bind(name, name, name)


def _is_there(channel: Any, look: Callable[[Any], Any]) -> bool:
    with _own_channel(channel) as own:
        try:
            look(own)
        except amqp_exceptions.NotFound:
            return False
    return True


def _make(channel: Any, name: str, make: Callable[[Any], None]) -> None:
    with _own_channel(channel) as own:
        try:
            make(own)
        except amqp_exceptions.AccessRefused as error:
            raise NotDeclaredYet(name) from error
        except amqp_exceptions.NotFound as error:
            raise QueueUnavailable(name, error) from error


@contextmanager
def _own_channel(channel: Any) -> Iterator[Any]:
    connection = channel.connection
    if connection is None:  # closed meanwhile, by the broker or the heartbeat's thread
        raise amqp_exceptions.RecoverableConnectionError("the connection was closed")
    own = connection.channel()
    try:
        yield own
    finally:
        with suppress(*_CLOSED):
            own.close()


_CLOSED = (amqp_exceptions.AMQPError, OSError)
