"""Compressed messages: none takes more memory than it may."""

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import amqp
import pytest
from kombu import compression as kinds

from armillary import exception
from rpc.broker import compression
from rpc.broker.plain_messages import Message
from rpc.transport import Bus
from tests.fixtures.configuration import messaging_conf

BOMB_BYTES = 64 * 1024**2
PEAK_BYTES_MAX = 4 * 1024**2
URL = "kombu+memory:////compression"


@pytest.fixture(autouse=True)
def refused_again() -> Iterator[None]:
    """Let no test of this file leave a kind accepted."""
    yield
    compression.refuse_all()


def compressed(data: bytes, kind: str) -> bytes:
    encode, _kind = kinds.get_encoder(kind)
    return bytes(encode(data))


def received(body: bytes, kind: str) -> Message:
    """Return a message as it comes from the broker."""
    message = amqp.Message(
        body, content_type="application/json", content_encoding="utf-8",
        application_headers={"compression": kind},
    )  # fmt: skip
    message.delivery_info = {}
    return Message(message)


def bus_with(kind: str | None) -> Bus:
    conf = messaging_conf()
    conf.set_override("kombu_compression", kind, group="oslo_messaging_rabbit")
    return Bus(conf, URL)


def opened(message: Message) -> Any:
    return message.payload


@pytest.mark.parametrize("kind", kinds.encoders())
def test_no_message_is_decompressed(kind: str) -> None:
    """Unless that is configured: none of our services would send one."""
    bomb = compressed(bytes(BOMB_BYTES), kind)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="kombu_compression is not set"):
            opened(received(bomb, kind))
        assert tracemalloc.get_traced_memory()[1] < PEAK_BYTES_MAX
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["gzip", "bzip2"])
def test_a_configured_kind_is_decompressed_within_bounds(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is larger, or does not end, is refused."""
    monkeypatch.setattr(compression, "MESSAGE_BYTES_MAX", 1024)
    bus_with(kind).close()
    told = json.dumps({"a": "b" * 1000}).encode()
    assert opened(received(compressed(told, kind), kind)) == {"a": "b" * 1000}
    for body in (compressed(bytes(BOMB_BYTES), kind), compressed(told, kind)[:-8]):
        tracemalloc.start()
        try:
            with pytest.raises(ValueError, match="more than 1024 bytes"):
                opened(received(body, kind))
            assert tracemalloc.get_traced_memory()[1] < PEAK_BYTES_MAX
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("kind", ["lzma", "snappy"])
def test_a_kind_without_bounds_is_a_mistake_in_the_configuration(kind: str) -> None:
    with pytest.raises(exception.ConfigurationError, match="it can be gzip or bzip2"):
        bus_with(kind)
