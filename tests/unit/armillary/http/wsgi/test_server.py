"""The HTTP server: many at a time, a stop that waits, and no way to keep it busy for nothing."""

import http.client
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from armillary import exception
from armillary.http.own_origin import own_origin
from armillary.http.wsgi.server import HttpServer
from tests.fixtures import waiting
from tests.fixtures.programs.serving import serving

SECONDS_MAX = 60


def read_all(environ: dict[str, Any]) -> bytes:
    """Return the body of a request."""
    return bytes(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)))


def echo(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    body = read_all(environ)
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]


def refuse_unread(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    status = "413 Too Large" if environ["PATH_INFO"] == "/413" else "401 Unauthorized"
    start_response(status, [("Content-Length", "0")])
    return []


def say_origin(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    body = own_origin(environ).encode()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]


class Gate:
    """An application that holds requests until the gate opens."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.opened = threading.Event()

    def __call__(self, environ: Any, start_response: Callable[..., Any]) -> list[bytes]:
        self.entered.release()
        assert self.opened.wait(SECONDS_MAX)
        start_response("200 OK", [("Content-Length", "2")])
        return [b"ok"]


@pytest.fixture
def serve() -> Iterator[Callable[..., HttpServer]]:
    """Return what starts a server on a free port; all are stopped afterwards."""
    with ExitStack() as running:
        yield lambda app, **more: running.enter_context(serving(app, **{"threads": 4, **more}))


def connect(server: HttpServer) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(*server.address, timeout=SECONDS_MAX)


def fetch(server: HttpServer, results: list[int]) -> None:
    connection = connect(server)
    connection.request("GET", "/")
    results.append(connection.getresponse().status)
    connection.close()


def in_threads(number: int, target: Callable[..., None], *args: Any) -> list[threading.Thread]:
    threads = [threading.Thread(target=target, args=args) for _ in range(number)]
    for thread in threads:
        thread.start()
    return threads


def test_port_0_takes_a_free_port(serve: Callable[..., HttpServer]) -> None:
    """And says which."""
    one, other = serve(echo), serve(echo)
    assert one.address[0] == "127.0.0.1"
    assert one.address[1] not in (0, other.address[1])


def test_an_address_is_known_after_the_start() -> None:
    """Not before."""
    with pytest.raises(RuntimeError):
        HttpServer(echo, host="127.0.0.1", port=0, threads=1).address  # noqa: B018


def test_a_connection_serves_one_request_after_another(serve: Callable[..., HttpServer]) -> None:
    """It is kept open between them."""
    connection = connect(serve(echo))
    for body in (b"one", b"", b"three"):
        connection.request("POST", "/", body)
        assert connection.getresponse().read() == body
    connection.close()


def test_requests_are_served_at_the_same_time(serve: Callable[..., HttpServer]) -> None:
    """As many as there are threads."""
    gate = Gate()
    server = serve(gate, threads=3)
    results: list[int] = []
    threads = in_threads(3, fetch, server, results)
    for _ in range(3):
        assert gate.entered.acquire(timeout=SECONDS_MAX)
    gate.opened.set()
    for thread in threads:
        thread.join(SECONDS_MAX)
    assert results == [200] * 3


def test_one_more_waits_its_turn(serve: Callable[..., HttpServer]) -> None:
    """It is served when another is done."""
    gate = Gate()
    server = serve(gate, threads=1)
    results: list[int] = []
    threads = in_threads(3, fetch, server, results)
    assert gate.entered.acquire(timeout=SECONDS_MAX)
    assert not gate.entered.acquire(blocking=False)
    gate.opened.set()
    for thread in threads:
        thread.join(SECONDS_MAX)
    assert results == [200] * 3


def test_a_stop_lets_the_request_in_progress_finish(serve: Callable[..., HttpServer]) -> None:
    """And takes no new one meanwhile."""
    gate = Gate()
    server = serve(gate)
    results: list[int] = []
    (thread,) = in_threads(1, fetch, server, results)
    assert gate.entered.acquire(timeout=SECONDS_MAX)
    server.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(server.address, timeout=SECONDS_MAX)
    waiter = threading.Thread(target=server.wait)
    waiter.start()
    assert waiter.is_alive()
    gate.opened.set()
    waiter.join(SECONDS_MAX)
    thread.join(SECONDS_MAX)
    assert results == [200]
    assert not waiter.is_alive()


def test_a_second_stop_does_nothing(serve: Callable[..., HttpServer]) -> None:
    """Nor one before the start."""
    server = serve(echo)
    server.stop()
    server.stop()
    server.wait()
    HttpServer(echo, host="127.0.0.1", port=0, threads=1).stop()


def test_a_taken_port_is_a_configuration_error(serve: Callable[..., HttpServer]) -> None:
    """One line with host, port and reason."""
    _host, port = serve(echo).address
    with pytest.raises(exception.ConfigurationError, match=f"127.0.0.1 port {port}.*in use"):
        HttpServer(echo, host="127.0.0.1", port=port, threads=1).start()


def test_a_foreign_address_is_a_configuration_error() -> None:
    """It is another program's."""
    with pytest.raises(exception.ConfigurationError, match=r"192\.0\.2\.1 port 1"):
        HttpServer(echo, host="192.0.2.1", port=1, threads=1).start()


def test_several_processes_may_share_a_port(serve: Callable[..., HttpServer]) -> None:
    """When both are asked to."""
    free = serve(echo)
    free.stop()
    shared = [serve(echo, reuse_port=True, port=free.address[1]) for _ in range(2)]
    assert [server.address for server in shared] == [free.address] * 2


def test_a_shared_port_must_be_named() -> None:
    """Each would take another."""
    with pytest.raises(exception.ConfigurationError, match="port 0"):
        HttpServer(echo, host="127.0.0.1", port=0, threads=1, reuse_port=True).start()


def raw(server: HttpServer, request: bytes) -> bytes:
    """Send bytes and return all that comes back until the connection is closed."""
    with socket.create_connection(server.address, timeout=SECONDS_MAX) as connection:
        connection.sendall(request)
        received = b""
        while more := connection.recv(65536):
            received += more
    return received


def test_a_refused_body_is_not_read_to_its_end(serve: Callable[..., HttpServer]) -> None:
    """413 closes; a gigabyte that was announced never has to come."""
    answer = raw(serve(refuse_unread), b"POST /413 HTTP/1.1\r\nHost: x\r\n"
                 b"Content-Length: 1000000000\r\n\r\nabc")  # fmt: skip
    assert answer.startswith(b"HTTP/1.1 413")


def test_what_is_left_of_a_chunked_body_is_not_a_request(serve: Callable[..., HttpServer]) -> None:
    """The connection is closed instead."""
    hidden = b"GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = raw(serve(refuse_unread), b"POST / HTTP/1.1\r\nHost: x\r\n"
                 b"Transfer-Encoding: chunked\r\n\r\n" + hidden)  # fmt: skip
    assert answer.count(b"HTTP/1.1") == 1
    assert b"Connection: close" in answer


