"""Slow clients use up neither threads nor memory: requests of others are served meanwhile."""

import contextlib
import dataclasses
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from armillary.http.wsgi.connections import Limits, Outgoing, crowded_out
from armillary.http.wsgi.request_head import HEADERS_MAX
from armillary.http.wsgi.server import HttpServer
from armillary.http.wsgi.slow_readers import beyond_room
from armillary.http.wsgi.tls import TlsFiles
from tests.fixtures.asking import wait_for
from tests.fixtures.http_api.slow_clients import SlowClients, many_files
from tests.fixtures.programs.serving import serving
from tests.fixtures.signing.authority import CertificateAuthority

__all__ = ["many_files"]

SECONDS_MAX = 60.0
LARGE = b"x" * 1_000_000


def application(environ: Any, start_response: Callable[..., Any]) -> list[bytes]:
    """Return the body that was sent, or much for a path that says so."""
    length = int(environ.get("CONTENT_LENGTH") or 0)
    body = environ["wsgi.input"].read(length)
    if environ["PATH_INFO"] == "/large":
        body = LARGE
    elif environ["PATH_INFO"] == "/longer":
        body = 8 * LARGE
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]


@pytest.fixture
def serve() -> Iterator[Callable[..., HttpServer]]:
    with ExitStack() as running:
        yield lambda **more: running.enter_context(serving(application, **more))


def post(server: HttpServer, body: bytes, context: ssl.SSLContext | None = None) -> bytes:
    connection = (
        http.client.HTTPConnection(*server.address, timeout=SECONDS_MAX)
        if context is None
        else http.client.HTTPSConnection(*server.address, timeout=SECONDS_MAX, context=context)
    )
    with contextlib.closing(connection):
        connection.request("POST", "/", body)
        return connection.getresponse().read()


def read_all(sock: socket.socket) -> bytes:
    received = b""
    while more := sock.recv(65536):
        received += more
    return received


@pytest.mark.usefixtures("many_files")
@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("beginning", "drip"),
    [
        pytest.param(b"", b"", id="say-nothing"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\n", b"X-A: b\r\n", id="never-end-their-head"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n", b"x", id="slow-body"
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 99\r\n\r\n",
            b"",
            id="expect-to-be-asked",
        ),
        pytest.param(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n", b"", id="never-read"),
        pytest.param(
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n", b"X", id="slow-second-request"
        ),
    ],
)
def test_others_are_served_beside_500_slow_clients(
    serve: Callable[..., HttpServer], beginning: bytes, drip: bytes
) -> None:
    """With two threads for requests."""
    server = serve()
    with SlowClients(server.address, beginning, drip):
        assert [post(server, body) for body in (b"1", b"2", b"3")] == [b"1", b"2", b"3"]


@pytest.mark.usefixtures("many_files")
def test_others_are_served_beside_silent_handshakes(
    serve: Callable[..., HttpServer], certificate_authority: CertificateAuthority
) -> None:
    """A client that connects for TLS and says no more, or says half of it."""
    issued = certificate_authority.issue("api")
    server = serve(tls=TlsFiles(str(issued.cert_file), str(issued.key_file)))
    context = ssl.create_default_context(cafile=str(certificate_authority.ca_file))
    with (
        SlowClients(server.address, b"", b""),
        SlowClients(server.address, b"\x16\x03\x01\x02\x00", b""),
    ):
        assert post(server, b"1", context) == b"1"


def test_a_request_that_does_not_end_in_time_is_refused(serve: Callable[..., HttpServer]) -> None:
    """However often a part of it comes."""
    server = serve(limits=Limits(receive_seconds_max=0.3))
    with socket.create_connection(server.address, timeout=SECONDS_MAX) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\n")
        received = b""
        while not received:
            with contextlib.suppress(OSError):
                sock.sendall(b"X")
            sock.settimeout(0.05)
            with contextlib.suppress(TimeoutError):
                received = sock.recv(65536)
        assert received.startswith(b"HTTP/1.1 408 ")


