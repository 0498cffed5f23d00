"""Exchanges and streams made where they are missing, by accounts that may not make everything.

To look whether something is there is allowed to all; to declare it once more is not, since who may
declare may delete. So we look first, on a channel of its own, as a broker closes the channel on
which it refuses something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from amqp import exceptions as amqp_exceptions
from kombu.entity import Exchange


class NotThereYet(amqp_exceptions.RecoverableChannelError):  # type: ignore[misc]
    """Something is missing that somebody else has to make; the driver tries again until it is."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} is not there yet, and this account may not make it: waiting for who may"
        )


class HomeIsDown(amqp_exceptions.RecoverableChannelError):  # type: ignore[misc]
    """What is to be made is there, and out of reach; the driver tries again until it is not.

    So is a stream whose node answers already after a kill, and has not brought it up yet.
    """

    def __init__(self, name: str, error: Exception) -> None:
        super().__init__(f"{name} is out of reach, waiting for its node: {error}")


def make_exchange(channel: Any, exchange: Exchange) -> None:
    """Make an exchange unless it is there. Raises NotThereYet where the broker refuses that."""
    if exchange.name and not is_exchange(channel, exchange.name):
        _make(channel, exchange.name, lambda own: _declare_exchange(own, exchange))


def make_stream(channel: Any, exchange: Exchange, arguments: dict[str, Any]) -> None:
    """Make a fanout's exchange and its stream, bound to it.

    Raises NotThereYet as above, and HomeIsDown.
    """
    make_exchange(channel, exchange)
    _make(channel, exchange.name, lambda own: _declare_stream(own, exchange.name, arguments))


def is_exchange(channel: Any, name: str) -> bool:
    """Tell whether there is an exchange of that name."""
    return _is_there(channel, lambda own: own.exchange_declare(name, "topic", passive=True))


def is_queue(channel: Any, name: str) -> bool:
    """Tell whether there is a queue or a stream of that name."""
    return _is_there(channel, lambda own: own.queue_declare(name, passive=True))


def _declare_exchange(channel: Any, exchange: Exchange) -> None:
    channel.exchange_declare(
        exchange.name,
        exchange.type,
        durable=exchange.durable,
        auto_delete=exchange.auto_delete,
    )


def _declare_stream(channel: Any, name: str, arguments: dict[str, Any]) -> None:
    channel.queue_declare(name, durable=True, auto_delete=False, arguments=arguments)
    channel.queue_bind(name, name, name)


def _is_there(channel: Any, look: Callable[[Any], Any]) -> bool:
    with _another(channel) as own:
        try:
            look(own)
        except amqp_exceptions.NotFound:
            return False
    return True


def _make(channel: Any, name: str, make: Callable[[Any], None]) -> None:
    with _another(channel) as own:
        try:
            make(own)
        except amqp_exceptions.AccessRefused as error:
            raise NotThereYet(name) from error
        except amqp_exceptions.NotFound as error:
            raise HomeIsDown(name, error) from error


@contextmanager
def _another(channel: Any) -> Iterator[Any]:
    own = channel.connection.channel()
    try:
        yield own
    finally:
        with suppress(*_CLOSED):
            own.close()


_CLOSED = (amqp_exceptions.AMQPError, OSError)
