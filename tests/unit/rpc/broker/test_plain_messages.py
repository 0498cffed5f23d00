"""Messages from a broker in another form than that of our services, which are not opened."""

import json
import tracemalloc
import zlib
from typing import Any

import amqp
import pytest

from rpc.broker.plain_messages import Message, NotPlain
from rpc.wire.value_bounds import VALUES_MAX

BOMB = zlib.compress(bytes(64 * 1024**2))
MANY = VALUES_MAX // 2
PEAK_BYTES_MAX = 4 * 1024**2


def received(body: bytes, **properties: Any) -> Message:
    """Return a message as it comes from the broker."""
    message = amqp.Message(body, **properties)
    message.delivery_info = {}
    return Message(message)


@pytest.mark.parametrize("encoding", ["utf-8", "UTF-8", None])
def test_what_our_services_send_is_read(encoding: str | None) -> None:
    told = {"oslo.version": "2.0", "oslo.message": "é"}
    said = {} if encoding is None else {"content_encoding": encoding}
    message = received(json.dumps(told).encode(), content_type="application/json", **said)
    assert message.payload == told


@pytest.mark.parametrize(
    ("kind", "encoding"),
    [
        ("text/x-any", "zlib"),
        ("text/x-any", "utf-8"),
        ("application/json", "zlib"),
        ("application/json", "punycode"),
        ("application/x-msgpack", "binary"),
        ("application/x-python-serialize", "binary"),
        (None, "zlib"),
    ],
)
def test_another_form_is_not_opened(kind: str | None, encoding: str) -> None:
    """Some of Python's codecs decompress, and libraries use any that a message names."""
    said = {} if kind is None else {"content_type": kind}
    tracemalloc.start()
    try:
        message = received(BOMB, content_encoding=encoding, **said)
        with pytest.raises(NotPlain, match="in UTF-8"):
            _ = message.payload
        assert tracemalloc.get_traced_memory()[1] < PEAK_BYTES_MAX
    finally:
        tracemalloc.stop()


def test_a_compressed_message_of_another_form_is_not_decompressed() -> None:
    """Its headers are not looked at either."""
    headers = {"compression": "application/x-gzip"}
    message = received(BOMB, content_type="text/x-any", application_headers=headers)
    with pytest.raises(NotPlain):
        _ = message.payload


def wrapped(inner: str) -> bytes:
    """Return a message as the library wraps it."""
    return json.dumps({"oslo.version": "2.0", "oslo.message": inner}).encode()


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"{}," * MANY + b"{}]",
        b"[" + b"[]," * MANY + b"[]]",
        b"[" + b"1," * 2 * MANY + b"1]",
        wrapped("[" + "{}," * MANY + "{}]"),
        wrapped("@").replace(b"@", b"[" + rb"\u007b}\u002c" * MANY + b"{}]"),
    ],
    ids=["objects", "lists", "numbers", "wrapped", "escaped"],
)
def test_a_message_of_many_values_is_not_read(body: bytes) -> None:
    """It would take many times its own size, before it is known who sent it."""
    tracemalloc.start()
    try:
        message = received(body, content_type="application/json")
        with pytest.raises(NotPlain, match="more than"):
            _ = message.payload
        assert tracemalloc.get_traced_memory()[1] < 2 * len(body)
    finally:
        tracemalloc.stop()


def test_a_long_text_is_not_many_values() -> None:
    """Such as user data, or packed columns."""
    text = "x" * (2 * VALUES_MAX)
    assert received(wrapped(text), content_type="application/json").payload["oslo.message"] == text