def test_an_unread_body_does_not_spoil_the_next_request(serve: Callable[..., HttpServer]) -> None:
    """It is read away."""
    connection = connect(serve(refuse_unread))
    for _ in range(2):
        connection.request("POST", "/", b"x" * 1000)
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (401, b"")
    connection.close()


def test_an_answer_to_head_has_no_body(serve: Callable[..., HttpServer]) -> None:
    """Whatever the application returns: it would be taken for the beginning of the next answer."""
    server = serve(say_origin)
    head, get = (f"{method} / HTTP/1.1\r\nHost: a\r\n" for method in ("HEAD", "GET"))
    answer = raw(server, f"{head}\r\n{get}Connection: close\r\n\r\n".encode())
    first, second, body = answer.split(b"\r\n\r\n")
    assert first.startswith(b"HTTP/1.1 200")
    assert second.startswith(b"HTTP/1.1 200")
    assert body == b"http://127.0.0.1:%d" % server.address[1]


def test_a_refusal_of_head_has_no_body(serve: Callable[..., HttpServer]) -> None:
    """Also one by the server itself."""
    server = serve(echo, refusal=lambda status, reason: ({}, b"refused"))
    answer = raw(server, b"HEAD / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("length", [b"many", b"-1", b"+1", b"1_0", b"", b"1\r\nContent-Length: 2"])
def test_a_length_that_is_none_is_a_bad_request(
    length: bytes, serve: Callable[..., HttpServer]
) -> None:
    """400, and the server lives on."""
    server = serve(refuse_unread)
    request = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: "
    answer = raw(server, request + length + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"text/plain" in answer
    assert raw(server, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")


@pytest.mark.parametrize(
    "lines",
    [
        b"Host: a\r\nHost: b",
        b"Host: a\r\nHost: a",
        b"X-Note: b",
        b"Host:",
        b"Host: user@a",
        b"Host: a:b@c",
        b"Host: a/b",
        b"Host: a, b",
        b"Host: a:80:80",
        b"Host: a:80x",
        b"Host: [::1",
        b"Host: a\xe9",
        b"Host: a\r\nX-Auth-Token: guest\r\nX-Auth-Token: admin",
        b"Host: a\r\nOrigin: a\r\nOrigin: b",
        b"Host: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        b"Host: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        b"Host: a\r\nX-Auth-Token: guest\r\n admin",
        b"Host: a\r\nContent-Length : 0",
        b"Host: a\r\nX(Auth: admin",
        b"Host: a\r\n: admin",
        b"Host: a\r\nX-Note: b\rX-Auth-Token: admin",
        b"Host: a\r\nX-Auth-Token: admin\0, guest",
        b"Host: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
        b"Host: a\r\nX-Auth-Token: \x0cadmin",
        b"Host: a\r\nX-Note: \x7f",
    ],
    ids=[
        "two-hosts",
        "twice-the-same-host",
        "no-host",
        "empty-host",
        "user-and-host",
        "user-and-password-and-host",
        "host-and-path",
        "joined-hosts",
        "two-ports",
        "a-port-that-is-none",
        "half-an-address",
        "host-in-bytes",
        "two-tokens",
        "two-origins",
        "length-and-chunks",
        "chunks-and-length",
        "twice-chunked",
        "folded",
        "space",
        "sign",
        "nameless",
        "bare-carriage-return",
        "nul",
        "chunks-after-a-tab-that-is-none",
        "form-feed",
        "delete",
    ],
)
def test_a_head_that_a_proxy_may_read_in_another_way_is_refused(
    serve: Callable[..., HttpServer], lines: bytes
) -> None:
    """What the proxy checked or set would not be what the application gets."""
    answer = raw(serve(echo), b"GET / HTTP/1.1\r\n" + lines + b"\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "request_line",
    [
        b"GET http://evil.example/ HTTP/1.1",
        b"GET http:// HTTP/1.1",
        b"GET //evil.example HTTP/1.1",
        b"GET //[evil HTTP/1.1",
        b"OPTIONS http://evil.example/ HTTP/1.1",
        b"OPTIONS //evil.example HTTP/1.1",
        b"CONNECT evil.example:80 HTTP/1.1",
    ],
)
def test_a_target_that_names_a_host_is_refused(
    serve: Callable[..., HttpServer], request_line: bytes
) -> None:
    """It would be another one than that of the Host header, which is checked."""
    answer = raw(serve(echo), request_line + b"\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 405 "))


@pytest.mark.parametrize(
    "request_line",
    [b"GET /a\tb HTTP/1.1", b"GET /a\x0bb HTTP/1.1", b"GET / HTTP/+1.1", b"GET / HTTP/1.-1",
     b"GET / HTTP/1.01", b"GET / HTTP/1.1 x", b"GET / HTTP/0.9"],
)  # fmt: skip
def test_a_request_line_that_a_proxy_may_read_in_another_way_is_refused(
    serve: Callable[..., HttpServer], request_line: bytes
) -> None:
    """A tab would be dropped from the path, and a version decides what a head has to have."""
    answer = raw(serve(echo), request_line + b"\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 505 "))


@pytest.mark.parametrize(
    "head",
    [b"GET / HTTP/1.0", b"GET / HTTP/1.0\r\nHost: x", b"GET / HTTP/1.1\r\nHost: a_b.example:",
     b"GET / HTTP/1.1\r\nHost: [fe80::1%25eth0]:8774", b"OPTIONS * HTTP/1.1\r\nHost: x"],
)  # fmt: skip
def test_a_clear_host_is_accepted(serve: Callable[..., HttpServer], head: bytes) -> None:
    """Of HTTP/1.0, which probes of load balancers speak, none is asked for."""
    answer = raw(serve(echo), head + b"\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")


def test_chunks_of_an_old_client_are_not_a_second_request(serve: Callable[..., HttpServer]) -> None:
    """HTTP/1.0 has no chunks: a proxy may read them as what follows, or as the body."""
    hidden = b"GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = raw(serve(echo), b"POST / HTTP/1.0\r\nHost: x\r\nConnection: Keep-Alive\r\n"
                 b"Transfer-Encoding: chunked\r\n\r\n" + hidden)  # fmt: skip
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b" 400 " in answer