def test_a_long_body_has_to_come_at_a_minimum_rate(serve: Callable[..., HttpServer]) -> None:
    """However often a byte of it comes: its thread is free again soon."""
    limits = Limits(receive_seconds_max=0.5, received_bytes_min=1000, body_bytes_max=1000)
    server = serve(limits=limits, threads=1)
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
    with socket.create_connection(server.address, timeout=SECONDS_MAX) as sock:
        sock.sendall(head)
        with pytest.raises(OSError, match=r"reset|Broken"):  # noqa: PT012 - one of many fails
            while True:
                sock.sendall(b"x")
                threading.Event().wait(0.05)
        wait_for(lambda: post(server, b"1") == b"1", "its thread is free", SECONDS_MAX)


def test_a_long_body_that_comes_fast_enough_is_taken(serve: Callable[..., HttpServer]) -> None:
    """In whatever pieces, for as long as it takes."""
    limits = Limits(
        receive_seconds_max=2.0, received_bytes_min=1000, body_bytes_max=1000, head_bytes_max=2000
    )
    body = b"x" * 30_000
    with socket.create_connection(serve(limits=limits).address, timeout=SECONDS_MAX) as sock:
        sock.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 30000\r\n\r\n")
        for start in range(0, len(body), 1000):
            threading.Event().wait(0.1)
            sock.sendall(body[start : start + 1000])
        sock.shutdown(socket.SHUT_WR)
        assert read_all(sock).endswith(body)


@pytest.mark.parametrize("has_tls", [False, True], ids=["plain", "tls"])
def test_a_client_that_reads_slowly_is_left(
    serve: Callable[..., HttpServer], certificate_authority: CertificateAuthority, has_tls: bool
) -> None:
    """Of a long answer each part has a deadline, also where a part is taken occasionally."""
    issued = certificate_authority.issue("api")
    tls = TlsFiles(str(issued.cert_file), str(issued.key_file)) if has_tls else None
    done = threading.Event()

    def much(_environ: Any, start_response: Callable[..., Any]) -> Iterator[bytes]:
        start_response("200 OK", [("Content-Length", str(10**9))])
        try:
            for _ in range(1000):
                yield LARGE
        finally:
            done.set()

    limits = Limits(send_seconds_max=1.0)
    with (
        serving(much, tls=tls, limits=limits) as server,
        socket.create_connection(server.address, timeout=SECONDS_MAX) as plain,
        ExitStack() as stack,
    ):
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        context = ssl.create_default_context(cafile=str(certificate_authority.ca_file))
        sock = context.wrap_socket(plain, server_hostname="localhost") if has_tls else plain
        stack.enter_context(sock)
        sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        deadline = time.monotonic() + SECONDS_MAX
        while not done.wait(0.05):
            assert time.monotonic() < deadline
            with contextlib.suppress(OSError):
                sock.recv(16384)


def test_a_part_of_an_answer_has_one_deadline_however_often_some_of_it_is_taken() -> None:
    """A deadline for each send would let a client keep a thread for hours."""
    near, far = socket.socketpair()
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
    is_over = threading.Event()

    def sip() -> None:
        while not is_over.wait(0.01):
            far.recv(4096)

    reader = threading.Thread(target=sip)
    with near, far:
        reader.start()
        try:
            outgoing = Outgoing(near, Limits(send_seconds_max=0.5), lambda: None)
            outgoing.write(bytes(5 * 1024**2))
            with pytest.raises(TimeoutError):
                outgoing.write(b"more")
        finally:
            is_over.set()
            reader.join()


