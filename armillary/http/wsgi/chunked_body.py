"""A body in chunks (Transfer-Encoding), read in pieces of any size, whatever size a chunk has."""

import re
from typing import IO

LINE_BYTES_MAX = 4096
"""For the line before a chunk, with its extensions."""
TRAILER_LINES_MAX = 64
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(;[^\r\n]*)?\r\n")


class ChunkedBody:
    """What a request sends in chunks. Raises ValueError where it is malformed or cut off."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._left = 0
        self._has_begun = self._has_ended = False

    def read(self, size: int | None = -1) -> bytes:
        """Return ``size`` bytes; fewer, or none, at the end of the body."""
        wanted = -1 if size is None else size
        pieces: list[bytes] = []
        while wanted and self._find_chunk():
            piece = self._source.read(self._left if wanted < 0 else min(wanted, self._left))
            if not piece:
                raise ValueError("the body was cut off")
            self._left -= len(piece)
            wanted -= len(piece) if wanted > 0 else 0
            pieces.append(piece)
        return b"".join(pieces)

    def _find_chunk(self) -> bool:
        """Return whether there is data, in this chunk or the next."""
        if self._left or self._has_ended:
            return bool(self._left)
        if self._has_begun and self._source.read(2) != b"\r\n":
            raise ValueError("a chunk is longer than its size")
        found = _SIZE.fullmatch(self._line())
        if found is None:
            raise ValueError("a chunk has no size")
        self._has_begun, self._left = True, int(found[1], 16)
        if not self._left:
            self._skip_trailers()
            self._has_ended = True
        return bool(self._left)

    def _skip_trailers(self) -> None:
        for _ in range(TRAILER_LINES_MAX):
            if self._line() in (b"\r\n", b""):
                return
        raise ValueError("the body has too many trailers")

    def _line(self) -> bytes:
        line = self._source.readline(LINE_BYTES_MAX)
        if len(line) == LINE_BYTES_MAX:
            raise ValueError("the line before a chunk is too long")
        return line
