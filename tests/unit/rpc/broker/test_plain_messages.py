"""Messages from a broker in another form than that of our services, which are not opened."""

import json
import tracemalloc
import zlib
from typing import Any

import amqp
import pytest

from rpc.broker.plain_messages import Message, NotPlain

BOMB = zlib.compress(bytes(64 * 1024**2))
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
