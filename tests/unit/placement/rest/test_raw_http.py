"""Malformed requests are answered in the API's shape of errors, and the server lives on."""

import json
import socket
from collections.abc import Iterator

import pytest
from oslo_config import cfg

from placement.engine import PlacementEngine
from placement.rest.manager import make_server

SECONDS_MAX = 60
HEADERS = b"Host: localhost\r\nX-Auth-Token: admin\r\nOpenStack-API-Version: placement latest\r\n"
JSON = b"Content-Type: application/json\r\n"
END = b"Connection: close\r\n\r\n"
BODY = b'{"name":"n1"}'

Address = tuple[str, int]


@pytest.fixture
def address(conf: cfg.ConfigOpts, engine: PlacementEngine) -> Iterator[Address]:
    """Return where an API listens."""
    conf.set_override("rest_bind_port", 0, group="placement")
    server = make_server(conf, engine, reuse_port=False)
    server.start()
    yield server.address
    server.stop()
    server.wait()


def raw(address: Address, sent: bytes) -> tuple[int, bytes]:
    """Send bytes and nothing more; return status and body of the last answer."""
    with socket.create_connection(address, timeout=SECONDS_MAX) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while more := connection.recv(65536):
            received += more
    head, _, body = received.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n").partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), body


def post(headers: bytes, body: bytes = BODY) -> bytes:
    return b"POST /resource_providers HTTP/1.1\r\n" + HEADERS + JSON + headers + END + body


def get(path: bytes) -> bytes:
    return b"GET " + path + b" HTTP/1.1\r\n" + HEADERS + END


def error_of(status: int, body: bytes) -> str:
    """Return the sentence of an error, after a look at the rest."""
    (error,) = json.loads(body)["errors"]
    assert error["status"] == status
    assert error["title"]
    assert error["request_id"].startswith("req-")
    return str(error["detail"])


BAD_LENGTHS = {
    "negative": b"Content-Length: -5\r\n",
    "a word": b"Content-Length: many\r\n",
    "empty": b"Content-Length:\r\n",
    "with a sign": b"Content-Length: +13\r\n",
    "as Python writes it": b"Content-Length: 1_3\r\n",
    "of too many digits": b"Content-Length: 99999999999999999999\r\n",
}


@pytest.mark.parametrize("headers", BAD_LENGTHS.values(), ids=BAD_LENGTHS)
def test_a_length_that_is_none_is_a_400(address: Address, headers: bytes) -> None:
    """It would be anybody's guess where the next request begins."""
    status, body = raw(address, post(headers))
    assert status == 400
    assert error_of(status, body) == "content-length header must be an integer"


BODIES = {
    "none": (b"", 400, "Malformed JSON"),
    "short": (b"Content-Length: 5\r\n", 400, "Malformed JSON"),
    "cut off": (b"Content-Length: 100\r\n", 400, "13 of 100 bytes"),
    "huge": (b"Content-Length: 999999999999999999\r\n", 413, "999999999999999999 bytes"),
    "two": (
        b"Content-Length: 13\r\nContent-Length: 13\r\n", 400, "may have one Content-Length",
    ),
    "chunked": (b"Transfer-Encoding: chunked\r\n", 411, "not chunked"),
    "chunked, with a length": (
        b"Content-Length: 13\r\nTransfer-Encoding: chunked\r\n", 400, "Content-Length",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("headers", "status", "reason"), BODIES.values(), ids=BODIES)
def test_a_body_of_another_length_is_refused(
    address: Address, headers: bytes, status: int, reason: str
) -> None:
    """With what is wrong."""
    found, body = raw(address, post(headers))
    assert found == status
    assert reason in error_of(status, body)


def test_who_asks_whether_to_go_on_is_told_so(address: Address) -> None:
    """As curl does for large bodies."""
    status, _ = raw(address, post(b"Expect: 100-continue\r\nContent-Length: 13\r\n"))
    assert status == 200


NO_REQUESTS = {
    "junk": (b"\x00\x01\r\n\r\n", 400),
    "no version": (b"GET /\r\n\r\n", 400),
    "a path in bytes": (get(b"/resource_providers/\xff"), 400),
    "a query in bytes": (get(b"/resource_providers?name=\xc3\xa9"), 400),
    "no path": (get(b""), 400),
    "a star": (get(b"*"), 400),
    "another server": (get(b"http://other.example.org/"), 400),
    "a fragment": (get(b"/resource_providers#x"), 400),
    "a very long path": (get(b"/" + b"a" * 70_000), 414),
    "a very long query": (get(b"/resource_providers?name=" + b"a" * 70_000), 414),
    "a header without a colon": (b"GET / HTTP/1.1\r\nBroken\r\n\r\n", 400),
    "endless headers": (b"GET / HTTP/1.1\r\nA: " + b"x" * 70_000 + b"\r\n\r\n", 413),
    "a method in lower case": (b"get / HTTP/1.1\r\n" + END, 400),
    "an unknown method": (b"BREW / HTTP/1.1\r\n" + END, 400),
    "a method that is not here": (b"PATCH /traits HTTP/1.1\r\n" + HEADERS + END, 405),
}


@pytest.mark.parametrize(("sent", "status"), NO_REQUESTS.values(), ids=NO_REQUESTS)
def test_what_is_not_a_request_is_told_so(address: Address, sent: bytes, status: int) -> None:
    """The next one is served."""
    found, body = raw(address, sent)
    assert found == status
    assert error_of(status, body)
    assert raw(address, get(b"/resource_providers"))[0] == 200


ODD_HEADERS = [
    b"X-Auth-Token: \xff", b"OpenStack-API-Version: placement \xff", b"Accept: \xff",
    b"X-Roles: \xff,\xfe", b"X-OpenStack-Request-Id: \xff\x01", b"X-Project-Id: \xff",
    b"Content-Encoding: gzip", b"Content-Type: \xff",
]  # fmt: skip


@pytest.mark.parametrize(
    "header", ODD_HEADERS, ids=lambda header: header.partition(b":")[0].decode()
)
def test_odd_headers_break_nothing(address: Address, header: bytes) -> None:
    """Neither the request nor the log."""
    own = b"" if b"Token" in header else b"X-Auth-Token: admin\r\n"
    sent = b"GET /resource_providers HTTP/1.1\r\nHost: localhost\r\n" + own + header + b"\r\n" + END
    status, body = raw(address, sent)
    assert status in (200, 400, 401, 403, 406)
    assert status == 200 or error_of(status, body)