def test_who_does_not_read_a_long_list_keeps_no_thread(serve: Callable[..., HttpServer]) -> None:
    """With two threads for requests, and lists that are longer than a part of a stream."""
    server = serve(limits=Limits(unsent_bytes_max=30_000_000))
    with ExitStack() as stack:
        for _ in range(6):
            slow = stack.enter_context(socket.create_connection(server.address, SECONDS_MAX))
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.sendall(b"GET /longer HTTP/1.1\r\nHost: x\r\n\r\n")
            assert slow.recv(12) == b"HTTP/1.1 200"
        assert [post(server, body) for body in (b"1", b"2", b"3")] == [b"1", b"2", b"3"]


@dataclasses.dataclass(frozen=True)
class Unsent:
    """A connection as far as it matters for whose answer is not sent to its end."""

    remote_addr: str
    unsent: bytes
    name: str

    @property
    def outgoing(self) -> "Unsent":
        return self


@pytest.mark.parametrize(
    ("waiting", "closed"),
    [("", ""), ("a3 b3 c4", ""), ("a1 b2 b8", "b8"), ("a5 b2 b3 b4", "b4"), ("a9 b9 c9", "a9 b9")],
)
def test_who_leaves_most_unread_makes_room(waiting: str, closed: str) -> None:
    """Not who has waited longest: an answer to another client is sent to its end."""
    each: list[Any] = [Unsent(name[0], bytes(int(name[1])), name) for name in waiting.split()]
    assert sorted(one.name for one in beyond_room(each, 10)) == closed.split()  # type: ignore[attr-defined]


@dataclasses.dataclass(frozen=True)
class Waiting:
    """A connection as far as it matters for which one is closed."""

    remote_addr: str
    waits_since: float
    is_receiving: bool = False


@pytest.mark.parametrize(
    ("waiting", "closed"),
    [
        ([], None),
        ([Waiting("a", 1), Waiting("b", 2)], None),
        ([Waiting("a", 1), Waiting("b", 3), Waiting("b", 2)], 2),
        ([Waiting("b", 1), Waiting("b", 2, True), Waiting("b", 3, True)], 1),
        ([Waiting("a", 1, True), Waiting("b", 5), Waiting("b", 4), Waiting("c", 2)], 2),
        ([Waiting("2001:db8::1", 2), Waiting("2001:db8:0:1::1", 1), Waiting("2001:db8::2", 3)], 0),
        ([Waiting("::1", 1), Waiting("2001:db8::1", 2)], None),
    ],
    ids=[
        "none",
        "room",
        "many-of-an-address",
        "in-a-request-first",
        "of-the-largest-address",
        "of-an-ipv6-network",
        "of-two-networks",
    ],
)
def test_the_longest_waiting_of_too_many_is_closed(waiting: list[Any], closed: int | None) -> None:
    """Of the address with the most, and one in the middle of a request first."""
    limits = Limits(connections_max=4, connections_per_address_max=2)
    victim = crowded_out(waiting, limits)
    assert victim == (None if closed is None else waiting[closed])


def test_a_slow_connection_makes_room_for_others(serve: Callable[..., HttpServer]) -> None:
    """When a server has as many as it may have."""
    server = serve(limits=Limits(connections_max=3))
    with contextlib.ExitStack() as opened:
        slow = opened.enter_context(socket.create_connection(server.address))
        slow.sendall(b"GET /")
        slow.setblocking(False)
        for _ in range(100):
            opened.enter_context(socket.create_connection(server.address))
            with contextlib.suppress(BlockingIOError):
                assert slow.recv(1) == b""
                break
            assert post(server, b"1") == b"1"
        else:
            pytest.fail("it is still open")


def test_large_bodies_have_a_limit_together(serve: Callable[..., HttpServer]) -> None:
    """One that is too much is refused, small ones are served."""
    limits = Limits(small_body_bytes=100, body_bytes_max=1000, bodies_bytes_max=1500)
    server = serve(limits=limits)
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n"
    with socket.create_connection(server.address, timeout=SECONDS_MAX) as first:
        first.sendall(head + b"x")
        assert post(server, b"small") == b"small"
        with socket.create_connection(server.address, timeout=SECONDS_MAX) as second:
            second.sendall(head + b"x")
            assert read_all(second).startswith(b"HTTP/1.1 503 ")
        first.sendall(b"x" * 899)
        assert first.recv(65536).startswith(b"HTTP/1.1 200 ")
    assert post(server, b"y" * 900) == b"y" * 900


