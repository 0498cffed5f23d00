"""A user's WebSocket, the proxy, and the agent's port, with TLS between the two."""

import contextlib
import datetime
import ipaddress
import logging
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from api.formats.serial_consoles import SerialConsoleLinks
from armillary import exception
from armillary.consoles import console_links, handshake
from armillary.consoles.console_links import ConsoleKeys
from compute_agent.consoles.console_port import REFUSED, UNAVAILABLE, ConsolePort
from objects.instances.serial_console import SerialConsole
from tests.fixtures.agent.serial_consoles import (
    Terminal,
    port_conf,
    running_port,
    running_proxy,
    url_of,
)
from tests.fixtures.asking import wait_for
from tests.fixtures.http_api.slow_clients import leave_immediately
from tests.fixtures.services.ports import free_port
from tests.fixtures.waiting import seconds

UUID = "c0ffee00-0000-4000-8000-000000000001"
SECONDS_MAX = 60


def open_terminal(host: str, instance_uuid: str) -> Terminal:
    if instance_uuid != UUID:
        raise exception.OperationFailed(
            operation="Serial console", instance_uuid=instance_uuid, host=host, reason="it is off"
        )
    return Terminal()


def write_certificate(directory: Path) -> Path:
    """Write a certificate of 127.0.0.1 with its key, which is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "agent")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = directory / "agent.pem"
    path.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return path


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return write_certificate(tmp_path)


@pytest.fixture
def port(certificate: Path) -> Iterator[ConsolePort]:
    with running_port(open_terminal, cert_file=str(certificate)) as running:
        yield running


@pytest.fixture
def links(certificate: Path) -> Iterator[SerialConsoleLinks]:
    """Run a proxy that trusts the agent's certificate, and make links to it."""
    with running_proxy(ssl.create_default_context(cafile=str(certificate))) as running:
        yield running


def refusal_of(url: str) -> str:
    """Return why a console is closed as soon as it is open."""
    with connect(url) as user, pytest.raises(ConnectionClosed) as closed:
        user.recv(SECONDS_MAX)
    assert closed.value.rcvd is not None
    return closed.value.rcvd.reason


def test_a_user_talks_to_a_guest_once(port: ConsolePort, links: SerialConsoleLinks) -> None:
    """The second time the token is void."""
    url = url_of(links, UUID, port.grant("host", UUID))
    with connect(url, subprotocols=[Subprotocol("binary")]) as user:
        user.send("root\r")
        assert user.recv(SECONDS_MAX) == b"ROOT\r"
        user.send(b"\x03")
        assert user.recv(SECONDS_MAX) == b"\x03"
    assert "was used before" in refusal_of(url)


def test_a_link_that_the_api_did_not_make_is_refused(
    port: ConsolePort, links: SerialConsoleLinks, tmp_path: Path
) -> None:
    """Before there is a WebSocket, and no agent is asked."""
    console_links.make_key(tmp_path / "other")
    forged = SerialConsoleLinks(
        url_of(links, UUID, port.grant("host", UUID)).partition("?")[0],
        ConsoleKeys(tmp_path / "other"),
    )
    with pytest.raises(InvalidStatus) as refused:
        connect(url_of(forged, UUID, port.grant("host", UUID)))
    assert refused.value.response.status_code == 403


def test_why_a_guest_has_no_console_is_for_operators(
    port: ConsolePort, links: SerialConsoleLinks, caplog: pytest.LogCaptureFixture
) -> None:
    """Users are not told which host it is on, or what a driver says about its files."""
    other = "c0ffee00-0000-4000-8000-000000000002"
    with caplog.at_level(logging.INFO):
        refusal = refusal_of(url_of(links, other, port.grant("host-7", other)))
    assert refusal == UNAVAILABLE.decode().strip()
    assert "failed on host host-7: it is off" in caplog.text


def test_a_host_that_is_away_is_told(links: SerialConsoleLinks) -> None:
    gone = SerialConsole("127.0.0.1", free_port(), "token", 60)
    assert refusal_of(url_of(links, UUID, gone)) == "the console's host cannot be reached"


@pytest.mark.parametrize(
    "line",
    [b"GET / HTTP/1.1\r\n", b"\n", b"x" * 300, handshake.GREETING + b"0" * 64 + b"\n"],
    ids=["HTTP", "empty", "endless", "unknown"],
)
def test_without_a_token_the_agent_ends_a_connection(line: bytes) -> None:
    with running_port(open_terminal) as port:
        number = port.grant("host", UUID).port
        with socket.create_connection(("127.0.0.1", number), SECONDS_MAX) as caller:
            caller.sendall(line)
            assert handshake.read_line(caller) in (REFUSED, b"")


