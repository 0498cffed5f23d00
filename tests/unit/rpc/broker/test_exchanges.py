"""Refusals of a broker while queues are declared, and the driver's reaction."""

from __future__ import annotations

from typing import Any

import pytest
from amqp import exceptions as amqp_exceptions
from kombu.entity import Exchange

from rpc.broker import exchanges

FANOUT = Exchange("scheduler_fanout", type="fanout", durable=True)


class Channel:
    """A channel, and its connection, on which each declaration of a queue has one outcome."""

    def __init__(self, error: Exception | None = None) -> None:
        self.connection: Channel | None = self
        self.declared: list[str] = []
        self._error = error

    def channel(self) -> Channel:
        return self

    def exchange_declare(self, name: str, *_arguments: Any, **_options: Any) -> None:
        self.declared.append(name)

    def queue_declare(self, name: str, **_options: Any) -> None:
        if self._error is not None:
            raise self._error
        self.declared.append(name)

    def queue_bind(self, *_names: str) -> None:
        """Bind."""

    def close(self) -> None:
        """Close."""


@pytest.mark.parametrize(
    ("refusal", "raised"),
    [
        (
            amqp_exceptions.NotFound("its home node is down or inaccessible"),
            exchanges.QueueUnavailable,
        ),
        (amqp_exceptions.AccessRefused("not this account"), exchanges.NotDeclaredYet),
    ],
    ids=["its node has just started", "others make it"],
)
def test_a_stream_that_cannot_be_made_now_is_tried_again(
    refusal: Exception, raised: type[Exception]
) -> None:
    """The driver does so after errors of that base; after all others a service would end."""
    with pytest.raises(raised, match="scheduler_fanout") as caught:
        exchanges.make_stream(Channel(refusal), FANOUT, {"x-queue-type": "stream"})
    assert isinstance(caught.value, amqp_exceptions.RecoverableChannelError)


def test_a_channel_whose_connection_is_closed_is_a_lost_connection() -> None:
    """The driver connects again after that error; any other would be an unexpected one."""
    channel = Channel()
    channel.connection = None
    with pytest.raises(amqp_exceptions.RecoverableConnectionError):
        exchanges.is_exchange(channel, FANOUT.name)


def test_what_is_wrong_for_good_is_told_immediately() -> None:
    """Another process has made a queue of that name."""
    wrong = amqp_exceptions.PreconditionFailed("inequivalent arg")
    with pytest.raises(amqp_exceptions.PreconditionFailed):
        exchanges.make_stream(Channel(wrong), FANOUT, {"x-queue-type": "stream"})


def test_a_stream_is_made_with_its_exchange() -> None:
    channel = Channel()
    exchanges.make_stream(channel, FANOUT, {"x-queue-type": "stream"})
    assert channel.declared == ["scheduler_fanout", "scheduler_fanout"]