def test_what_a_client_reads_later_is_sent_later(serve: Callable[..., HttpServer]) -> None:
    """In full, and the connection stays for another request."""
    server = serve(threads=1)
    slow = http.client.HTTPConnection(*server.address, timeout=SECONDS_MAX)
    slow.request("GET", "/large")
    answer = slow.getresponse()
    assert post(server, b"1") == b"1"
    assert answer.read() == LARGE
    slow.request("POST", "/", b"2")
    assert slow.getresponse().read() == b"2"
    slow.close()


def in_turn(*calls: Callable[[], None]) -> None:
    for call in calls:
        call()


def test_an_answer_before_a_stop_is_sent_in_full() -> None:
    """A stop waits for clients that still read."""
    server = HttpServer(application, host="127.0.0.1", port=0, threads=1)
    server.start()
    slow = http.client.HTTPConnection(*server.address, timeout=SECONDS_MAX)
    slow.request("GET", "/large")
    answer = slow.getresponse()
    stopper = threading.Thread(target=in_turn, args=(server.stop, server.wait))
    stopper.start()
    assert answer.read() == LARGE
    stopper.join(SECONDS_MAX)
    assert not stopper.is_alive()
    slow.close()


def test_requests_that_come_in_one_piece_are_answered_in_turn(
    serve: Callable[..., HttpServer],
) -> None:
    """A part of a third waits for its rest."""
    server = serve()
    one = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n"
    with socket.create_connection(server.address, timeout=SECONDS_MAX) as sock:
        sock.sendall(one + b"1" + one + b"2" + one[:20])
        received = b""
        while received.count(b"\r\n\r\n") < 2 or not received.endswith(b"2"):
            received += sock.recv(65536)
        sock.sendall(one[20:] + b"3")
        while not received.endswith(b"3"):
            received += sock.recv(65536)
    assert received.count(b"HTTP/1.1 200 ") == 3


def test_a_client_that_waits_to_be_asked_is_asked(serve: Callable[..., HttpServer]) -> None:
    """As curl does for larger bodies."""
    server = serve()
    head = b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    with socket.create_connection(server.address, timeout=SECONDS_MAX) as sock:
        sock.sendall(head)
        assert sock.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"ok")
        received = b""
        while not received.endswith(b"ok"):
            received += sock.recv(65536)
    assert received.startswith(b"HTTP/1.1 200 ")


def test_a_head_with_many_blanks_is_refused_immediately(serve: Callable[..., HttpServer]) -> None:
    """The search for a length took as many steps as the square of the blanks, and all else waited.

    For so many that is hours.
    """
    server = serve(limits=Limits(head_bytes_max=1024**2))
    with socket.create_connection(server.address, SECONDS_MAX) as client:
        blanks = b" " * 1_000_000
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1" + blanks + b"x\r\n\r\n")
        assert read_all(client).startswith(b"HTTP/1.1 400")


def test_a_head_of_many_lines_is_refused_immediately(serve: Callable[..., HttpServer]) -> None:
    """A small request would take as long as twenty others."""
    server = serve()
    for count, status in ((HEADERS_MAX - 2, b"200"), (HEADERS_MAX, b"400"), (16_000, b"400")):
        with socket.create_connection(server.address, SECONDS_MAX) as client:
            lines = b"Host: x\r\nConnection: close\r\n" + b"a:\r\n" * count
            client.sendall(b"GET / HTTP/1.1\r\n" + lines + b"\r\n")
            assert read_all(client).startswith(b"HTTP/1.1 " + status)
