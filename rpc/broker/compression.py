"""Compressed messages: refused unless they are configured, and bounded.

kombu decompresses what says that it is compressed as soon as it arrives, before anything can be
verified. A message of some kilobytes would take all memory.
"""

import bz2
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from kombu import compression
from oslo_config import cfg

from armillary import exception

MESSAGE_BYTES_MAX = 16 * 1024**2
"""Maximum size of a message that was compressed, when it is not any more."""
OPTION = "[oslo_messaging_rabbit] kombu_compression"


class _Decompressor(Protocol):
    eof: bool

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def _bounded(make: Callable[[], Any]) -> Callable[[bytes], bytes]:
    def decompress(body: bytes) -> bytes:
        opened: _Decompressor = make()
        data = opened.decompress(body, MESSAGE_BYTES_MAX + 1)
        if len(data) > MESSAGE_BYTES_MAX or not opened.eof:
            raise ValueError(f"a compressed message has more than {MESSAGE_BYTES_MAX} bytes")
        return data

    return decompress


_DECODERS: Mapping[str, Callable[[bytes], bytes]] = {
    "application/x-gzip": _bounded(zlib.decompressobj),
    "application/x-bz2": _bounded(bz2.BZ2Decompressor),
}


def _refuse(body: bytes) -> bytes:
    raise ValueError(f"a compressed message, although {OPTION} is not set here for its kind")


def refuse_all() -> None:
    """Refuse all compressed messages in this process."""
    for kind in compression.encoders():
        _decode_with(kind, _refuse)


def accept_configured(conf: cfg.ConfigOpts) -> None:
    """Accept the kind of compression that is configured. Raises ConfigurationError for others."""
    name = conf.oslo_messaging_rabbit.kombu_compression
    if name is None:
        return
    try:
        _encode, kind = compression.get_encoder(name)
        _decode_with(kind, _DECODERS[kind])
    except KeyError as error:
        raise exception.ConfigurationError(
            reason=f"{OPTION} is {name}; it can be gzip or bzip2"
        ) from error


def _decode_with(kind: str, decode: Callable[[bytes], bytes]) -> None:
    encode, _kind = compression.get_encoder(kind)
    compression.register(encode, decode, kind)


refuse_all()
