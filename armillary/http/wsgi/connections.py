"""Connections that slow clients cannot exhaust: worker threads only meet requests received in full.

A request is received without blocking, between other connections, until its head and body are
complete; what a client does not read of an answer is sent by a thread for all such clients. Each
has a deadline, and a server has a maximum of connections.
"""

import contextlib
import dataclasses
import enum
import io
import re
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from cheroot import server as cheroot_server
from cheroot.makefile import StreamReader, StreamWriter

from armillary.http.client_network import client_network
from armillary.http.wsgi.tls import NeedsMore, continue_handshake

_PIECE_BYTES = 65536
_REQUEST_LINE_START = re.compile(rb"[!-~]*( [^\r\n]*\r?)?")
_REQUEST_LINE = re.compile(rb"[!-~]+ [^\r\n]* HTTP/[^ \r\n]+\r?")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"(?im)^content-length[ \t]*+:([^\r\n]*+)\r?$")
_EXPECTS = re.compile(rb"(?im)^expect[ \t]*:[ \t]*100-continue[ \t]*\r?\n")
_CHUNKED = re.compile(rb"(?im)^transfer-encoding[ \t]*:[ \t]*chunked[ \t]*\r?$")
_DIGITS_MAX = 18
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_UNSENT_BYTES_MAX = 4 * 1024 * 1024


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a server towards its clients."""

    connections_max: int = 1000
    connections_per_address_max: int = 500
    """If there are more, the one that has waited longest for the rest of a request is closed."""
    receive_seconds_max: float = 30.0
    """From the first byte of a request, or the start of a TLS handshake, to its end."""
    received_bytes_min: int = 2 * 1024 * 1024
    """In each ``receive_seconds_max`` of waiting, of a body that is longer than buffered."""
    send_seconds_max: float = 60.0
    """For what a client does not read immediately of an answer; of a long one, for each 4 MiB."""
    unsent_bytes_max: int = 128 * 1024 * 1024
    """For all such clients; if there is more, that of the client with the most is closed."""
    head_bytes_max: int = 65536
    body_bytes_max: int = 16 * 1024 * 1024
    """A longer body is left to the application, which refuses it."""
    bodies_bytes_max: int = 256 * 1024 * 1024
    """For all bodies of more than ``small_body_bytes`` being received; others get status 503."""
    small_body_bytes: int = 65536


def is_length(value: bytes) -> bool:
    """Return whether the value of a Content-Length header is one; any other is refused."""
    return value.isdigit() and len(value) <= _DIGITS_MAX


class _Progress(enum.Enum):
    """How far a request has been received."""

    COMPLETE = enum.auto()
    WAITING = enum.auto()
    CLOSED = enum.auto()
    TOO_LATE = enum.auto()
    NO_ROOM = enum.auto()


class Incoming(io.RawIOBase):
    """The bytes of one request at a time; ``receive`` never blocks, ``readinto`` has a deadline."""

    def __init__(self, sock: Any, limits: Limits) -> None:
        super().__init__()
        self._socket = sock
        self._limits = limits
        self._data = bytearray()
        self._size: int | None = None  # of the request, once its head is complete
        self._is_blocking = False
        self._is_chunked = False
        self._waited_seconds, self._waited_bytes = 0.0, 0
        self.began_at: float | None = None

    @property
    def has_begun(self) -> bool:
        """Whether a part of a request is here."""
        return bool(self._data)

    @property
    def extra_bytes(self) -> int:
        """Bytes beyond those that every request may have."""
        size = self._size or 0
        is_large = self._limits.small_body_bytes < size <= self._longest
        return size if is_large else 0

    @property
    def _longest(self) -> int:
        return self._limits.head_bytes_max + self._limits.body_bytes_max

    def readable(self) -> bool:
        return True

    def receive(self) -> bool | None:
        """Take what has arrived; return whether a request is complete, None if there is no more."""
        while not self._is_complete():
            try:
                piece = self._socket.recv(_PIECE_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return False
            if not piece:  # a body that was cut off is for the application to refuse
                return True if self._size is not None else None
            self._data += piece
        return True

    def next_request(self) -> bool:
        """Expect another request; return whether a part of it has arrived with the last one."""
        self._size, self.began_at = None, None
        self._is_blocking = self._is_chunked = False
        self._waited_seconds, self._waited_bytes = 0.0, 0
        return bool(self._data) or (isinstance(self._socket, ssl.SSLSocket) and self._pending())

    def readinto(self, buffer: Any) -> int:
        """Hand out the request and nothing of the next; read on if it is longer than buffered."""
        if self._data:
            left = len(self._data) if self._size is None or self._is_chunked else self._size
            count = min(len(buffer), len(self._data), left)
            buffer[:count] = self._data[:count]
            del self._data[:count]
            self._size = None if self._size is None else max(0, self._size - count)
            return count
        if self._size == 0 and not self._is_chunked:
            return 0
        count = self._receive_more(buffer)
        self._size = None if self._size is None else max(0, self._size - count)
        return count

    def _receive_more(self, buffer: Any) -> int:
        """Wait for more of a long body. Raises TimeoutError if the client is too slow.

        Only the time counts in which the client is waited for.
        """
        left = self._limits.receive_seconds_max - self._waited_seconds
        if left <= 0:
            raise TimeoutError("the rest of the request comes too slowly")
        started = time.monotonic()
        _block(self._socket, left)
        count = int(self._socket.recv_into(buffer))
        self._waited_seconds += time.monotonic() - started
        self._waited_bytes += count
        if self._waited_bytes >= self._limits.received_bytes_min:
            self._waited_seconds, self._waited_bytes = 0.0, 0
        return count

    def _pending(self) -> bool:
        return bool(self._socket.pending())

    def _is_complete(self) -> bool:
        if self._size is None and not self._find_size():
            if not self._is_malformed():
                return False
            self._size = len(self._data)  # refused when it is read
        assert self._size is not None
        return len(self._data) >= self._size or self._size > self._longest

    def _is_malformed(self) -> bool:
        line, is_whole, _rest = self._data.partition(b"\n")
        form = _REQUEST_LINE if is_whole else _REQUEST_LINE_START
        return len(self._data) > self._limits.head_bytes_max or not form.fullmatch(line)

    def _find_size(self) -> bool:
        """Look for the end of the head, and the length of the body.

        A body in chunks is not waited for: the application reads or refuses it, and the connection
        is closed. Nor is one of an unclear length, which is refused.
        """
        while self._data.startswith((b"\r", b"\n")):  # empty lines before a request are ignored
            del self._data[:1]
        end = _HEAD_END.search(self._data)
        if end is None:
            return False
        head = bytes(self._data[: end.end()])
        self._is_chunked = _CHUNKED.search(head) is not None
        lengths = [value.strip(b" \t") for value in _LENGTH.findall(head)]
        length = int(lengths[0]) if len(lengths) == 1 and is_length(lengths[0]) else 0
        if 0 < length <= self._limits.body_bytes_max and _EXPECTS.search(head):
            with contextlib.suppress(OSError):
                self._socket.send(_CONTINUE)
            self._data[: end.end()] = head = _EXPECTS.sub(b"", head, count=1)
        self._size = len(head) + length
        return True


class Outgoing(io.RawIOBase):
    """The answer: what the client does not take immediately is sent later, up to a maximum.

    ``when_begun`` is called before anything is sent.
    """

    def __init__(self, sock: Any, limits: Limits, when_begun: Callable[[], None]) -> None:
        super().__init__()
        self._socket = sock
        self._limits = limits
        self._when_begun = when_begun
        self.unsent = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Send or keep all of ``data``. Raises TimeoutError if the client takes nothing.

        A long answer is waited for between its parts. One that is in memory as a whole, such as a
        list, is kept without, so that a client that reads it slowly keeps no thread.
        """
        self._when_begun()
        if len(self.unsent) > _UNSENT_BYTES_MAX:
            try:
                self._send_all()
            finally:
                self.unsent.clear()
        self.unsent += data
        self.send_some()
        return len(data)

    @property
    def send_seconds_max(self) -> float:
        """How long the client may take to read what is left."""
        return self._limits.send_seconds_max * (1 + len(self.unsent) // _UNSENT_BYTES_MAX)

    def _send_all(self) -> None:
        """Send what is left. Raises TimeoutError; ``sendall`` with TLS has no deadline for all."""
        until = time.monotonic() + self._limits.send_seconds_max
        while self.unsent:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError("the client reads too slowly")
            _block(self._socket, left)
            del self.unsent[: self._socket.send(bytes(self.unsent[:_PIECE_BYTES]))]

    def send_some(self) -> None:
        """Send as much as possible now. Raises OSError if the connection is broken."""
        self._socket.setblocking(False)
        try:
            while self.unsent:
                del self.unsent[: self._socket.send(bytes(self.unsent[:_PIECE_BYTES]))]
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except OSError:
            self.unsent.clear()
            raise


class _Reader(StreamReader):
    """cheroot's reader, on ``Incoming``."""

    def __init__(self, incoming: Incoming) -> None:
        super(StreamReader, self).__init__(incoming)  # it would make a reader of the socket
        self.bytes_read = 0
        self.has_more = False

    def has_data(self) -> bool:
        """Return whether a part of the next request is here and has not been looked at."""
        return self.has_more


class _Writer(StreamWriter):
    """cheroot's writer, on ``Outgoing``."""

    def __init__(self, outgoing: Outgoing) -> None:
        super(StreamWriter, self).__init__(outgoing)
        self.bytes_written = 0


class PatientConnection(cheroot_server.HTTPConnection):
    """A connection whose request is received without blocking, then handled by a worker thread."""

    def __init__(self, server: Any, sock: Any, makefile: Any = None) -> None:
        limits: Limits = server.limits
        self.incoming = Incoming(sock, limits)
        # A client that has its answer may send its next body immediately, so there is room by then.
        self.outgoing = Outgoing(sock, limits, lambda: server.room.leave(self))

        def make(_sock: Any, mode: str, _size: int) -> Any:
            return _Reader(self.incoming) if "r" in mode else _Writer(self.outgoing)

        super().__init__(server, sock, make)
        self.is_new = True
        self._is_new_tls = isinstance(sock, ssl.SSLSocket)
        self.incoming.began_at = time.monotonic() if self._is_new_tls else None
        self.waits_since = time.monotonic()

    @property
    def is_receiving(self) -> bool:
        """Whether a handshake or a request has begun and is not complete."""
        return self._is_new_tls or self.incoming.has_begun

    def communicate(self) -> bool:
        """Receive what there is; handle a complete request; return whether to stay connected."""
        self.rfile.has_more = False
        progress = self._receive()
        if progress is _Progress.WAITING:
            return True
        if progress is _Progress.CLOSED:
            return False
        if progress is not _Progress.COMPLETE:
            self._refuse(progress)
            return False
        stays: bool = super().communicate()  # type: ignore[no-untyped-call]
        self.rfile.has_more = self.incoming.next_request()
        self.waits_since = time.monotonic()
        return stays

    def close(self) -> None:
        """Close the connection, after its answer was sent."""
        self.server.room.leave(self)
        if self.outgoing.unsent:
            self.server.sender.take(self, stays=False)
        else:
            super().close()

    def _receive(self) -> _Progress:
        try:
            self.socket.setblocking(False)
            if self._is_new_tls:
                if not continue_handshake(self.socket):
                    return _Progress.CLOSED
                self._is_new_tls, self.incoming.began_at = False, None
            is_complete = self.incoming.receive()
        except NeedsMore:
            is_complete = False
        except OSError:
            return _Progress.CLOSED
        if is_complete is None:
            return _Progress.CLOSED
        if not self.server.room.enter(self):
            return _Progress.NO_ROOM
        if is_complete:
            return _Progress.COMPLETE
        return _Progress.TOO_LATE if self.is_late() else _Progress.WAITING

    def is_late(self) -> bool:
        """Return whether the rest of a handshake or request took too long."""
        now = time.monotonic()
        if not self.is_receiving:
            return False
        if self.incoming.began_at is None:
            self.incoming.began_at = now
        return now - self.incoming.began_at > self.server.limits.receive_seconds_max

    def _refuse(self, progress: _Progress) -> None:
        if self._is_new_tls:
            return
        request = self.RequestHandlerClass(self.server, self)
        late = progress is _Progress.TOO_LATE
        request.simple_response("408 Request Timeout" if late else "503 Service Unavailable")


def _block(sock: Any, seconds: float) -> None:
    """Let a socket block; the sockets of eventlet need both calls."""
    sock.setblocking(True)
    sock.settimeout(seconds)


class BodyRoom:
    """Memory for large bodies that are being received."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._taken: dict[PatientConnection, int] = {}
        self._lock = threading.Lock()

    def enter(self, connection: PatientConnection) -> bool:
        """Reserve memory for a connection's request; return whether there is enough."""
        wanted = connection.incoming.extra_bytes
        if not wanted or connection in self._taken:
            return True
        with self._lock:
            if sum(self._taken.values()) + wanted > self._bytes_max:
                return False
            self._taken[connection] = wanted
        return True

    def leave(self, connection: PatientConnection) -> None:
        """Give back what is reserved."""
        if connection in self._taken:
            with self._lock:
                self._taken.pop(connection, None)


def crowded_out(connections: list[PatientConnection], limits: Limits) -> PatientConnection | None:
    """Return the connection to close for a new one, None if there is room.

    It is one of the client with the most connections: one in the middle of a request rather than
    one between requests, and of these the one that has waited longest.
    """
    if not connections:
        return None
    clients = {each: client_network(each.remote_addr) for each in connections}
    client, count = Counter(clients.values()).most_common(1)[0]
    if len(connections) < limits.connections_max and count < limits.connections_per_address_max:
        return None
    of_client = [each for each in connections if clients[each] == client]
    return min(of_client, key=lambda each: (not each.is_receiving, each.waits_since))
