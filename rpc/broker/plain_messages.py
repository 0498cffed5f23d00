"""Messages from a broker: JSON in UTF-8, as all our services send them; nothing else is opened.

kombu and amqp decode a message by the format and the codec that it names, as soon as it arrives and
before anything can be verified. Some of Python's codecs decompress without a bound, and punycode
takes minutes for a megabyte. The number of values is limited, too (``rpc.wire.value_bounds``).
"""

import sys
from collections.abc import Mapping
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, pyamqp

from rpc.wire.value_bounds import VALUES_MAX, has_too_many_values

CONTENT_TYPE = "application/json"
ENCODINGS = frozenset({"utf-8", "utf8"})
_WRAPPED = "oslo.message"


class NotPlain(ValueError):
    """A message has another format or encoding than those of our services, or too many values."""


class Message(pyamqp.Message):
    """A received message; one that is not plain has no body, and its payload raises NotPlain.

    One that cannot be decompressed raises ValueError.
    """

    def __init__(self, msg: Any, channel: Any = None, **more: Any) -> None:
        refused = None
        try:
            _check(msg.properties)
            _check_values(msg.body)
        except NotPlain:
            refused = sys.exc_info()
            msg.body, msg.properties = b"", {}
        super().__init__(msg, channel, **more)  # type: ignore[no-untyped-call]
        if refused is not None:
            self.errors.append(refused)

    def _decode(self) -> Any:
        for _kind, error, _traceback in self.errors:
            if error is not None:
                raise error
        found = super()._decode()  # type: ignore[no-untyped-call]
        if isinstance(found, dict):
            _check_values(found.get(_WRAPPED))  # escapes may have hidden them
        return found


class Channel(pyamqp.Channel):
    """A channel that leaves bodies as they come."""

    Message = Message

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{**options, "auto_decode": False})


class _Connection(pyamqp.Connection):
    Channel = Channel


class Transport(pyamqp.Transport):
    """kombu's transport to RabbitMQ, with such channels."""

    Connection = _Connection


class SSLTransport(pyamqp.SSLTransport):
    """The same, with TLS."""

    Connection = _Connection


def install() -> None:
    """Have all connections of this process to RabbitMQ use these. Idempotent."""
    for alias in ("amqp", "pyamqp"):
        TRANSPORT_ALIASES[alias] = f"{__name__}:Transport"
    TRANSPORT_ALIASES["amqps"] = f"{__name__}:SSLTransport"


def _check(properties: Mapping[str, Any]) -> None:
    """Raise NotPlain for the properties of another message than those of our services."""
    kind = properties.get("content_type")
    encoding = properties.get("content_encoding") or "utf-8"
    if kind != CONTENT_TYPE or str(encoding).lower() not in ENCODINGS:
        raise NotPlain(
            f"a message is {kind!a:.80} in {encoding!a:.80}, not {CONTENT_TYPE} in UTF-8"
        )


def _check_values(text: Any) -> None:
    """Raise NotPlain for JSON that may have too many values."""
    if isinstance(text, str | bytes) and has_too_many_values(text):
        raise NotPlain(f"a message has more than {VALUES_MAX} values")