class Clock:
    """Advances by three seconds with each reading."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        self._now += 3.0
        return self._now


def test_a_line_has_to_be_complete_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often a byte of it comes: it would keep a place of the port for most of an hour."""
    monkeypatch.setattr(handshake, "time", Clock())
    near, far = socket.socketpair()
    with near, far:
        far.sendall(b"x" * (handshake.LINE_BYTES_MAX - 1))
        with pytest.raises(TimeoutError):
            handshake.receive_token(near)


@pytest.mark.parametrize(
    ("path", "hosts", "status"),
    [
        ("//[", ["console"], 400),
        ("//[?token=x", ["console"], 400),
        ("http://evil.example/?token=x", ["console"], 400),
        ("/?token=x", [], 400),
        ("/?token=x", ["console", "evil.example"], 400),
        ("/?token=x", ["user@console"], 400),
        ("/?token=%ff&token", ["console"], 403),
        ("/?" + "&" * 1000, ["console"], 403),
    ],
)
def test_an_odd_address_of_a_console_is_refused(
    path: str, hosts: list[str], status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """And nothing of it is in the log."""
    with running_proxy() as links:
        url = url_of(links, UUID, SerialConsole("127.0.0.1", free_port(), "token", 60))
        address = ("127.0.0.1", int(url.split(":")[2].split("/")[0]))
        with socket.create_connection(address, SECONDS_MAX) as caller:
            head = [f"GET {path} HTTP/1.1", *(f"Host: {host}" for host in hosts), "", ""]
            caller.sendall("\r\n".join(head).encode())
            assert caller.recv(12, socket.MSG_WAITALL) == f"HTTP/1.1 {status}".encode()
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


def test_clients_that_leave_immediately_or_say_nothing_end_no_proxy(
    port: ConsolePort, certificate: Path
) -> None:
    """Nor do more of them than there may be consoles: then a user still gets in."""
    trusted = ssl.create_default_context(cafile=str(certificate))
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(certificate)
    with running_proxy(trusted, own) as links, contextlib.ExitStack() as silent:
        url = url_of(links, UUID, port.grant("host", UUID))
        address = ("127.0.0.1", int(url.split(":")[2].split("/")[0]))
        for _ in range(5):
            leave_immediately(address)
        for _ in range(3):
            silent.enter_context(socket.create_connection(address, SECONDS_MAX))

        def connected() -> ClientConnection | None:
            try:  # those that left immediately may still have their places
                return connect(url, ssl=trusted, open_timeout=seconds(SECONDS_MAX))
            except (OSError, EOFError, InvalidMessage):
                return None

        with wait_for(connected, "a user gets in") as user:
            user.send("root\r")
            assert user.recv(SECONDS_MAX) == b"ROOT\r"


def test_a_proxy_that_has_refused_connections_stops() -> None:
    """Those beyond the places that it has are closed immediately, and not waited for."""
    with running_proxy() as links, contextlib.ExitStack() as silent:
        url = url_of(links, UUID, SerialConsole("127.0.0.1", free_port(), "token", 60))
        address = ("127.0.0.1", int(url.split(":")[2].split("/")[0]))
        callers = [
            silent.enter_context(socket.create_connection(address, SECONDS_MAX)) for _ in range(6)
        ]
        assert callers[-1].recv(1) == b""
        silent.close()


def test_an_address_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = ConsolePort(port_conf(bind_port=taken.getsockname()[1]), open_terminal)
        with pytest.raises(exception.ConfigurationError, match=r"cannot listen on 127\.0\.0\.1"):
            port.start()


class OtherService:
    """Another service of the machine, such as a database, that notes what it is sent."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.heard = b""
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            connection, _ = self._listener.accept()
            with connection:
                self.heard = connection.recv(1024) or b"(a connection)"

    def close(self) -> bytes:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(seconds(SECONDS_MAX))
        return self.heard


@pytest.mark.parametrize(
    ("token", "networks", "heard"),
    [
        ("x\r\nFLUSHALL\r\n", [], b"(a connection)"),
        ("c0ffee", ["192.0.2.0/24"], b""),
        ("c0ffee", ["192.0.2.0/24", "127.0.0.0/8"], b"armillary-console/1 c0ffee\n"),
    ],
    ids=["odd-token", "foreign-address", "agents-address"],
)
def test_an_agent_makes_the_proxy_say_nothing_to_another_service(
    token: str, networks: list[str], heard: bytes
) -> None:
    """By the address and the token that it names."""
    service = OtherService()
    known = [ipaddress.ip_network(each) for each in networks]
    with running_proxy(agent_networks=known) as links:
        url = url_of(links, UUID, SerialConsole("127.0.0.1", service.port, token, 60))
        with (
            connect(url, subprotocols=[Subprotocol("binary")]) as user,
            contextlib.suppress(ConnectionClosed),
        ):
            user.recv(timeout=seconds(SECONDS_MAX))
    assert service.close() == heard
