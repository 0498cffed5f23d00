"""Finds in the bytes that a client sends to a broker what it publishes (AMQP 0-9-1)."""

from __future__ import annotations

import dataclasses
import json
import random
import struct
import uuid

_PREAMBLE = 8
_FRAME = struct.Struct(">BHI")
_METHOD, _HEADER, _BODY = 1, 2, 3
_PUBLISH = (60, 40)


@dataclasses.dataclass(frozen=True)
class Published:
    """A message and where it was sent to."""

    exchange: str
    routing_key: str
    body: bytes

    def again(self, rng: random.Random) -> Published:
        """Return a copy that its receiver takes for another message, as after a call is repeated.

        Else oslo.messaging drops it, where it has seen the first one in the same process; one in
        three stays as it is, as after a lost acknowledgement.
        """
        if rng.random() < 0.33:
            return self
        try:
            envelope = json.loads(self.body)
            message = json.loads(envelope["oslo.message"])
        except (ValueError, KeyError, TypeError):
            return self
        message["_unique_id"] = uuid.UUID(int=rng.getrandbits(128)).hex
        envelope["oslo.message"] = json.dumps(message)
        return dataclasses.replace(self, body=json.dumps(envelope).encode())


@dataclasses.dataclass
class _Open:
    """A message whose frames still come."""

    exchange: str
    routing_key: str
    size: int | None = None
    body: bytearray = dataclasses.field(default_factory=bytearray)


class Publishing:
    """Reads one connection's bytes from their beginning; keeps half a frame at most."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._skip = _PREAMBLE
        self._open: dict[int, _Open] = {}

    def feed(self, data: bytes) -> list[Published]:
        """Return the messages that are complete with these bytes."""
        self._bytes += data
        if self._skip:
            dropped = min(self._skip, len(self._bytes))
            del self._bytes[:dropped]
            self._skip -= dropped
        found = []
        position = 0
        while len(self._bytes) - position >= _FRAME.size:
            kind, channel, size = _FRAME.unpack_from(self._bytes, position)
            end = position + _FRAME.size + size + 1
            if len(self._bytes) < end:
                break
            payload = bytes(self._bytes[position + _FRAME.size : end - 1])
            position = end
            message = self._take(kind, channel, payload)
            if message is not None:
                found.append(message)
        del self._bytes[:position]
        return found

    def _take(self, kind: int, channel: int, payload: bytes) -> Published | None:
        if kind == _METHOD:
            self._open.pop(channel, None)
            if struct.unpack_from(">HH", payload) == _PUBLISH:
                exchange, rest = _short_text(payload, 6)
                self._open[channel] = _Open(exchange, _short_text(payload, rest)[0])
            return None
        message = self._open.get(channel)
        if message is None:
            return None
        if kind == _HEADER:
            (message.size,) = struct.unpack_from(">Q", payload, 4)
        elif kind == _BODY:
            message.body += payload
        if message.size is None or len(message.body) < message.size:
            return None
        del self._open[channel]
        return Published(message.exchange, message.routing_key, bytes(message.body))


def _short_text(payload: bytes, position: int) -> tuple[str, int]:
    end = position + 1 + payload[position]
    return payload[position + 1 : end].decode("utf-8", "replace"), end