@pytest.mark.parametrize(
    "length",
    [b"%d\r\nContent-Length: %d", b"%d\r\ncontent-length:\t%d", b"00000000000000000%d"],
    ids=["twice-the-same", "in-other-letters", "of-many-digits"],
)
def test_a_body_is_not_a_second_request(serve: Callable[..., HttpServer], length: bytes) -> None:
    """However its length is written: a proxy that passes it on has checked one request."""
    hidden = b"GET /hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    written = length % ((len(hidden),) * length.count(b"%d"))
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + written
    answer = raw(serve(echo), head + b"\r\n\r\n" + hidden)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b" 400 " in answer


CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


def echo_chunks(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """Answer with a chunked body in pieces of three bytes, or with why it cannot be read."""
    pieces = []
    try:
        while piece := environ["wsgi.input"].read(3):
            pieces.append(piece)
    except ValueError as error:
        pieces = [str(error).encode()]
    start_response("200 OK", [("Content-Length", str(sum(map(len, pieces))))])
    return pieces


@pytest.mark.parametrize(
    ("body", "answered"),
    [
        pytest.param(b"5\r\nabcde\r\n2;x=y\r\nfg\r\n0\r\nA: b\r\n\r\n", b"abcdefg", id="two"),
        pytest.param(b"0\r\n\r\n", b"", id="none"),
        pytest.param(b"2\r\nabc\r\n0\r\n\r\n", b"a chunk is longer", id="longer"),
        pytest.param(b"0x2\r\nab\r\n0\r\n\r\n", b"a chunk has no size", id="not-hexadecimal"),
        pytest.param(b"-2\r\nab\r\n0\r\n\r\n", b"a chunk has no size", id="negative"),
        pytest.param(b"+2\r\nab\r\n0\r\n\r\n", b"a chunk has no size", id="signed"),
        pytest.param(b"1_0\r\nab\r\n0\r\n\r\n", b"a chunk has no size", id="underscore"),
        pytest.param(b"2\nab\n0\n\n", b"a chunk has no size", id="line-feed-alone"),
        pytest.param(b"f" * 5000, b"the line before a chunk is too long", id="endless-size"),
        pytest.param(b"0\r\n" + b"a: b\r\n" * 99, b"the body has too many", id="trailers"),
    ],
)
def test_a_body_in_chunks_is_read_or_refused(
    serve: Callable[..., HttpServer], body: bytes, answered: bytes
) -> None:
    assert raw(serve(echo_chunks), CHUNKED + body).partition(b"\r\n\r\n")[2].startswith(answered)


def test_a_chunk_is_not_kept_whole(serve: Callable[..., HttpServer]) -> None:
    """Of one of a petabyte, pieces are read as they come."""
    server, arrived = serve(first_piece := FirstPiece()), first_piece.arrived
    with socket.create_connection(server.address, timeout=SECONDS_MAX) as connection:
        connection.sendall(CHUNKED + b"3fffffffffffff\r\nabcdef")
        assert arrived.wait(SECONDS_MAX)


class FirstPiece:
    """An application that reads three bytes of a body."""

    def __init__(self) -> None:
        self.arrived = threading.Event()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        assert environ["wsgi.input"].read(3) == b"abc"
        self.arrived.set()
        start_response("200 OK", [("Content-Length", "0")])
        return []


def test_a_header_with_an_underscore_is_none_with_a_hyphen(
    serve: Callable[..., HttpServer],
) -> None:
    """A proxy that removes X-Roles lets X_Roles through; WSGI has one name for both."""

    def say_roles(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        body = environ.get("HTTP_X_ROLES", "none").encode()
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]

    head = b"GET / HTTP/1.1\r\nHost: a\r\nX_Roles: admin\r\nConnection: close\r\n\r\n"
    assert raw(serve(say_roles), head).endswith(b"\r\n\r\nnone")


def test_what_is_not_a_request_is_answered_as_the_owner_wishes(
    serve: Callable[..., HttpServer],
) -> None:
    """Once, since it is unknown where the next request would begin."""

    def refusal(status: int, reason: str) -> tuple[dict[str, str], bytes]:
        return {"Content-Type": "text/x-own"}, f"{status}: {reason}".encode()

    answer = raw(serve(echo, refusal=refusal), b"GET\r\n\r\nGET / HTTP/1.1\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"Content-Type: text/x-own" in head
    assert b"Connection: close" in head
    assert body == b"400: Malformed Request-Line"


def test_endless_headers_are_refused(serve: Callable[..., HttpServer]) -> None:
    """413 after 64 KiB."""
    request = b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 70000 + b"\r\n\r\n"
    assert b" 413 " in raw(serve(echo), request)


def test_what_breaks_in_the_application_is_logged_and_answered(
    serve: Callable[..., HttpServer], caplog: pytest.LogCaptureFixture
) -> None:
    """500; the thread lives on."""

    def broken(environ: Any, start_response: Any) -> list[bytes]:
        raise KeyError("oops")

    server = serve(broken, threads=1)
    results: list[int] = []
    fetch(server, results)
    fetch(server, results)
    assert results == [500, 500]
    assert [record for record in caplog.records if record.exc_info]


EVENTLET_PROGRAM = """
import sys, warnings
warnings.simplefilter("ignore")
from armillary import concurrency
concurrency.bootstrap(["x"], "x")
import http.client, threading, time
from armillary.http.wsgi.server import HttpServer
entered = []
def app(environ, start_response):
    entered.append(1)
    deadline = time.monotonic() + 10
    while len(entered) < 5 and time.monotonic() < deadline:  # all five are in at the same time
        time.sleep(0.01)
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
server = HttpServer(app, host="127.0.0.1", port=0, threads=5)
server.start()
results = []
def fetch():
    connection = http.client.HTTPConnection(*server.address, timeout=60)
    connection.request("POST", "/", b"x" * 100000)
    results.append(connection.getresponse().read())
threads = [threading.Thread(target=fetch) for _ in range(5)]
for thread in threads: thread.start()
for thread in threads: thread.join()
server.stop()
server.wait()
print(concurrency.backend(), len(entered), results == [b"ok"] * 5)
"""


@pytest.mark.parametrize("backend", ["threading", "eventlet"])
def test_it_works_with_either_concurrency_backend(backend: str) -> None:
    """Five requests that wait for each other, in one process."""
    result = subprocess.run(
        [sys.executable, "-c", EVENTLET_PROGRAM],
        env={**os.environ, "ARMILLARY_CONCURRENCY_BACKEND": backend},
        capture_output=True, text=True, timeout=waiting.seconds(60), check=False,
    )  # fmt: skip
    assert result.stdout.split() == [backend, "5", "True"], result.stderr


@pytest.mark.parametrize(("bound", "own"), [("0.0.0.0", "127.0.0.1"), ("::", "127.0.0.1")])
def test_the_own_address_is_not_what_a_client_says(
    bound: str, own: str, serve: Callable[..., HttpServer]
) -> None:
    """It is the local end of the connection, also where the server listens on all addresses."""
    _, port = serve(say_origin, host=bound).address
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS_MAX)
    connection.request("GET", "/", headers={"Host": "evil.example"})
    assert connection.getresponse().read().decode() == f"http://{own}:{port}"
    connection.close()
